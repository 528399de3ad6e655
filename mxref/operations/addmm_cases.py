"""Cases of `addmm` whose sums are exact in every order: open is how they meet alpha, beta and C.

Elements are within three binades, scales of blocks within a few numbers, so that all products of a
sum are multiples of a power of two u and add up to at most 2**19 u (SPEC_NOTES N43).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from mxref.bits.floats import FloatLayout
from mxref.formats.catalog import BlockFormat
from mxref.operands.draws import Draws, Ints
from mxref.operations.product_words import code_of_one

__all__ = ["MODEL", "SPECIAL", "Drawn", "designed_cases", "drawn"]

MODEL = "M31"
#: The end of a format whose scales of tensors are special.
SPECIAL = "special"
#: The parts of a case by the names of its fields.
Drawn: TypeAlias = dict[str, Any]
_Formats: TypeAlias = "tuple[BlockFormat, BlockFormat]"

_ONE, _MINUS_ONE, _HALF, _MINUS_THREE = 0x3F800000, 0xBF800000, 0x3F000000, 0xC0400000
_TWO, _THREE_QUARTERS, _MINUS_ZERO = 0x40000000, 0x3F400000, 0x80000000
#: Numbers of few bits, whose products with a sum float32 holds; and others.
_SHORT = (_ONE, _HALF, _MINUS_THREE, _MINUS_ONE, _TWO, _THREE_QUARTERS)
_POWERS = (_ONE, _HALF, _MINUS_ONE, _TWO)
_LONG = (0x3EAAAAAB, 0xBF333333, 0x3DCCCCCD)  # 1/3, -0.7, 1/10
#: Scales of rows: 1, 2, 1/2, 3/2, 3, 4; and special ones.
_ROWS = (_ONE, _TWO, _HALF, 0x3FC00000, 0x40400000, 0x40800000)
_WHOLE = (_ONE, _TWO, 0x40800000)  # times a subnormal scale a float32 number, too
_ZERO, _INFINITE, _NAN = 0, 0x7F800000, 0x7FC00000
_SUBNORMAL, _LEAST, _LARGE = 0x00400000, 1, 0x7F000000  # 2**-127, 2**-149, 2**127
_ODD = (_ZERO, _INFINITE, _NAN, _SUBNORMAL, _LEAST, _LARGE)
_MILLION = 0x49800000  # 2**20
#: The largest number of bfloat16.
_LARGEST = 0x7F7F0000
#: The most different runs of scales of rows.
_SCALES = 61
#: Rows, products of a sum and columns of the designed cases.
_SIZES = ((2, 5, 3), (3, 20, 2), (1, 33, 2), (2, 40, 2))


def drawn(
    formats: _Formats,
    layout: FloatLayout,
    draws: Draws,
    sizes: Sequence[int],
    number: int,
    *,
    special: bool = False,
    positive: bool = False,
) -> Drawn:
    """The parts of a random case of these sizes.

    Args:
        formats: of both operands.
        layout: of C, the bias and the result.
        draws: random numbers.
        sizes: M, K and N.
        number: by which factors take turns, and what is added.
        special: whether half of the scales of rows are 0, subnormal, infinite or NaN.
        positive: whether all elements are positive.
    """
    m, k, n = sizes
    found: Drawn = {"m": m, "k": k, "n": n}
    for side, rows, fmt in (("a", m, formats[0]), ("b", n, formats[1])):
        found[f"scales_{side}"] = _scales(fmt, draws, (rows, -(-k // fmt.elements_per_block)), side)
        codes = _codes(fmt, draws, (rows, k), zeros=not special and not positive)
        if fmt.tensor_scale:
            usual = _WHOLE if special else _ROWS
            tensors = np.array(usual)[draws.below((rows,), len(usual))]
            if special:
                odd = np.array(_ODD)[draws.below((rows,), len(_ODD))]
                tensors = np.where(draws.one_in((rows,), 2), odd, tensors)
                codes = codes & ~fmt.element.sign_bit  # no sum is zero
            # Rows with one scale are multiplied at once: many rows have a few, each some in turn.
            run = -(-rows // _SCALES)
            found[f"tensor_scales_{side}"] = np.repeat(tensors[:: max(run, 1)], run)[:rows]
        found[f"codes_{side}"] = codes & ~fmt.element.sign_bit if positive else codes
    factors: Sequence[int] = _SHORT if formats[0].tensor_scale else (*_SHORT, *_LONG)
    betas: Sequence[int] = (_ZERO, *_SHORT, *_LONG)
    if special:  # a term that float32 holds, and one rounded once: no way of adding rounds more
        factors, betas = (_ONE, _MINUS_ONE), (_ZERO, *_POWERS)
    found["alpha"] = factors[number % len(factors)]
    found["beta"] = betas[number // 2 % len(betas)]
    found["c"] = _numbers(layout, draws, (m, n))
    found["bias"] = _numbers(layout, draws, (n,)) * (number % 4 != 1 and not special)
    if found["beta"] == _ZERO:
        found["c"] = np.where(draws.one_in((m, n), 2), layout.nan_bits, found["c"])
    return found


def _codes(fmt: BlockFormat, draws: Draws, shape: tuple[int, ...], *, zeros: bool) -> Ints:
    """Element codes of numbers from 1/2 to below 4, of E2M1 to 6, and zeros."""
    element = fmt.element
    top = 4 if element.mantissa_bits > 1 else 8
    some = [code for code in range(element.max_code + 1) if 0.5 <= element.value(code) < top]
    codes = np.array(some)[draws.below(shape, len(some))]
    codes |= draws.below(shape, 2) * element.sign_bit
    return np.where(draws.one_in(shape, 5), 0, codes) if zeros else codes


def _scales(fmt: BlockFormat, draws: Draws, shape: tuple[int, ...], side: str) -> Ints:
    """Scale codes of a power of two for each row, times 1 to 7/4, of E8M0 1 or, of a alone, 2."""
    bits = fmt.scale.mantissa_bits
    rows = draws.between(-1, 1, (shape[0], 1)) << bits
    more = draws.below(shape, 4) << bits - 2 if bits else draws.below(shape, 2) * (side == "a")
    return code_of_one(fmt) + rows + more


def _numbers(layout: FloatLayout, draws: Draws, shape: tuple[int, ...]) -> Ints:
    """Patterns of numbers of the size of sums, and zeros."""
    bits = layout.mantissa_bits
    exponents = layout.bias + draws.between(-3, 6, shape)
    found = exponents << bits | draws.below(shape, 1 << bits)
    found |= draws.below(shape, 2) << layout.width - 1
    return np.where(draws.one_in(shape, 6), 0, found)


def designed_cases(
    formats: _Formats, layout: FloatLayout, *, special: bool = False
) -> Iterator[tuple[str, Drawn]]:
    """The designed cases of both formats: names and parts."""
    make = _Maker(formats, layout, special=special)
    if special:
        yield from make.special_rows()
        return
    yield from make.factors()
    yield from make.specials()
    yield from make.steps()
    if formats[0].tensor_scale:
        yield from make.rows()
    yield from make.random()


class _Maker:
    """Designed cases, each a random one in which some parts are set."""

    def __init__(self, formats: _Formats, layout: FloatLayout, *, special: bool) -> None:
        self.formats, self.layout, self.special = formats, layout, special
        bits, bias = layout.mantissa_bits, layout.bias
        self.one, self.minus, self.inf = bias << bits, layout.sign_bit, layout.inf_bits
        self.top = layout.inf_bits - 1

    def case(
        self, name: str, sizes: Sequence[int], parts: Mapping[str, Any] | None = None
    ) -> tuple[str, Drawn]:
        """A case of a name, with some parts in place of random ones."""
        pair = "-".join(fmt.name for fmt in self.formats)
        draws = Draws(f"addmm {pair} {self.layout.name} {name}")
        found = drawn(self.formats, self.layout, draws, sizes, 0)
        plain = {"alpha": _ONE, "beta": _ZERO, "bias": [0] * sizes[2]}
        return name, {**found, **plain, **(parts or {})}

    def added(self, name: str, sizes: Sequence[int]) -> Drawn:
        """Random numbers for C and the bias."""
        draws = Draws(f"addmm {self.layout.name} {name}")
        m, _, n = sizes
        c, bias = (_numbers(self.layout, draws, shape) for shape in ((m, n), (n,)))
        return {"c": c, "bias": bias}

    def factors(self) -> Iterator[tuple[str, Drawn]]:
        """Alpha, beta, C and the bias alone and together, in several sizes."""
        short, sizes = _SHORT, itertools.cycle(_SIZES)
        for alpha in short if self.formats[0].tensor_scale else (*short, *_LONG):
            yield self.case(f"alpha_{alpha:08x}", next(sizes), {"alpha": alpha})
        for beta in (*short, *_LONG):
            name, size = f"beta_{beta:08x}", next(sizes)
            yield self.case(name, size, {"beta": beta, "c": self.added(name, size)["c"]})
        for size in _SIZES:
            name = f"bias_{size[1]}"
            yield self.case(name, size, {"bias": self.added(name, size)["bias"]})
            for number, (alpha, beta) in enumerate(
                ((_HALF, _TWO), (_MINUS_THREE, 0x3EAAAAAB), (_TWO, _MINUS_ONE))
            ):
                name = f"all_{size[1]}_{number}"
                parts = {"alpha": alpha, "beta": beta, **self.added(name, size)}
                yield self.case(name, size, parts)
        for size in ((2, 3, 2), (3, 4, 3)):  # C and its transpose have one shape
            name = f"square_{size[0]}"
            yield self.case(name, size, {"beta": _HALF, **self.added(name, size)})

    def specials(self) -> Iterator[tuple[str, Drawn]]:
        """Zeros, infinities and NaN in C, in the bias and in products."""
        size, one, minus = (1, 4, 3), self.one, self.minus
        small = self._units()
        nothing = {**small, "codes_a": np.zeros((1, 4), int)}
        three = [one + 1, one, one | minus]
        yield self.case("no_product", size, {**nothing, "beta": _TWO, "c": [three], "bias": three})
        yield self.case("zero", size, nothing)
        yield self.case("alpha_0", size, {"alpha": 0, "beta": _ONE, "c": [three], "bias": three})
        cancels = {"alpha": _MINUS_ONE, "beta": _ONE, "c": [[one] * 3], "bias": [0, one, minus]}
        yield self.case("cancels", size, {**small, **cancels, "bias": [0, one, one | minus]})
        odd = [self.inf, self.inf | minus, self.layout.nan_bits]
        yield self.case("c_not_read", size, {**small, "alpha": _TWO, "c": [odd]})
        yield self.case("c_specials", size, {**small, "beta": _HALF, "c": [odd]})
        yield self.case("c_specials_negated", size, {**small, "beta": _MINUS_THREE, "c": [odd]})
        yield self.case("bias_specials", size, {**small, "bias": odd})
        both = {"beta": _ONE, "c": [odd], "bias": [self.inf, self.inf, 0]}
        yield self.case("infinities_meet", size, {**small, **both})
        nan = {"scales_a": np.full((1, 1), self.formats[0].scale.nan_codes[0])}
        yield self.case("nan_scale", size, {**small, **nan, "beta": _ONE, "c": [[one, one, one]]})
        for name, zero in (("alpha_0_nan", 0), ("alpha_minus_0_nan", _MINUS_ZERO)):
            yield self.case(name, size, {**small, **nan, "alpha": zero, "bias": [one, one, one]})
        ends = [[self.top, self.top | minus, self.top]]
        yield self.case("c_largest", size, {**small, "beta": _TWO, "c": ends})
        # The product alone is beyond float32; with C it is not.
        element = self.formats[0].element
        two = np.array([[element.bias + 1 << element.mantissa_bits, 0, 0, 0]])
        large = {"alpha": _LARGEST, "beta": _MINUS_ONE, "c": [[self.top] * 3]}
        yield self.case("alpha_largest", size, {**small, **large, "codes_a": two})

    def _units(self) -> Drawn:
        """A row of a and three of b, each 1 and three zeros, under scales of 1."""
        found: Drawn = {}
        for side, count, fmt in zip("ab", (1, 3), self.formats, strict=True):
            codes = np.zeros((count, 4), int)
            codes[:, 0] = fmt.element.bias << fmt.element.mantissa_bits
            found[f"codes_{side}"] = codes
            found[f"scales_{side}"] = np.full((count, 1), code_of_one(fmt))
            if fmt.tensor_scale:
                found[f"tensor_scales_{side}"] = [_ONE] * count
        return found

    def steps(self) -> Iterator[tuple[str, Drawn]]:
        """What one way of rounding steps leaves of numbers that cancel, and another does not.

        A third times 3 is 1 + 2**-25; next to it are biases that the output holds with that rest.
        """
        size, one = (1, 4, 3), self.one
        bits, element = self.layout.mantissa_bits, self.formats[0].element
        small, three = 20 << bits, one + (3 << bits - 1)
        codes = np.zeros((1, 4), int)
        codes[0, 0] = (element.bias << element.mantissa_bits) + (3 << element.mantissa_bits - 1)
        rests = [0, one - small, (one - small) | self.minus]
        for number, sign in enumerate((0, _MINUS_ZERO)):
            below = sign and self.minus
            first, other = one | below, one | (self.minus ^ below)
            wide = one + small | (self.minus ^ below)
            third = _LONG[0] | sign
            unit = {**self._units(), "beta": _ONE}
            of_alpha = {"alpha": third, "codes_a": codes, "c": [[other] * 3], "bias": rests}
            yield self.case(f"rest_of_alpha_{number}", size, {**unit, **of_alpha})
            of_beta = {"alpha": _MINUS_ONE ^ sign, "beta": third, "bias": rests}
            of_beta["c"] = [[three] * 3]
            yield self.case(f"rest_of_beta_{number}", size, {**unit, **of_beta})
            biases = [first + 1, other + 1, one + 3]
            of_bias = {"alpha": _MILLION | sign, "c": [[wide] * 3], "bias": biases}
            yield self.case(f"rest_of_bias_{number}", size, {**unit, **of_bias})

    def rows(self) -> Iterator[tuple[str, Drawn]]:
        """Scales of rows that differ."""
        for number, size in enumerate(_SIZES):
            for side, count in (("a", size[0]), ("b", size[2])):
                name = f"rows_{side}_{size[1]}"
                other, rest = "b" if side == "a" else "a", size[0] + size[2] - count
                turns = [_ROWS[(number + 1 + i) % len(_ROWS)] for i in range(count)]
                tensors = {f"tensor_scales_{side}": turns, f"tensor_scales_{other}": [_ONE] * rest}
                yield self.case(name, size, {**tensors, "beta": _ONE, **self.added(name, size)})

    def special_rows(self) -> Iterator[tuple[str, Drawn]]:
        """Scales of rows at their ends, over numbers whose sums are not zero."""
        size = (2, 18, 2)
        for number, (one, other) in enumerate(itertools.product((*_ODD, _ONE), repeat=2)):
            name = f"rows_{number:02}"
            pair = "-".join(fmt.name for fmt in self.formats)
            draws = Draws(f"addmm {pair} {name}")
            parts = drawn(self.formats, self.layout, draws, size, number, special=True)
            tensors = {"tensor_scales_a": [_ONE, one], "tensor_scales_b": [other, _ONE]}
            plain = {"alpha": _ONE, "beta": _ZERO, "bias": [0, 0]}
            yield name, {**parts, **tensors, **(plain if number % 2 else {})}

    def random(self) -> Iterator[tuple[str, Drawn]]:
        """Random cases."""
        pair = "-".join(fmt.name for fmt in self.formats)
        for number in range(24):
            draws = Draws(f"addmm {pair} {self.layout.name} {number}")
            m, k, n = (int(draws.between(1, most)) for most in (3, 36, 3))
            yield f"drawn_{number}", drawn(self.formats, self.layout, draws, (m, k, n), number)
