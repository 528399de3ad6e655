"""The formulas of two-level scaling, three functions for each named arithmetic.

M is the largest element, C the largest scale, A the largest magnitude of the tensor and a that of
the block. Every * and / of a `Float` rounds, so the order of operations is the formula.

Source: torchao 0.18 nvfp4_tensor.py; Transformer Engine core_nvfp4.cuh, quantize_4over6_nvfp4.cuh
and dequantize_nvfp4.cuh; cuBLAS, 1D block scaling;
compressed-tensors 0.20 quantization/utils/helpers.py and quantization/lifecycle/forward_helpers.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple, TypeAlias

from mxref.exact.adders import add
from mxref.exact.arithmetic import F32, Float, amax, product, quotient, ratio
from mxref.exact.breakpoints import Breakpoints, breakpoints, code_finder, code_of_ratio
from mxref.exact.choice_table import ELEMENT_CHOICES, settle
from mxref.exact.format_table import ElementType, FloatType, domain_error, magnitude, read_code
from mxref.exact.integers import INF, NAN, Number, compare

ONE: Final = Float((0, 1, 0), F32)
FLOAT32_MAX: Final = Float((0, 2**24 - 1, 104), F32)
FLOAT32_SMALLEST: Final = Float((0, 1, -149), F32)

Block: TypeAlias = tuple[int, list[int]]


class Formats(NamedTuple):
    """The element and scale formats of a conversion, with their breakpoints and largest numbers.

    rows: a block has that many rows, a power of two; 4 over 6 adds errors by rows.
    draws: random bits of `width` bits for the elements, one after the other, if they are rounded
    stochastically.
    """

    element: ElementType
    scale: ElementType
    elements: Breakpoints
    scales: Breakpoints
    rows: int = 1
    draws: Iterator[int] | None = None
    width: int = 0

    @property
    def m(self) -> Float:
        """The largest element, M."""
        return Float((0, *magnitude(self.element.max_code, self.element)), F32)

    @property
    def c(self) -> Float:
        """The largest scale, C."""
        return Float((0, *magnitude(self.scale.max_code, self.scale)), F32)

    @property
    def mc(self) -> Float:
        """M * C, which is exact."""
        return self.m * self.c

    def largest(self, x: Sequence[Float], *, nan_counts: bool = False) -> Float:
        """The largest magnitude; a NaN makes it NaN or is passed over."""
        return Float(amax((v.number for v in x), nan_counts=nan_counts), x[0].kind)

    def to_scale(self, x: Float) -> tuple[int, Float]:
        """Round to a scale, saturating: its code and its value."""
        code = code_finder(self.scales)(x.number, 0, 0)
        return code, Float(read_code(code, self.scale), F32)

    def to_element(self, x: Float) -> int:
        """Round to an element code."""
        draw = 0 if self.draws is None else next(self.draws)
        return code_finder(self.elements)(x.number, draw, self.width)

    def seen(self, what: str, number: Number) -> None:
        """Nothing; the trace of a block writes it down."""


# Exact quotients, each rounded once. The tensor scale T is a factor.


def _exact_tensor(a: Float, s: Formats) -> Float:
    """A / (M * C) as the nearest positive finite float32; 1 if A is zero."""
    if a.is_zero:
        return ONE
    t = Float(quotient(a.number, product(s.m.number, s.c.number), F32), F32)
    return t.at_least(FLOAT32_SMALLEST).at_most(FLOAT32_MAX)


def _exact_block(x: Sequence[Float], t: Float | None, s: Formats) -> Block:
    """The scale of a / (M * T) and the elements of x / (scale * T); a NaN block for Inf and NaN."""
    factor = ONE.number if t is None else t.number
    if factor[1] <= 0:
        raise domain_error("tensor_scale", "a positive finite float32 for exact arithmetic", factor)
    numbers = [v.number for v in x]
    if any(n in (INF, NAN) for _, n, _ in numbers):
        return s.scale.sign_weight - 1, [0] * len(x)
    largest = amax(numbers, nan_counts=False)
    code = code_of_ratio(s.scales, 0, ratio(largest, product(s.m.number, factor)))
    divisor = product(read_code(code, s.scale), factor)
    if divisor[1] == 0:
        numbers = [(sign, 0, 0) for sign, _, _ in numbers]
        divisor = ONE.number
    return code, [code_of_ratio(s.elements, v[0], ratio(v, divisor)) for v in numbers]


def _exact_number(x: Number, scale: Number, t: Float, s: Formats, target: FloatType) -> Number:
    """The number x * scale * T."""
    return product(product(x, scale), t.number)


# torchao on a CPU: T is a factor; no scale is below the smallest normal number.


def _torchao_tensor(a: Float, s: Formats) -> Float:
    """A / (M * C)."""
    return a / s.mc


def _torchao_block(x: Sequence[Float], t: Float | None, s: Formats) -> Block:
    """The scale of (a / M) / T, and the elements of x * ((1 / T) / scale)."""
    smallest_normal = Float((0, 1, 1 - s.scale.bias), F32)
    b = s.largest(x, nan_counts=True) / s.m
    wanted = b if t is None else b / t
    code, scale = s.to_scale(wanted.at_least(smallest_normal).at_most(s.c))
    r = ONE / scale if t is None else (ONE / t) / scale
    return code, [s.to_element((v * r).at_most(s.m)) for v in x]


def _torchao_number(x: Number, scale: Number, t: Float, s: Formats, target: FloatType) -> Number:
    """The number x * (T * scale)."""
    return (Float(x, F32) * (t * Float(scale, F32))).number


# Transformer Engine: the tensor scale is A itself; no NaN counts for it.


def _te_tensor(a: Float, s: Formats) -> Float:
    """A."""
    return a


def _te_block(x: Sequence[Float], t: Float | None, s: Formats) -> Block:
    """The scale of a * (S * (1 / M)) and the elements of x * (1 / (scale * (1 / S))).

    S is M * C / A, or 1 if A or the quotient is zero; overflow gives the largest float32.
    """
    encode = ONE
    if t is not None and not t.is_zero:
        encode = (s.mc / t).at_most(FLOAT32_MAX)
        encode = ONE if encode.is_zero else encode
    a = s.largest(x)
    code, scale = s.to_scale((a * (encode * (ONE / s.m))).at_most(FLOAT32_MAX))
    r = (ONE / (scale * (ONE / encode))).at_most(FLOAT32_MAX)
    return code, [s.to_element(v * r) for v in x]


def _te_number(x: Number, scale: Number, t: Float, s: Formats, target: FloatType) -> Number:
    """The number ((scale * A) * (1 / (M * C))) * x."""
    return (Float(scale, F32) * t * (ONE / s.mc) * Float(x, F32)).number


# Transformer Engine's 4 over 6: two scales are tried. 256 stands for C, as room for the larger one.


def _room(s: Formats) -> Float:
    """The number 256 * M."""
    return s.m * Float((0, 1, 8), F32)


def _4over6_block(x: Sequence[Float], t: Float | None, s: Formats, *, squared: bool) -> Block:
    """The block of the scale 1.5 * b where its error is smaller than that of b, else of b.

    b is (a / M) * S with S = 256 * M / A; elements are x * (1 / (scale * (1 / S))). The error of a
    scale adds |d| or d * d one by one, d being ((element * scale) * A) / (256 * M) - x and the
    element the nearest one, ties to even, whatever the choices. Where a block has several rows,
    each is added so, and then the first half of the sums to the second, until one is left.
    """
    encode = ONE
    if t is not None and not t.is_zero:
        encode = (_room(s) / t).at_most(FLOAT32_MAX)
        encode = ONE if encode.is_zero else encode
    b = s.largest(x) / s.m * encode
    nearest = code_finder(breakpoints(s.element.name, **settle({}, ELEMENT_CHOICES)))
    tried = []
    for wanted in (b * Float((0, 3, -1), F32), b):
        code, scale = s.to_scale(wanted.at_most(s.c))
        r = (ONE / (scale * (ONE / encode))).at_most(FLOAT32_MAX)
        errors: list[Number] = []
        for i, v in enumerate(x):
            if i % (len(x) // s.rows) == 0:
                errors.append((0, 0, 0))
            value = Float(read_code(nearest((v * r).number, 0, 0), s.element), F32) * scale
            if t is not None:
                value = value * t / _room(s)
            sign, n, e = v.number
            d = Float(add(value.number, (1 - sign, n, e)), F32)
            errors[-1] = add(errors[-1], (d * d).number if squared else (0, *d.number[1:]))
        while len(errors) > 1:
            half = len(errors) // 2
            errors = [add(*pair) for pair in zip(errors[:half], errors[half:], strict=True)]
        s.seen("the sum of errors", errors[0])
        tried.append((errors[0], (code, [s.to_element(v * r) for v in x])))
    (four, block4), (six, block6) = tried
    return block4 if _is_less(four, six) else block6


def _is_less(x: Number, y: Number) -> bool:
    """Whether one error is below another; no comparison with NaN holds.

    >>> some = (0, 0, 0), (0, 3, -1), (0, 1, 1), (0, INF, 0), (0, NAN, 0)  # 0, 1.5, 2, Inf, NaN
    >>> [sum(_is_less(x, y) for x in some) for y in some], [_is_less(x, some[3]) for x in some]
    ([0, 1, 2, 3, 0], [True, True, True, False, False])
    """
    # Finite numbers are at least 0, and NaN, which is -2, is below them.
    return x[1] >= 0 and (y[1] == INF or compare(*x[1:], *y[1:]) < 0)


def _4over6_number(x: Number, scale: Number, t: Float, s: Formats, target: FloatType) -> Number:
    """The number ((scale * A) * (1 / (256 * M))) * x."""
    return (Float(scale, F32) * t * (ONE / _room(s)) * Float(x, F32)).number


# cuBLAS as it is documented: the tensor scale S is a divisor, by which x is multiplied first.


def _cublas_tensor(a: Float, s: Formats) -> Float:
    """M * C / A; 1 if A is zero."""
    return ONE if a.is_zero else s.mc / a


def _cublas_block(x: Sequence[Float], t: Float | None, s: Formats) -> Block:
    """With y = x * S: the scale of max|y| / M, and the elements of y * (1 / scale)."""
    y = [v if t is None else v * t for v in x]
    code, scale = s.to_scale(s.largest(y) / s.m)
    r = ONE / scale
    return code, [s.to_element(v * r) for v in y]


def _cublas_number(x: Number, scale: Number, t: Float, s: Formats, target: FloatType) -> Number:
    """The number x * scale / S, rounded once."""
    return quotient(product(x, scale), t.number, target)


# compressed-tensors: PyTorch in the source's own type; the global scale G is a divisor.


def _ct_tensor(a: Float, s: Formats) -> Float:
    """M * C * (1 / A), A being at least the smallest normal number; 1 instead of Inf and NaN.

    A Python number over a tensor is the tensor's reciprocal times the number in PyTorch.
    """
    kind = a.kind
    r = Float(ONE.number, kind) / a.at_least(Float((0, 1, 1 - kind.bias), kind))
    g = s.mc.times(r, kind).of(F32)
    return ONE if g.is_nan or g.number[1] == INF else g


def _ct_block(x: Sequence[Float], t: Float | None, s: Formats) -> Block:
    """The scale of G * (a / M), or 1/8 where that is 0, and the elements of x / (scale / G)."""
    kind = x[0].kind
    b = s.largest(x, nan_counts=True).over(s.m, kind)
    code, scale = s.to_scale((b if t is None else t * b).at_most(s.c))
    if scale.is_zero:
        code, scale = s.to_scale(Float((0, 1, -3), F32))
    divisor = scale.of(kind) if t is None else scale / t
    return code, [s.to_element((v / divisor).at_most(s.m)) for v in x]


def _ct_number(x: Number, scale: Number, t: Float, s: Formats, target: FloatType) -> Number:
    """The number x * (scale / G)."""
    return (Float(x, F32) * (Float(scale, F32) / t)).number


class Formulas(NamedTuple):
    """The three formulas of one arithmetic, and how it reads numbers.

    tensor: from A to the tensor scale. block: from the numbers of a block and the tensor scale, if
    any, to its scale code and element codes. number: from an element, a scale and a tensor scale to
    the number they stand for. nan_counts: whether NaN counts for A. source_types: the types it
    computes in; others are rounded to float32 first. defaults: choices that differ from `encode`.
    """

    tensor: Callable[[Float, Formats], Float]
    block: Callable[[Sequence[Float], Float | None, Formats], Block]
    number: Callable[[Number, Number, Float, Formats, FloatType], Number]
    nan_counts: bool = False
    source_types: tuple[str, ...] = ("f32",)
    defaults: Mapping[str, str] = {}


ARITHMETICS: Final[Mapping[str, Formulas]] = {
    "exact": Formulas(
        _exact_tensor, _exact_block, _exact_number, source_types=("f16", "bf16", "f32", "f64")
    ),
    "torchao": Formulas(_torchao_tensor, _torchao_block, _torchao_number, nan_counts=True),
    "transformer_engine": Formulas(_te_tensor, _te_block, _te_number),
    "transformer_engine_4over6": Formulas(
        _te_tensor, partial(_4over6_block, squared=False), _4over6_number
    ),
    "transformer_engine_4over6_mse": Formulas(
        _te_tensor, partial(_4over6_block, squared=True), _4over6_number
    ),
    "cublas": Formulas(_cublas_tensor, _cublas_block, _cublas_number),
    "compressed_tensors": Formulas(
        _ct_tensor,
        _ct_block,
        _ct_number,
        nan_counts=True,
        source_types=("f16", "bf16", "f32"),
        defaults={"zero_sign": "dropped", "nan_to_finite": "zero"},
    ),
}
