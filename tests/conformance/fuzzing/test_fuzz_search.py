"""`fuzz` shrinks what the search of `verify` finds and hypothesis does not."""

from __future__ import annotations

from typing import Any

import numpy as np

import mxref
from mxref.cases.drawn import drawn
from mxref.conformance.fuzzing.fuzz import fuzz
from mxref.operations.registry import REGISTRY
from mxref.targets.target import target_of

#: The last of the drawn numbers that a rounding of float32 changes.
WORDS = drawn("encode", "e4m3", "f32", REGISTRY["encode"].questions)[:, 0]
ONE = int(WORDS[np.flatnonzero((WORDS & 0xFFF) > 0x7F0)[-1]])


class Kernel:
    """Wrong for one number of the search."""

    FORMATS = ("e4m3",)

    def encode(self, values: Any, format: str) -> Any:
        codes = mxref.encode(values, format)
        return codes ^ (values.view("u4") == ONE).astype("u1")


def test_fuzz_finds_what_the_search_finds() -> None:
    (row,) = fuzz(target_of(Kernel(), "kernel"), ops=["encode"], floats=["f32"], examples=1)
    assert row.found is not None
    assert row.found.inputs.tolist() == [[ONE]]
    assert f"in {ONE:08x} = " in row.found.text
