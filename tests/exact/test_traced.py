"""The steps of two-level scaling: each is done again by NumPy, and they end in the same codes."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from mxref.exact.formulas import ARITHMETICS
from mxref.exact.small_float_scale import quantize_scaled
from mxref.exact.traced import Step, steps_of_block

#: The first elements of a block of 4, in float32, with its tail of zeros.
BLOCKS = {
    "numbers": [0.3, 1.0, 6.0, -2.0],
    "signs": [-0.0, 7.5, -0.0, -7.5],
    "small": [1e-30, -3e-30, 0.0, 2e-30],
    "subnormal": [1e-40, -3e-40, 0.0, 2e-39],
    "large": [3e38, -1e38, 1.0, 0.0],
    "zeros": [0.0, -0.0, 0.0, 0.0],
    "infinity": [1.0, np.inf, -2.0, 0.0],
    "nan": [1.0, np.nan, -2.0, 0.0],
}
TYPES: dict[str, Any] = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32}
CONSTANTS = {"M": 6.0, "C": 448.0}


def steps(block: str, source: str, arithmetic: str, tensor: bool) -> tuple[list[Step], Any]:
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.float32(BLOCKS[block]).astype(TYPES[source])
    words = [*values.view(f"u{values.itemsize}").tolist(), 0, 0]
    names = ("e2m1", "ue4m3", arithmetic)
    made = steps_of_block(words, 4, source, *names, tensor=tensor)
    return made, (values, quantize_scaled([words], source, *names, "dynamic" if tensor else None))


@pytest.mark.parametrize("tensor", [False, True])
@pytest.mark.parametrize("source", TYPES)
@pytest.mark.parametrize("arithmetic", ARITHMETICS)
@pytest.mark.parametrize("block", BLOCKS)
def test_the_steps_end_in_the_codes_of_the_block(
    block: str, arithmetic: str, source: str, tensor: bool
) -> None:
    made, (_, (scale, ((code, codes),))) = steps(block, source, arithmetic, tensor)
    assert [one.bits for one in made if one.name == "T"] == ([scale] if tensor else [])
    assert code in [one.bits for one in made if one.kind == "ue4m3"]
    elements = [one.bits for one in made if one.kind == "e2m1"]
    assert codes[:4] in [elements[i : i + 4] for i in range(0, len(elements), 4)]


@pytest.mark.parametrize("tensor", [False, True])
@pytest.mark.parametrize("source", TYPES)
@pytest.mark.parametrize("arithmetic", [name for name in ARITHMETICS if name != "exact"])
@pytest.mark.parametrize("block", BLOCKS)
def test_every_step_is_what_numpy_computes(
    block: str, arithmetic: str, source: str, tensor: bool
) -> None:
    """Its text, read as arithmetic on the results of earlier steps, gives its bits."""
    made, (values, _) = steps(block, source, arithmetic, tensor)
    wide = values if source in ARITHMETICS[arithmetic].source_types else values.astype(np.float32)
    counts = np.abs(wide.astype(np.float64))
    if not ARITHMETICS[arithmetic].nan_counts:
        counts = counts[~np.isnan(counts)]
    known: dict[str, Any] = {name: np.float32(number) for name, number in CONSTANTS.items()}
    known |= {f"x{i}": number for i, number in enumerate(wide)}
    known |= dict.fromkeys("Aa", wide.dtype.type(counts.max()))
    checked = 0
    for one in made:
        if one.kind not in TYPES:
            if one.name:  # a scale: its number
                known[one.name] = of_ue4m3(one.bits)
            continue
        dtype = np.dtype(TYPES[one.kind])
        got = np.array([one.bits], f"u{dtype.itemsize}").view(dtype)[0]
        if one.text:
            want = computed(one.text, known, dtype)
            assert want.view(f"u{dtype.itemsize}") == one.bits or (want != want and got != got), one
            checked += 1
        known[one.name] = got
    assert checked >= 3


def computed(text: str, known: dict[str, Any], dtype: Any) -> Any:
    """A step's text, whose operations are one or have constants alone on one side."""
    if match := re.fullmatch(r"(\w+), at (most|least) (\w+)", text):
        name, end, word = match.groups()
        bits = np.array([int(word, 16)] if len(word) > 2 else [0], f"u{dtype.itemsize}")
        limit = known[word] if word in known else bits.view(dtype)[0]
        number = known[name]
        less = abs(number) > limit if end == "most" else abs(number) < limit
        return np.copysign(dtype.type(limit), number).astype(dtype) if less else number
    if re.fullmatch(r"max \|x \* T\| / M", text):
        found = [known[name] for name in sorted(known) if in_y(known, name)]
        magnitudes = np.abs(np.float32(found))
        return np.float32(np.nanmax(magnitudes, initial=0)) / np.float32(6)
    # Products and quotients of numbers of one type are exact enough in float64 for one rounding.
    numbers = {name: np.float64(number) for name, number in known.items()}
    with np.errstate(all="ignore"):
        return np.array(eval(text, {}, numbers)).astype(dtype)[()]


def in_y(known: dict[str, Any], name: str) -> bool:
    """Whether a step is one of the elements times the tensor scale, which are r2 to r5."""
    return name in ("r2", "r3", "r4", "r5") and name in known


def of_ue4m3(code: int) -> np.float32:
    return np.float32(np.array([code], np.uint8).view(ml_dtypes.float8_e4m3fn)[0])
