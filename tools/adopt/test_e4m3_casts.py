"""Tests of ml_dtypes' casts to and from float8_e4m3fn. To copy into a repository.

Archive: mxref-vectors-VERSION-mxfp8_e4m3.zip, unpacked; the variable MXREF_VECTORS has its folder.
Answers are compared with what the profile `ml_dtypes` promises: `ocp`, but where
plain/profiles/ml_dtypes has another answer.
"""

import os
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

PLAIN = Path(os.environ.get("MXREF_VECTORS", "mxref-vectors")) / "plain"
E4M3 = ml_dtypes.float8_e4m3fn
TYPES: dict[str, tuple[Any, Any]] = {
    "f16": (np.uint16, np.float16),
    "bf16": (np.uint16, ml_dtypes.bfloat16),
    "f32": (np.uint32, np.float32),
    "f64": (np.uint64, np.float64),
}


def cases(name: str, profile: str = "ml_dtypes") -> tuple[NDArray[Any], NDArray[Any]]:
    """The input and the expected word of each case of a file."""
    words = [line.split() for line in (PLAIN / f"{name}.txt").read_text().splitlines()]
    inputs, want = ([int(row[at], 16) for row in words] for at in (0, 1))
    own = PLAIN / "profiles" / profile / f"{name}.txt"
    for line in own.read_text().splitlines() if own.exists() else ():
        number, word = line.split()
        want[int(number) - 1] = int(word, 16)
    return np.array(inputs, np.uint64), np.array(want, np.uint64)


@pytest.mark.parametrize("source", TYPES)
def test_encode(source: str) -> None:
    """Casts to E4M3; every NaN is right where a NaN is expected."""
    words, numbers = TYPES[source]
    inputs, want = cases(f"encode/e4m3.{source}")
    with np.errstate(all="ignore"):
        got = inputs.astype(words).view(numbers).astype(E4M3).view(np.uint8)
    right = (got == want) | ((got & 0x7F == 0x7F) & (want & 0x7F == 0x7F))
    assert [f"{word:x}" for word in inputs[~right].tolist()] == []


def test_decode() -> None:
    """Every code to float32."""
    codes, want = cases("decode/e4m3.f32")
    got = codes.astype(np.uint8).view(E4M3).astype(np.float32)
    right = (got.view(np.uint32) == want) | (np.isnan(got) & (want & 0x7FFFFFFF > 0x7F800000))
    assert [f"{code:02x}" for code in codes[~right].tolist()] == []
