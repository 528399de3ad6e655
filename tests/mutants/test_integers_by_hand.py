"""Wrong answers of integer operations worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mxref.mutants import MUTANTS

BY_ID = {mutant.id: mutant for mutant in MUTANTS}


def run(id: str, *arguments: Any) -> Any:
    found = BY_ID[id].run
    assert found is not None
    return found(*arguments)


@pytest.mark.parametrize(
    ("id", "packed"),
    [
        ("I10", [0x69, 0x8B, 0xDC, 0x82]),
        ("I10b", [0x1E, 0x30, 0x45, 0xA0]),
        ("I10c", [0x96, 0xB0, 0xCD, 0x20]),
        ("I10d", [0x96, 0xBC, 0xD2, 0x88]),
    ],
)
def test_packed_nibbles(id: str, packed: list[int]) -> None:
    """Rows of three: 96 b8 and cd 28 are right, each code plus 8, and a last 8."""
    codes = np.array([[1, -2, 3], [4, 5, -6]], np.int8)
    assert run(id, codes).reshape(-1).tolist() == packed


@pytest.mark.parametrize(
    ("id", "codes"), [("I11", [-2, 1, 0]), ("I11b", [9, 6, 11]), ("I11c", [-7, 6, -5])]
)
def test_unpacked_nibbles(id: str, codes: list[int]) -> None:
    """1, -2 and 3 are right."""
    assert run(id, np.array([[0x96, 0xB8]], np.uint8), 3).tolist() == [codes]


#: Id, and what comes of numbers times 2**30 over 2**31 and over 2**32.
RESCALED = [
    ("I12", [1, -1], [1, 1, 0]),  # plus 2**30 at 2**32
    ("I12b", [1, 0], [0, 0, 0]),  # over 2**32 and 2**33
    ("I12e", [1, -1], [1, 1, -1]),  # plus 2**30 by the sign at 2**32
    ("I13", [1, -1], [0, 0, -1]),
    ("I13b", [1, -1], [0, 1, 0]),  # -1/2 is a tie
]


@pytest.mark.parametrize(("id", "by_31", "by_32"), RESCALED)
def test_rescaled(id: str, by_31: list[int], by_32: list[int]) -> None:
    """1, -1 and 0, 1, 0 are right: halves of 2 and -2; quarters of 1, 3 and -2, ties up."""
    q = np.array([[2, -2, 1, 3, -2]], np.int32)
    m, s = np.full(5, 1 << 30, np.int32), np.array([31, 31, 32, 32, 32], np.int8)
    assert run(id, q, m, s, 0, 0, np.int32, 32).tolist() == [[*by_31, *by_32]]


@pytest.mark.parametrize(
    ("id", "codes"),
    [
        ("I3", [1, 2, -1, 1, 3]),
        ("I3b", [1, 2, 0, 1, 3]),
        ("I3c", [0, 1, 0, 1, 2]),
        ("I3d", [0, 1, -1, 1, 2]),
        ("I3e", [1, 2, 0, 1, 3]),
        ("I3i", [1, 2, -1, 1, 3]),
    ],
)
def test_rounded_codes(id: str, codes: list[int]) -> None:
    """0, 2, 0, 1 and 3 are right."""
    x = np.float32([0.5, 1.5, -0.5, 1.25, 2.75])
    assert run(id, x, np.float32(1), np.int32(0), -128, 127, np.int8, None).tolist() == codes
