"""A right MX kernel in plain NumPy, policy `ocp`, as a chain of stages that can be replaced.

`RIGHT` has a function for every stage; `mx_blocks`, `nv_blocks` and `codes_of` call them in order.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Element(NamedTuple):
    """What the standard says of an element format; `nan` is the code that `ocp` makes of NaN."""

    name: str
    bits: int
    mantissa: int
    emin: int
    emax: int
    largest: int
    nan: int

    @property
    def int8(self) -> bool:
        return self.name == "int8"


E5M2 = Element("e5m2", 8, 2, -14, 15, 0x7B, 0x7F)
E4M3 = Element("e4m3", 8, 3, -6, 8, 0x7E, 0x7F)
E3M2 = Element("e3m2", 6, 2, -2, 4, 0x1F, 0x1F)
E2M3 = Element("e2m3", 6, 3, 0, 2, 0x1F, 0x1F)
E2M1 = Element("e2m1", 4, 1, 0, 2, 0x07, 0x07)
INT8 = Element("int8", 8, 6, 0, 0, 0x7F, 0x7F)
ELEMENTS = {
    "mxfp8_e5m2": E5M2, "mxfp8_e4m3": E4M3, "mxfp6_e3m2": E3M2, "mxfp6_e2m3": E2M3,
    "mxfp4_e2m1": E2M1, "mxint8": INT8, "nvfp4": E2M1,
}  # fmt: skip
FP8 = ("mxfp8_e5m2", "mxfp8_e4m3")
FLOAT_BLOCKS = (*FP8, "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4_e2m1")
MX = (*FLOAT_BLOCKS, "mxint8")
ALL = (*MX, "nvfp4")


# ---- the right stages: blocks --------------------------------------------------------------------


def binade(magnitudes: Array) -> Array:
    """floor(log2) of positive numbers; infinity counts as 2^128, and 0 as 2^-1100."""
    exponents = np.frexp(magnitudes)[1].astype(np.int64) - 1
    return np.where(np.isinf(magnitudes), 128, np.where(magnitudes == 0, -1100, exponents))


def amax(x: Array, f: Element) -> Array:
    return np.fmax.reduce(np.abs(x), axis=1, initial=0)


def scale(amax: Array, f: Element) -> Array:
    return np.clip(binade(amax) - f.emax, -127, 127)


def special_blocks(x: Array, amax: Array, exponents: Array, f: Element) -> tuple[Array, Array]:
    """Which blocks are NaN blocks, and which are written as zeros."""
    return ~np.isfinite(x).all(axis=1), np.zeros(len(x), bool)


def value(x: Array, exponents: Array, f: Element) -> Array:
    return np.ldexp(x, -exponents[:, np.newaxis])


def in_steps(q: Array, f: Element) -> tuple[Array, Array]:
    """Binades above the smallest normal one, and magnitudes in steps of their binade; NaN is 0."""
    magnitude = np.minimum(np.abs(np.nan_to_num(q, posinf=np.inf, neginf=-np.inf)), 2.0**40)
    above = np.zeros(q.shape, np.int64) if f.int8 else np.maximum(binade(magnitude) - f.emin, 0)
    return above, np.ldexp(magnitude, f.mantissa - f.emin - above)


def to_nearest(q: Array, f: Element) -> Array:
    """Codes of magnitudes, which may be larger than the largest."""
    above, steps = in_steps(q, f)
    return (above << f.mantissa) + np.rint(steps).astype(np.int64)


def overflow(codes: Array, negative: Array, f: Element) -> tuple[Array, Array]:
    return np.minimum(codes, f.largest), negative


def special_elements(q: Array, codes: Array, negative: Array, f: Element) -> tuple[Array, Array]:
    return np.where(np.isnan(q), f.nan, codes), negative & ~np.isnan(q)


def places(scales: Array, codes: Array, f: Element) -> tuple[Array, Array]:
    return scales, codes


# ---- the right stages: encode, NVFP4, tensors ----------------------------------------------------


def cast(x: Array, f: Element) -> Array:
    return x


def tensor_scale(given: Array) -> tuple[Array, Array]:
    """The scale of the tensor, as block scales and as elements see it."""
    return given, given


def block_scale(wanted: Array) -> Array:
    """UE4M3 codes of a / (6 T)."""
    return np.minimum(to_nearest(wanted, E4M3), E4M3.largest)


def axis(values: Array, down: bool) -> Array:
    """The tensor with its blocks along the rows."""
    return values.T if down else values


def scale_matrix(scales: Array, down: bool) -> Array:
    return scales.T if down else scales


def tail(x: Array) -> Array:
    """Rows filled up to whole blocks."""
    return np.pad(x, ((0, 0), (0, -x.shape[1] % 32)))


# ---- the right stages: decoding and products -----------------------------------------------------


def scale_decoded(scales: Array) -> Array:
    return np.where(scales == 255, np.nan, np.ldexp(1.0, scales.astype(np.int64) - 127))


def fields(codes: Array, f: Element) -> tuple[Array, Array, Array]:
    """Sign (1 or -1), exponent field and mantissa of codes of a float format."""
    codes = codes.astype(np.int64)
    low = codes & ((1 << f.bits - 1) - 1)
    mantissa = low & ((1 << f.mantissa) - 1)
    return 1.0 - 2 * (codes >> f.bits - 1), low >> f.mantissa, mantissa


def number(sign: Array, exponent: Array, mantissa: Array, f: Element) -> Array:
    whole = np.where(exponent == 0, mantissa, mantissa + (1 << f.mantissa)).astype(float)
    return sign * np.ldexp(whole, np.maximum(exponent, 1) - 1 + f.emin - f.mantissa)


def code_decoded(codes: Array, f: Element) -> Array:
    if f.int8:
        return codes.astype(np.uint8).view(np.int8) / 64
    numbers = number(*fields(codes, f), f)
    low = codes & 0x7F
    if f is E5M2:
        numbers = np.where(low == 0x7C, np.copysign(np.inf, numbers), numbers)
    return np.where((f.bits == 8) & (low > (0x7C if f is E5M2 else 0x7E)), np.nan, numbers)


def product(scales: Array, numbers: Array) -> Array:
    return scales[:, np.newaxis] * numbers


def lanes(x: Array) -> Array:
    return x


def output(x: Array, dtype: Any) -> Array:
    return x.astype(dtype)


def operand(scales: Array, second: bool) -> Array:
    """The scales of an operand, a row for each row of it."""
    return scales


def product_scale(a: Array, b: Array) -> Array:
    return np.multiply.outer(a, b)


def add(total: Array, term: Array, block: int, blocks: int) -> Array:
    return total + term


RIGHT: dict[str, Callable[..., Any]] = {
    "amax": amax, "scale": scale, "special_blocks": special_blocks, "value": value,
    "round": to_nearest, "overflow": overflow, "special_elements": special_elements,
    "places": places, "cast": cast,
    "tensor_scale": tensor_scale, "block_scale": block_scale, "axis": axis, "tail": tail,
    "scale_matrix": scale_matrix, "scale_decoded": scale_decoded, "code_decoded": code_decoded,
    "product": product, "lanes": lanes, "output": output, "operand": operand,
    "product_scale": product_scale, "sum": add,
}  # fmt: skip


# ---- the chain -----------------------------------------------------------------------------------


def codes_of(s: Any, q: Array, f: Element) -> Array:
    """Codes of numbers that are divided by their scales."""
    codes, negative = s.overflow(s.round(q, f), np.signbit(q), f)
    codes, negative = s.special_elements(q, codes, negative, f)
    if f.int8:
        return np.where(negative, -codes, codes) & 255
    return codes | negative.astype(np.int64) << f.bits - 1


def mx_blocks(s: Any, x: Array, f: Element) -> tuple[Array, Array]:
    """Scale codes and codes of E8M0 blocks, one a row."""
    largest = s.amax(x, f)
    exponents = s.scale(largest, f)
    nan, zero = s.special_blocks(x, largest, exponents, f)
    codes = codes_of(s, s.value(x, exponents, f), f)
    codes = np.where((nan | zero)[:, np.newaxis], 0, codes)
    scales = np.where(nan, 255, np.where(zero, 0, exponents + 127))
    scales, codes = s.places(scales, codes, f)
    return scales.astype(np.uint8), codes.astype(np.uint8)


def nv_blocks(s: Any, x: Array, f: Element, given: Any) -> tuple[Array, Array]:
    """Scale codes and codes of NVFP4 blocks, one a row, under a scale of the tensor."""
    tensor = np.broadcast_to(np.asarray(given, np.float64).ravel(), len(x))
    for_blocks, for_elements = s.tensor_scale(tensor)
    nan = ~np.isfinite(x).all(axis=1)
    scales = s.block_scale(np.where(nan, 0, s.amax(x, f) / (6 * for_blocks)))
    divisor = (code_decoded(scales, E4M3) * for_elements)[:, np.newaxis]
    q = np.where(divisor == 0, np.copysign(0, x), x / np.where(divisor == 0, 1, divisor))
    codes = np.where(nan[:, np.newaxis], 0, codes_of(s, q, f))
    scales, codes = s.places(np.where(nan, 0x7F, scales), codes, f)
    return scales.astype(np.uint8), codes.astype(np.uint8)
