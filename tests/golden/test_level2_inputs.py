"""The inputs of level 2, made here from what vectors/README.md says, are those of the families."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from helpers import VECTORS

from mxref.golden.level2 import families

TEXT = (VECTORS / "README.md").read_text("utf-8")
Case = list[int]


def numbers(bits: int) -> Iterator[Case]:
    yield from ([number] for number in range(1 << bits))


def under_scales(codes: int) -> Iterator[Case]:
    every = [*range(codes)]
    every += [codes - 1] * (-codes % 32)
    for scale in range(256):
        for start in range(0, len(every), 32):
            yield [scale, *every[start : start + 32]]


def four_digits() -> Iterator[Case]:
    yield from ([int(digit, 16) for digit in f"{number:04x}"] for number in range(1 << 16))


def two_of_four() -> Iterator[Case]:
    for first, second in ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)):
        for a, b in itertools.product(range(64), range(64)):
            codes = [0x15, 0x2A, 0x15, 0x2A]
            codes[first], codes[second] = a, b
            yield codes


def in_cases(first: Case, values: Case) -> Iterator[Case]:
    """1,024 values a case, the last one filled up with the last value."""
    for start in range(0, len(values), 1024):
        some = values[start : start + 1024]
        yield [*first, *some, *[values[-1]] * (1024 - len(some))]


def midpoint(n: int, scale: int) -> int:
    exact = float(np.uint32(scale).view(np.float32))
    return int(np.float32((n + 0.5) * exact).view(np.uint32))


def read_back(low: int, high: int) -> Iterator[Case]:
    codes = [*range(low, high + 1)]
    yield from ([low, high, 0x3C54FDF4, zero, *codes] for zero in codes)


def read_back_16() -> Iterator[Case]:
    low, high = -32768, 32767
    for scale, zero in ((0x38000100, 0), (0x3C54FDF4, 0), (0x3C54FDF4, -7)):
        yield from in_cases([low, high, scale, zero], [*range(low, high + 1)])


def midpoints(low: int, high: int) -> Iterator[Case]:
    for z in range(low, high + 1):
        for scale in (0x3F800000, 0x3C54FDF4):
            values = [midpoint(n, scale) for n in range(low - z - 1, high - z + 1)]
            yield [low, high, scale, z, *values]


def midpoints_16() -> Iterator[Case]:
    for scale in (0x38000100, 0x3C54FDF4):
        points = [midpoint(n, scale) for n in range(-32769, 32768)]
        near = [point + more for point in points for more in (-1, 0, 1)]
        yield from in_cases([-32768, 32767, scale, 0], near)


def rescaled() -> Iterator[Case]:
    codes = [*range(-128, 128)]
    yield from ([zero, 3, 1, 0x55555555, 32, *codes] for zero in codes)


def rescaled_16() -> Iterator[Case]:
    for m, s in ((0x55555555, 32), (0x6D3A06D4, 39)):
        yield from in_cases([0, -5, 1, m, s], [*range(-32768, 32768)])


#: Beginnings of names, and the inputs.
MADE: dict[str, Callable[[], Iterator[Case]]] = {
    "encode.": lambda: numbers(16),
    "encode_scale.": lambda: numbers(16),
    "shared_scale.": lambda: numbers(15),
    "decode.e2m1": lambda: numbers(4),
    "decode.e3m2": lambda: numbers(6),
    "decode.e2m3": lambda: numbers(6),
    "decode": lambda: numbers(8),
    "dequantize.mxfp4": lambda: under_scales(16),
    "dequantize.mxfp6": lambda: under_scales(64),
    "dequantize.": lambda: under_scales(256),
    "pack.e2m1": four_digits,
    "pack.": two_of_four,
    "dequantize_affine.int8": lambda: read_back(-128, 127),
    "dequantize_affine.uint8": lambda: read_back(0, 255),
    "dequantize_affine.int16": read_back_16,
    "quantize_affine.int8": lambda: midpoints(-128, 127),
    "quantize_affine.uint8": lambda: midpoints(0, 255),
    "quantize_affine.int16": midpoints_16,
    "rescale.int8": rescaled,
    "rescale.int16": rescaled_16,
}
#: One family for each set of inputs, by its operation, format and float type.
FAMILIES = {one.name.rpartition(f".{one.policy}")[0]: one for one in families()}


def test_every_family_but_blocks_of_quantize_is_described() -> None:
    left = [name for name in FAMILIES if not name.startswith(tuple(MADE))]
    assert all(name.startswith("quantize.") for name in left)
    named = [one for one in families() if one.op == "quantize"]
    assert f"leaves these {len(named)} families out" in " ".join(TEXT.split())


@pytest.mark.parametrize("beginning", MADE)
def test_the_inputs_are_those_that_the_page_says(beginning: str) -> None:
    made = np.array([*MADE[beginning]()], np.int64) & 0xFFFFFFFF
    others = tuple(one for one in MADE if one != beginning and one.startswith(beginning))
    names = [one for one in FAMILIES if one.startswith(beginning)]
    names = [one for one in names if not (others and one.startswith(others))]
    assert names
    for name in names[:3]:
        assert np.array_equal(np.concatenate([*FAMILIES[name].chunks()]), made), name
