"""Adders of matrix units as points of one space, and the named ones: what MMA-Sim models.

Source: SPEC_NOTES N47; MMA-Sim, arXiv 2511.10909, release 2.1.1.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from mxref.policy.choices import Rounding
from mxref.support.integers import integer
from mxref.support.text import unknown_name

__all__ = ["ADDERS", "Adder", "Scaling", "adder_of"]

_FP8 = ("e5m2", "e4m3")
_F8F6F4 = (*_FP8, "e3m2", "e2m3", "e2m1")
_F16 = ("f16", "bf16")
_FNUZ = ("e5m2fnuz", "e4m3fnuz")
#: Elements that plain arrays hold; tf32 is float32 whose last 13 bits are not read.
_FORMATS = (*_F8F6F4, *_FNUZ, *_F16, "tf32", "f32")
#: Bits of a sum of terms that float64 still holds: terms of two bits more, 32 of them and the sum.
_MOST_BITS = 44
#: Of an adder: positive integers, but for the last one.
_INTEGERS = (
    "step", "group", "output_bits", "promotion", "fraction_bits", "later_bits", "zero_exponent",
)  # fmt: skip


class Scaling(enum.Enum):
    """How a sum that is promoted gets the scales of its blocks, sa and sb; `total` is float32.

    Source: SPEC_NOTES N47.
    """

    #: fma(sa · sb rounded, sum, total).
    PRODUCT_FMA = "product_fma"
    #: fma(sum · sa rounded, sb, total).
    IN_TURN_FMA = "in_turn_fma"
    #: total + (sum · sa rounded · sb rounded).
    IN_TURN = "in_turn"


@dataclass(frozen=True, slots=True)
class Adder:
    """How a matrix unit adds products to a sum: some at a time, with so many bits.

    Each step adds `step` products and the sum so far; a last step is filled up with zeros. The
    terms are cut toward zero to multiples of 2**(e - fraction_bits), e being the largest of their
    exponents, and added exactly; the sum is rounded to the output. The exponent of a product is the
    sum of both exponent fields, that of a subnormal being the least one.

    Args:
        step: products that are added at once.
        fraction_bits: what terms keep below the largest exponent; None: terms are added exactly.
        zero_exponent: that of a term that is zero; None: a zero product has none, and a sum so far
            that is zero that of subnormals.
        group: products that are added exactly first, into one term, whose exponent is that of the
            scales, under `blocks`.
        later_bits: None: the sum so far is a term of the step. Else products alone are aligned, and
            their sum and the sum so far then once more, cut toward minus infinity: the former at
            `later_bits` + 1, the latter at `fraction_bits`, and their sum at `later_bits` below its
            own exponent.
        halves: under `later_bits`, even and odd products are aligned apart first, and a sum so far
            that is less than 2**(e - fraction_bits - 1) counts as zero.
        tree: products are rounded to float32, added in pairs and pairs of pairs, each sum rounded;
            without `fraction_bits`.
        flush: subnormal inputs, products and sums become zeros, under `tree`.
        output: f32, or f16 without `later_bits`, `tree` and `promotion`: the type of the sum after
            each step.
        rounding: to the output, `toward_zero` or `ties_to_even`.
        output_bits: fraction bits that are kept, under `toward_zero`.
        promotion: after so many products the sum is added to another one in float32, to nearest
            even, and begins again at zero; None: never.
        scaling: how the sum gets float32 scales of both sides when it is promoted, a `Scaling` or
            its name; None: there are none.
        formats: the elements that are multiplied.
        blocks: numbers of elements that share a scale; empty: there are no scales.

    Raises:
        TypeError: numbers that are no integers, or names that are no tuple.
        ValueError: numbers that mean nothing, or that are not computed exactly here.

    Source: SPEC_NOTES N47.

    >>> ADDERS["hopper_fp8"]
    Adder(step=32, fraction_bits=13, zero_exponent=-133, output_bits=13, formats=('e5m2', 'e4m3'))
    """

    step: int
    fraction_bits: int | None = None
    zero_exponent: int | None = None
    group: int = 1
    later_bits: int | None = None
    halves: bool = False
    tree: bool = False
    flush: bool = False
    output: str = "f32"
    rounding: Rounding = Rounding.TOWARD_ZERO
    output_bits: int = 23
    promotion: int | None = None
    scaling: Scaling | None = None
    formats: tuple[str, ...] = _FORMATS
    blocks: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "rounding", _member("rounding", self.rounding, Rounding))
        if self.scaling is not None:
            object.__setattr__(self, "scaling", _member("scaling", self.scaling, Scaling))
        for name in _INTEGERS:
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, integer(value, name))
                if value < 1 and name != "zero_exponent":
                    raise ValueError(f"{name} must be a positive integer, got {value}")
        for name in ("formats", "blocks"):
            if not isinstance(getattr(self, name), tuple):
                raise TypeError(f"{name} must be a tuple, got {getattr(self, name)!r}")
        for name, holds, rule in self._rules():
            if not holds:
                value = getattr(self, name)
                got = value.value if isinstance(value, enum.Enum) else value
                raise ValueError(f"{name} must be {rule}, got {got}")

    def _rules(self) -> Iterator[tuple[str, bool, str]]:
        """Each rule: of what, whether it holds, and how it is told."""
        aligned, later, zero = self.is_aligned, self.later_bits is not None, self.zero_exponent
        even, narrow = self.rounding is Rounding.TIES_TO_EVEN, self.output == "f16"
        yield "step", self.step <= 64, "at most 64"
        yield "group", self.step % self.group == 0, "a divisor of step"
        yield "group", self.group == 1 or bool(self.blocks), "1 without blocks"
        yield (
            "fraction_bits",
            (self.fraction_bits or 1) <= _MOST_BITS,
            f"at most {_MOST_BITS}",
        )
        yield "output", self.output in ("f32", "f16"), "f32 or f16"
        yield (
            "rounding",
            even or (self.rounding is Rounding.TOWARD_ZERO and not narrow),
            "ties_to_even, or toward_zero under output=f32",
        )
        yield (
            "rounding",
            aligned or even,
            "ties_to_even unless fraction_bits are given without later_bits",
        )
        yield "output_bits", self.output_bits <= 23, "at most 23"
        yield "output_bits", self.output_bits == 23 or not even, "23 without toward_zero"
        yield (
            "zero_exponent",
            not aligned or (zero is not None and -200 <= zero <= -19),
            "from -200 to -19 where the sum so far is a term",
        )
        yield "zero_exponent", aligned or zero is None, "None unless the sum so far is a term"
        yield (
            "later_bits",
            self.later_bits is None or (self.fraction_bits or 99) < self.later_bits < 40,
            "more than fraction_bits, and less than 40",
        )
        yield "halves", not self.halves or (later and self.step > 1), "False without later_bits"
        yield "tree", not self.tree or self.step in (2, 4), "False unless step is 2 or 4"
        yield (
            "tree",
            not self.tree or self.fraction_bits is None,
            "False if fraction_bits are given",
        )
        yield "flush", not self.flush or self.tree, "False without tree"
        yield "promotion", not (self.promotion or 0) % self.step, "a multiple of step"
        yield "scaling", not self.scaling or bool(self.promotion), "None without promotion"
        yield (
            "output",
            not (narrow and (later or self.tree or self.promotion)),
            "f32 under later_bits, tree or promotion",
        )
        known = bool(self.formats) and all(name in _FORMATS for name in self.formats)
        yield "formats", known, f"some of {' '.join(_FORMATS)}"

    @property
    def zero_is_positive(self) -> bool:
        """Whether a result that is zero has no sign."""
        return self.scaling is None and (self.is_aligned or self.promotion is not None)

    @property
    def is_aligned(self) -> bool:
        """Whether the sum so far is one of the terms that are aligned."""
        return self.fraction_bits is not None and self.later_bits is None

    def __repr__(self) -> str:
        """What differs from the defaults."""
        changed = (
            f"{field.name}={getattr(self, field.name)!r}"
            for field in dataclasses.fields(self)
            if getattr(self, field.name) != field.default
        )
        return f"Adder({', '.join(changed)})"


_Member = TypeVar("_Member", bound=enum.Enum)


def _member(name: str, got: str | _Member, kind: type[_Member]) -> _Member:
    known = {member.value: member for member in kind}
    if isinstance(got, kind):
        return got
    if not isinstance(got, str) or got not in known:
        raise ValueError(unknown_name(name, got, known))
    return known[got]


def _nvidia(bits: int, step: int, zero: int, *formats: str, kept: int = 23) -> Adder:
    return Adder(step, bits, zero, output_bits=kept, formats=formats)


def _in_float16(adder: Adder, zero: int) -> Adder:
    """The same with a sum in float16, which it rounds to nearest even."""
    even = Rounding.TIES_TO_EVEN
    few = tuple(name for name in adder.formats if name != "bf16")
    return dataclasses.replace(
        adder, zero_exponent=zero, output="f16", rounding=even, output_bits=23, formats=few
    )


def _nearest(step: int, *formats: str, **more: object) -> Adder:
    return Adder(step, rounding=Rounding.TIES_TO_EVEN, formats=formats, **more)  # type: ignore[arg-type]


_PLAIN = {
    "volta_f16": _nvidia(23, 4, -131, "f16"),
    "turing_f16": _nvidia(24, 8, -132, "f16"),
    "ampere_f16": _nvidia(24, 8, -132, *_F16),
    "ampere_tf32": _nvidia(24, 4, -132, "tf32"),
    "ada_fp8": _nvidia(13, 16, -132, *_FP8, kept=13),
    "hopper_f16": _nvidia(25, 16, -133, *_F16),
    "hopper_tf32": _nvidia(25, 8, -133, "tf32"),
    "hopper_fp8": _nvidia(13, 32, -133, *_FP8, kept=13),
    "blackwell_f8f6f4": _nvidia(25, 32, -133, *_F8F6F4),
}
#: Zeros of a sum in float16: the exponents are those of float32, 112 higher.
_HALVES = ("volta_f16", "turing_f16", "ada_fp8", "hopper_f16", "hopper_fp8", "blackwell_f8f6f4")

#: Hopper's FP8 with a scale of each side for every 128 products.
_IN_BLOCKS = dataclasses.replace(_PLAIN["hopper_fp8"], promotion=128)

#: The named adders: matrix units of MMA-Sim, and two kernels, which have a scaling. Ampere's are
#: Ada's, too; Hopper's for 16 bits and tf32 are those of Blackwell and RTX Blackwell, whose adder
#: for 8 bits and less is one.
ADDERS: Mapping[str, Adder] = {
    **_PLAIN,
    **{
        f"{name}_in_f16": _in_float16(_PLAIN[name], (_PLAIN[name].zero_exponent or 0) + 112)
        for name in _HALVES
    },
    "blackwell_mxf8f6f4": Adder(32, 25, -133, formats=_F8F6F4, blocks=(32,)),
    "blackwell_mxf4": Adder(64, 35, -139, group=16, formats=("e2m1",), blocks=(16, 32)),
    "cdna1_f16": _nearest(4, "f16"),
    "cdna1_bf16": _nearest(2, "bf16"),
    "cdna2_f16": _nearest(4, *_F16, tree=True, flush=True),
    "cdna2_bf16": _nearest(2, "bf16", tree=True, flush=True),
    "cdna3_f16": _nearest(8, *_F16, fraction_bits=24, later_bits=31),
    "cdna3_xf32": _nearest(4, "tf32", fraction_bits=24, later_bits=31),
    "cdna3_fp8": _nearest(16, *_FNUZ, fraction_bits=24, later_bits=31, halves=True),
    "fma_f32": _nearest(1, "f32"),
    "deepgemm_fp8": dataclasses.replace(_IN_BLOCKS, scaling=Scaling.PRODUCT_FMA),
    "deepseek_v3_fp8": dataclasses.replace(_IN_BLOCKS, scaling=Scaling.IN_TURN_FMA),
}


def adder_of(adder: str | Adder) -> Adder:
    """The adder of a name.

    Raises:
        ValueError: no such name.

    >>> adder_of("cdna3_fp8").halves
    True
    """
    if isinstance(adder, Adder):
        return adder
    if not isinstance(adder, str) or adder not in ADDERS:
        raise ValueError(unknown_name("adder", adder, ADDERS))
    return ADDERS[adder]
