"""Mutants of `encode` that are right inside blocks, in kinds, each with its reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from mxref.bits.floats import BF16, F16, FloatLayout
from mxref.formats.catalog import BLOCK_FORMATS, E2M1, ELEMENT_FORMATS
from mxref.mutants.lifted_mutants import LIFTED
from mxref.mutants.mutant import named

__all__ = ["KINDS", "ClaimKind"]


@dataclass(frozen=True, slots=True)
class ClaimKind:
    """Lifted mutants that are right for the same reason.

    Args:
        mutants: the ids of the mutants of `encode`.
        places: the letters of the places, as in `mxref.mutants.lifted_mutants`.
        proof: the reason, in a sentence.
        elements: the element formats where they are right; all of the mutant's if empty.
        floats: the float types where they are right; all of the mutant's if empty.
        check: a function that verifies the proof.
    """

    mutants: str
    places: str
    proof: str
    elements: tuple[str, ...] = ()
    floats: tuple[str, ...] = ()
    check: Callable[[], bool] | None = None

    @property
    def ids(self) -> Iterator[str]:
        """The ids of the lifted mutants."""
        lifted = {mutant.id for mutant in named(LIFTED)}
        for id in self.mutants.split():
            yield from (id + letter for letter in self.places if id + letter in lifted)

    @property
    def formats(self) -> tuple[str, ...]:
        """The block formats of the elements."""
        return tuple(n for n, fmt in BLOCK_FORMATS.items() if fmt.element.name in self.elements)


def _smallest_half() -> float:
    return min(2.0 ** (fmt.emin - fmt.mantissa_bits - 1) for fmt in ELEMENT_FORMATS.values())


def _subnormal_quotients_vanish() -> bool:
    """Numbers below 2**-126 are below half the smallest number of every format."""
    return _smallest_half() > 2.0**-126


def _float16_has_short_significands() -> bool:
    """The lowest 13 bits of a float32 that holds a float16 are zeros."""
    every = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float32)
    return not (every.view(np.uint32) & 0x1FFF).any()


def _largest_shift_of_float16(element: str) -> int:
    """Bits cut off a float32 quotient of 2**-24 beside a float16 of the largest binade, 2**15."""
    fmt = ELEMENT_FORMATS[element]
    exponent = -24 - (15 - fmt.emax) - 23
    return fmt.emin - fmt.mantissa_bits - exponent


def _e5m2_shifts_float16_by_31() -> bool:
    return _largest_shift_of_float16("e5m2") == 31


def _all_shift_float16_below_64() -> bool:
    return max(map(_largest_shift_of_float16, ELEMENT_FORMATS)) < 64


def _float16_quotients_fit() -> bool:
    """Quotients below 2**-14 vanish but in E5M2, under scales of at most 1."""
    others = [fmt for fmt in ELEMENT_FORMATS.values() if fmt.emax < 15]
    halves = [2.0 ** (fmt.emin - fmt.mantissa_bits - 1) for fmt in others]
    return len(others) == len(ELEMENT_FORMATS) - 1 and min(halves) >= 2.0**-14


def _over_a_scale_is_far_from_the_middle(layout: FloatLayout) -> bool:
    """Every quotient by 4 bits is a number or midpoint of E2M1, or away of it by a last bit."""
    one = 1 << layout.mantissa_bits
    x = np.arange(one, 2 * one)[:, np.newaxis, np.newaxis]
    scale = np.arange(8, 16)[:, np.newaxis]
    point = np.arange(1, 1 << E2M1.mantissa_bits + 2, 2) * scale
    # In the binade of x, as an integer.
    point = point << layout.mantissa_bits - np.floor(np.log2(point)).astype(int)
    away = np.abs(x - point)[..., np.newaxis] / point[..., np.newaxis]
    return bool(((away == 0) | (away > 2.0 ** -(layout.mantissa_bits + 1))).all())


def _bfloat16_over_a_scale_is_far_from_the_middle() -> bool:
    return _over_a_scale_is_far_from_the_middle(BF16)


def _float16_over_a_scale_is_far_from_the_middle() -> bool:
    return _over_a_scale_is_far_from_the_middle(F16)


def _quotients_of_float16_are_not_tiny() -> bool:
    """A float32 of 2**-24 over the largest scale of a block, of 65504 / 6, has an exponent."""
    smallest = 2.0**-24 / (65504 / 6 * (1 + 2.0**-3))
    exponent = int(np.frexp(smallest)[1]) - 24
    return E2M1.emin - E2M1.mantissa_bits - exponent < 64


KINDS: tuple[ClaimKind, ...] = (
    ClaimKind(
        "B5b B6b B13a B13b B13c B13d B14 B15 B16",
        "qtnv",
        "A block with an infinity or a NaN has a NaN scale, under which no element counts.",
    ),
    ClaimKind(
        "B10b",
        "qtnv",
        "What is beyond the largest number rounds to it or past it, which saturates to it.",
    ),
    ClaimKind(
        "B1c",
        "qtnv",
        "A quotient that is subnormal in the float type is below half the smallest number of every "
        "format, and the zero keeps its sign.",
        check=_subnormal_quotients_vanish,
    ),
    ClaimKind(
        "A13",
        "qt",
        "A quotient of bfloat16 of at least 2**-17 is exact in float16, a smaller one is below "
        "half the smallest number of every format, and both overflows saturate.",
        floats=("bf16",),
    ),
    ClaimKind(
        "A13",
        "q",
        "A quotient of float16 is exact in float16 if it is at least 2**-14; a smaller one is "
        "below half the smallest number of every format but E5M2, and a multiple of 2**-24 there, "
        "since its scale is at most 1.",
        floats=("f16",),
        check=_float16_quotients_fit,
    ),
    ClaimKind(
        "A9 A9b A10b A10c",
        "q",
        "A float16 leaves the lowest 13 bits of a float32 zero, and where the guard bit is one at "
        "most 24 are cut off.",
        floats=("f16",),
        check=_float16_has_short_significands,
    ),
    ClaimKind(
        "A17a",
        "q",
        "At most 31 bits of the quotient of a float16 are cut off.",
        elements=("e5m2",),
        floats=("f16",),
        check=_e5m2_shifts_float16_by_31,
    ),
    ClaimKind(
        "A17b A17d",
        "q",
        "Fewer than 64 bits of the quotient of a float16 are cut off.",
        floats=("f16",),
        check=_all_shift_float16_below_64,
    ),
    ClaimKind(
        "A9 A9b A10b A10c A11 A13",
        "n",
        "A bfloat16 over a scale of four bits is a number or midpoint of E2M1, or more than 2**-8 "
        "of it away: the upper bits show it.",
        floats=("bf16",),
        check=_bfloat16_over_a_scale_is_far_from_the_middle,
    ),
    ClaimKind(
        "A9 A9b A10b A10c A13",
        "n",
        "A float16 over a scale of four bits is a number or midpoint of E2M1, or more than 2**-11 "
        "of it away: the upper bits show it.",
        floats=("f16",),
        check=_float16_over_a_scale_is_far_from_the_middle,
    ),
    ClaimKind(
        "A10c",
        "v",
        "A quotient of a 16-bit float has at most 11 significant bits, or lower bits without end: "
        "bit 5 of 24 is not the last one.",
        floats=("bf16", "f16"),
    ),
    ClaimKind(
        "A17b A17d",
        "nv",
        "Fewer than 64 bits of the quotient of a float16 are cut off.",
        floats=("f16",),
        check=_quotients_of_float16_are_not_tiny,
    ),
    ClaimKind(
        "A9b",
        "nv",
        "Quotients by scales are made with 49 bits, the last of which stands for all that follow: "
        "the lowest bit of a float64 is always zero.",
        floats=("f64",),
    ),
)
