"""Equivalent mutants: formats and float types in which a wrong algorithm is right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mxref.formats.catalog import ELEMENT_FORMATS
from mxref.mutants.lifted_equivalents import KINDS
from mxref.mutants.mutant import blocks_of
from mxref.numbers.element import decode
from mxref.numbers.scale import encode_scale, shared_scale

__all__ = ["EQUIVALENT", "Equivalent", "equivalent"]


@dataclass(frozen=True, slots=True)
class Equivalent:
    """A mutant that gives every right answer in some formats and from some float types.

    Args:
        id: the mutant's id.
        formats: the formats where it is right; all of the mutant's if empty.
        floats: the float types where it is right; all of the mutant's if empty.
        proof: the reason, in a sentence.
        check: a function that verifies the proof.
    """

    id: str
    formats: tuple[str, ...] = ()
    floats: tuple[str, ...] = ()
    proof: str = ""
    check: Callable[[], bool] | None = None


_FP = ("e5m2", "e4m3", "e3m2", "e2m3", "e2m1")
_FP_BLOCKS = blocks_of(_FP)
_ALL = (*_FP, "int8")
_SINGLE = ("f32", "bf16")
_SHORT = ("f32", "bf16", "f16")
_BITS = [(name, fmt.bits) for name, fmt in ELEMENT_FORMATS.items()]


def _largest_scale_below_fe() -> bool:
    """The largest float32 does not reach scale FE in a format with emax > 0; FLOOR is monotone."""
    largest = np.array([0x7F7FFFFF], np.uint32).view(np.float32)
    return all(int(shared_scale(largest, name)[0]) < 0xFE for name in _FP)


def _largest_scale_is_fe() -> bool:
    """The largest float32 has exponent 127, which is scale FE where emax is 0."""
    largest = np.array([0x7F7FFFFF], np.uint32).view(np.float32)
    return all(int(shared_scale(largest, name, scale_overflow="nan")[0]) < 0xFF for name in _ALL)


def _subnormals_have_scale_00() -> bool:
    """Every subnormal float32 has scale 00; a larger emax makes the exponent smaller still."""
    values = np.arange(1, 1 << 23, dtype=np.uint32).view(np.float32)
    return not shared_scale(values, "int8").any()


def _log2_is_far_from_the_power() -> bool:
    """log2 of the float below 2**k is more than half an ulp below k, since -log2(1 - x) > x."""
    steps = {"float64 log2 of float32": (24, 53), "float32 log2 of float16": (11, 24)}
    return all(bits < precision - 8 + 1 for bits, precision in steps.values())


def _float16_is_normal_in_float32() -> bool:
    """Every float16 but zero is a normal float32, and float16 itself holds it."""
    every = np.arange(1, 0x7C00, dtype=np.uint16).view(np.float16).astype(np.float32)
    return bool((every >= 2.0**-126).all())


def _float16_products_at_the_ends() -> bool:
    """Element numbers times 2**127 are beyond float16; times 2**-126 they vanish."""
    values = np.concatenate([decode(np.arange(1 << n), name, np.float64) for name, n in _BITS])
    values = np.abs(values[np.isfinite(values) & (values != 0)])
    return bool((values * 2.0**127 >= 65520).all() and (values * 2.0**-126 < 2.0**-25).all())


def _exact_in_bfloat16() -> bool:
    """Products of these formats are multiples of 2**-133 with 8 bits at most."""
    formats = [ELEMENT_FORMATS[name] for name in (*_FP[2:], "int8")]
    steps = [-127 + fmt.emin - fmt.mantissa_bits for fmt in formats]
    return min(steps) >= -133 and max(fmt.mantissa_bits for fmt in formats) < 8


def _scale_range_of_float16() -> bool:
    """No finite float16 other than zero has scale code 00 or FE."""
    codes = encode_scale(np.arange(1, 0x7C00, dtype=np.uint16).view(np.float16))
    return int(codes.min()) > 0 and int(codes.max()) < 0xFE


def _float16_vanishes_under_fe() -> bool:
    """Float16 ends below 2**16, half the smallest number of every format times 2**127 is above."""
    return min(fmt.emin - fmt.mantissa_bits for fmt in ELEMENT_FORMATS.values()) - 1 + 127 > 16


_LOG2 = "The {0} below 2**k has a logarithm that is more than half a unit of {1} below k."

EQUIVALENT: tuple[Equivalent, ...] = (
    Equivalent(
        "A13",
        floats=("bf16",),
        proof="A bfloat16 of at least 2**-17 is exact in float16, a smaller one is below half the "
        "smallest number of every format, and both overflows saturate.",
    ),
    Equivalent(
        "A17c",
        formats=("e5m2",),
        floats=("f16",),
        proof="From float16 to E5M2 at most 8 bits are cut off, fewer than the limit of 11.",
    ),
    Equivalent(
        "B10b",
        proof="What is beyond the largest number rounds to it or past it, which saturates to it.",
    ),
    Equivalent(
        "B1c",
        floats=("f32", "bf16", "f64"),
        proof="Subnormals of these types are below half the smallest number of every format, and "
        "the zero keeps their sign.",
    ),
    Equivalent(
        "B1c",
        formats=(*_FP[1:], "int8"),
        floats=("f16",),
        proof="A subnormal float16 is below 2**-14, and half the smallest number is at least "
        "2**-10.",
    ),
    Equivalent(
        "C22aq",
        floats=("f16",),
        proof="Under the scale 2**127 every finite float16 is below half the smallest number.",
        check=_float16_vanishes_under_fe,
    ),
    Equivalent(
        "C13",
        formats=_FP,
        floats=("f32",),
        proof="No finite float32 has a scale above 2**125.",
        check=_largest_scale_below_fe,
    ),
    Equivalent(
        "C13q",
        formats=_FP_BLOCKS,
        floats=_SINGLE,
        proof="No finite float32 or bfloat16 has a scale above 2**125.",
        check=_largest_scale_below_fe,
    ),
    Equivalent(
        "C13b",
        floats=("f32",),
        proof="No finite float32 has a scale above 2**127.",
        check=_largest_scale_is_fe,
    ),
    Equivalent(
        "C13bq",
        floats=_SINGLE,
        proof="No finite float32 or bfloat16 has a scale above 2**127.",
        check=_largest_scale_is_fe,
    ),
    Equivalent(
        "C13e", floats=("f16",), proof="Float16 ends at 2**15.", check=_scale_range_of_float16
    ),
    Equivalent(
        "C14e",
        floats=("f16",),
        proof="Float16 goes from 2**-24 to 2**15.",
        check=_scale_range_of_float16,
    ),
    Equivalent(
        "C16",
        floats=("f32", "f16", "bf16"),
        proof="Toward zero no finite number of these types goes beyond 2**127.",
    ),
    *(
        Equivalent(
            id,
            floats=("f16",),
            proof="Float16 goes from 2**-24 to 2**15, and its scales from 2**-39 to 2**15.",
            check=_scale_range_of_float16,
        )
        for id in ("C13q", "C13bq", "C13cq", "C14q", "D1")
    ),
    Equivalent("C18", formats=("e2m1",), proof="E2M1 has one fraction bit: it is the right one."),
    Equivalent("C19q", floats=("bf16",), proof="The largest of bfloat16 numbers is one."),
    Equivalent("C19bq", floats=("f16",), proof="The largest of float16 numbers is one."),
    Equivalent(
        "C1b",
        floats=("f32",),
        proof=_LOG2.format("float32", "float64"),
        check=_log2_is_far_from_the_power,
    ),
    Equivalent(
        "C1bq",
        floats=_SHORT,
        proof=_LOG2.format("float32", "float64"),
        check=_log2_is_far_from_the_power,
    ),
    Equivalent(
        "C1q",
        floats=("bf16", "f16"),
        proof=_LOG2.format("bfloat16 or float16", "float32"),
        check=_log2_is_far_from_the_power,
    ),
    Equivalent(
        "C7",
        floats=("f32",),
        proof="A subnormal amax has an exponent of -127 or less, and so has its field: scale 00.",
        check=_subnormals_have_scale_00,
    ),
    Equivalent(
        "C7q",
        floats=_SINGLE,
        proof="A subnormal amax has an exponent of -127 or less, and so has its field: scale 00.",
        check=_subnormals_have_scale_00,
    ),
    Equivalent(
        "C7q",
        floats=("f16",),
        proof="Every float16 but zero is a normal float32.",
        check=_float16_is_normal_in_float32,
    ),
    Equivalent(
        "C7e",
        floats=("f32", "bf16", "f64"),
        proof="A subnormal has an exponent of -127 or less, and so has its field: scale 00.",
        check=_subnormals_have_scale_00,
    ),
    Equivalent(
        "D1",
        formats=_FP_BLOCKS,
        floats=_SINGLE,
        proof="No finite float32 or bfloat16 has the scale 2**127.",
        check=_largest_scale_below_fe,
    ),
    Equivalent(
        "D4",
        floats=("f64",),
        proof="A subnormal float64 over 2**-127 is below half the smallest number of every format.",
    ),
    Equivalent(
        "D4b",
        proof="A quotient below 2**-126 is below half the smallest number of every format, and the "
        "zero keeps its sign.",
    ),
    Equivalent(
        "D8q",
        floats=("f16",),
        proof="A product with 2**127 is zero or beyond float16.",
        check=_float16_products_at_the_ends,
    ),
    Equivalent(
        "E1bq",
        floats=("f16",),
        proof="A product with 2**-126 vanishes in float16, as one with 2**-127 does.",
        check=_float16_products_at_the_ends,
    ),
    Equivalent(
        "E1q",
        formats=(*_FP_BLOCKS[1:], "mxint8"),
        floats=("f16",),
        proof="A product with 2**-127 vanishes in float16; only an infinity times zero is NaN.",
        check=_float16_products_at_the_ends,
    ),
    *(
        Equivalent(
            id,
            formats=(*_FP_BLOCKS[2:], "mxint8"),
            floats=("bf16",),
            proof="Products of these formats are multiples of 2**-133: exact in bfloat16.",
            check=_exact_in_bfloat16,
        )
        for id in ("E8b", "E8c")
    ),
    *(
        Equivalent(id, kind.formats, kind.floats, kind.proof, kind.check)
        for kind in KINDS
        for id in kind.ids
    ),
)


def equivalent(id: str, format: str, float: str) -> Equivalent | None:
    """The entry by which a mutant is right for a format and a float type; None if it is wrong."""
    for entry in EQUIVALENT:
        there = format in (entry.formats or (format,)) and float in (entry.floats or (float,))
        if entry.id == id and there:
            return entry
    return None
