"""Class I: int4 packing, RESCALE and grid sampling gone wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.integer.sampler import grid_sample
from mxref.mutants.mutant import Function, Mutant, Mutants, wrong

__all__ = ["INTEGER_OPERATIONS"]

Array = NDArray[Any]
_BYTES = ("bytes",)
#: Coordinates are counted in this many parts of a pixel.
_ONE = 2 * 32767
_RESCALED = (
    "int8-int8", "int8-uint8", "int16-int8", "int32-int8", "int32-int16", "int8-int32",
    "int32-int32", "int8-int8_m16", "uint8-int8", "uint8-int16",
)  # fmt: skip
_BITS32 = tuple(name for name in _RESCALED if not name.endswith("_m16"))


def _packer(
    *, offset: int = 8, pad: int = 0, swapped: bool = False, flat: bool = False
) -> Function:
    def run(w: Array) -> Array:
        codes = w.astype(np.int64)
        rows, k = codes.shape
        size = -(-k // 2)
        if flat:  # rows are packed as one
            codes = np.pad(codes.reshape(1, -1), ((0, 0), (0, 2 * rows * size - rows * k)))
        else:
            codes = np.pad(codes, ((0, 0), (0, k % 2)), constant_values=pad)
        high, low = (codes[:, i::2] + offset & 15 for i in ((1, 0) if swapped else (0, 1)))
        found: Array = (high << 4 | low).astype(np.uint8).reshape(rows, size)
        return found

    return run


def _unpacker(*, offset: int = 8, swapped: bool = False, signed: bool = False) -> Function:
    def run(packed: Array, k: int) -> Array:
        both = [packed.astype(np.int64) >> 4, packed.astype(np.int64) & 15]
        codes = np.stack(both[::-1] if swapped else both, -1).reshape(len(packed), -1)[:, :k]
        codes = (codes ^ 8) - 8 if signed else codes - offset
        return codes.astype(np.int8)

    return run


def _rescaler(
    *,
    up: bool = True,
    always: int = 0,
    double: bool = False,
    shift: int = 0,
    inside: bool = False,
    product: Any = np.int64,
    even: bool = False,
    clamped: bool = True,
    ignore: bool = False,
) -> Function:
    """A `rescale` that is right except for what is given."""

    def run(q: Array, m: Array, s: Array, zin: int, zout: int, dtype: Any, bits: int) -> Array:
        with np.errstate(all="ignore"):
            v = q.astype(np.int64) - (0 if ignore else zin)
            m, s = m.astype(np.int64), s.astype(np.int64) + shift
            total = (v.astype(product) * m.astype(product)).astype(np.int64)
            half = np.int64(1) << s - 1
            if even:
                whole, rest = total >> s, total & (half << 1) - 1
                found = whole + ((rest > half) | ((rest == half) & (whole & 1 == 1)))
            else:
                more = np.where(v < 0, -1, 1) << 30 if double else always
                total = total + (half if up else 0) + np.where(s > 31, more, 0)
                found = total + (np.int64(zout) << s if inside else 0) >> s
            found = found + (0 if inside else zout)
            info = np.iinfo(dtype)
            ended: Array = np.clip(found, info.min, info.max) if clamped else found
            return ended.astype(dtype)

    return run


def _next_channel(
    q: Array, m: Array, s: Array, zin: int, zout: int, dtype: Any, bits: int
) -> Array:
    found: Array = _rescaler()(q, np.roll(m, -1), np.roll(s, -1), zin, zout, dtype, bits)
    return found


def _zero_point_first(
    q: Array, m: Array, s: Array, zin: int, zout: int, dtype: Any, bits: int
) -> Array:
    """The output's zero point added before the multiplication."""
    found: Array = _rescaler()(q.astype(np.int64) + zout, m, s, zin, 0, dtype, bits)
    return found


def _sampled(image: Array, grid: Array, align: Any, padding: Any, zero: int) -> Array:
    return grid_sample(image, grid, align_corners=bool(align), padding=padding, zero_point=zero)


def _sampler(
    *,
    half: bool = True,
    wraps: bool = False,
    tie: Callable[[Array, int], Any] = lambda whole, zero: whole & 1,
) -> Function:
    """A `grid_sample`, right except for what is given; `tie` says whether a tie is rounded up."""

    def run(image: Array, grid: Array, align: Any, padding: str, zero: int) -> Array:
        total, places = np.zeros((len(image), *grid.shape[:2]), np.int64), []
        for axis, size in ((0, image.shape[2]), (1, image.shape[1])):
            g = grid[..., axis].astype(np.int64) + 32767
            place = g * (size - 1) if align else g * size - 32767 * half
            places.append(np.clip(place, 0, (size - 1) * _ONE) if padding == "border" else place)
        (x, right), (y, below) = (np.divmod(place, _ONE) for place in places)
        for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)):
            row, column = y + i, x + j
            inside = (row >= 0) & (row < image.shape[1]) & (column >= 0)
            inside &= column < image.shape[2]
            pixel = image[:, row % image.shape[1], column % image.shape[2]].astype(np.int64)
            weight = (below if i else _ONE - below) * (right if j else _ONE - right)
            total += weight * (pixel if wraps else np.where(inside, pixel, zero))
        whole, rest = np.divmod(total, _ONE**2)
        up = (2 * rest > _ONE**2) | ((2 * rest == _ONE**2) & (tie(whole, zero) == 1))
        found: Array = (whole + up).astype(image.dtype)
        return found

    return run


def _packs(run: Function) -> Mutant:
    return wrong(run, op="pack_int4", formats=("int4",), floats=_BYTES, model="M19")


def _unpacks(run: Function) -> Mutant:
    return wrong(run, op="unpack_int4", formats=("int4",), floats=_BYTES, model="M19")


def _product(
    *,
    tie: Callable[[Array], Array] = np.rint,
    wide: bool = False,
    zero_first: bool = False,
    saturates: bool = False,
    raw: bool = False,
    divided: bool = False,
    one_scale: bool = False,
    b_zero_left: bool = False,
    ends: str = "",
) -> Function:
    """A `qlinear_matmul` with a mistake."""

    def run(
        a: Array, sa: float, za: int, b: Array, sb: Array, zb: Array, sy: float, zy: int
    ) -> Array:
        x, w = a.astype(np.int64) - za, b.astype(np.int64) - (0 if b_zero_left else zb)
        sums = x @ w
        if saturates:  # pairs of products in 16 bits, as `vpmaddubsw` adds them
            first, second = (a.astype(np.int64), b.astype(np.int64)) if raw else (x, w)
            pairs = [first[:, i : i + 2] @ second[i : i + 2] for i in range(0, x.shape[1], 2)]
            sums = sums + np.sum([np.clip(one, -32768, 32767) - one for one in pairs], axis=0)
        kind = np.dtype(np.float64 if wide else np.float32)
        columns = sb[:1] if one_scale else sb
        one, two, three = (np.asarray(scale, kind) for scale in (sa, columns, sy))
        factor = one * (two / three) if divided else one * two / three
        y: Array = sums.astype(kind) * factor
        y = tie(y + np.asarray(zy, kind)) if zero_first else tie(y) + zy
        info = np.iinfo(ends or a.dtype)
        found: Array = np.clip(y, info.min, info.max).astype(np.int64).astype(a.dtype)
        return found

    return run


def _multiplies(run: Function, formats: tuple[str, ...] = ("int8", "uint8")) -> Mutant:
    return wrong(run, op="qlinear_matmul", formats=formats, floats=_BYTES, model="M24")


def _rescales(run: Function, formats: tuple[str, ...] = _RESCALED) -> Mutant:
    return wrong(run, op="rescale", formats=formats, floats=_BYTES, model="M20")


def _samples(run: Function) -> Mutant:
    return wrong(run, op="grid_sample", formats=("int8", "uint8"), floats=_BYTES, model="M21")


INTEGER_OPERATIONS: Mutants = {
    "I10 nibbles_swapped: packs the first code into the low nibble": _packs(_packer(swapped=True)),
    "I10b twos_complement_nibbles: packs two's complement": _packs(_packer(offset=0)),
    "I10c pad_byte_zero: pads an odd row with the stored value 0": _packs(_packer(pad=-8)),
    "I10d rows_joined: packs rows as one": _packs(_packer(flat=True)),
    "I11 nibbles_read_swapped: reads the low nibble first": _unpacks(_unpacker(swapped=True)),
    "I11b minus_8_forgotten: reads codes without the -8": _unpacks(_unpacker(offset=0)),
    "I11c twos_complement_read: reads nibbles as two's complement": _unpacks(
        _unpacker(signed=True)
    ),
    "I12 two_to_30_without_sign: adds 2**30 whatever the sign": _rescales(
        _rescaler(always=1 << 30), _BITS32
    ),
    "I12b shift_off_by_one: shifts by one bit too many": _rescales(_rescaler(shift=1)),
    "I12c zero_point_before_the_shift: adds the output's zero point first": _rescales(
        _zero_point_first, ("int8-int8", "int8-uint8", "int8-int8_m16")
    ),
    "I12d int32_product: multiplies in 32 bits": _rescales(_rescaler(product=np.int32), _BITS32),
    "I12e double_for_single: adds 2**30 by the sign where the rounding is single": _rescales(
        _rescaler(double=True), _BITS32
    ),
    "I13 rescale_truncated: shifts without a rounding": _rescales(_rescaler(up=False)),
    "I13b rescale_to_even: rounds a tie to even": _rescales(_rescaler(even=True)),
    "I13c rescale_wrapped: wraps where it should saturate": _rescales(
        _rescaler(clamped=False),
        ("int8-int8", "int8-uint8", "int16-int8", "int32-int8", "int32-int16", "int8-int8_m16"),
    ),
    "I13d input_zero_point_ignored: leaves the input's zero point out": _rescales(
        _rescaler(ignore=True), ("int8-int8", "int8-uint8", "int8-int8_m16")
    ),
    "I13e unsigned_read_as_signed: reads uint8 as int8": _rescales(
        lambda q, *rest: _rescaler()(q.view(np.int8), *rest), ("uint8-int8", "uint8-int16")
    ),
    "I14 multiplier_of_next_channel: takes the multiplier of the next channel": _rescales(
        _next_channel
    ),
    "I15 align_corners_swapped: takes the other align_corners": _samples(
        lambda q, g, align, padding, zero: _sampled(q, g, not align, padding, zero)
    ),
    "I15b x_and_y_swapped: takes x for y": _samples(
        lambda q, g, *rest: _sampled(q, np.ascontiguousarray(g[..., ::-1]), *rest)
    ),
    "I15c half_pixel_lost: does not take half a pixel off": _samples(_sampler(half=False)),
    "I16 border_for_zeros: repeats the border": _samples(
        lambda q, g, align, padding, zero: _sampled(q, g, align, "border", zero)
    ),
    "I16b tap_wrapped: wraps taps outside of the image": _samples(_sampler(wraps=True)),
    "I16c zero_for_zero_point: takes 0 for what is outside": _samples(
        lambda q, g, align, padding, zero: _sampled(q, g, align, padding, 0)
    ),
    "I17 sample_half_up: rounds a tie up": _samples(_sampler(tie=lambda whole, zero: 1)),
    "I17b sample_half_down: rounds a tie down": _samples(_sampler(tie=lambda whole, zero: 0)),
    "I17c sample_even_steps: rounds a tie to an even number of steps from the zero point": _samples(
        _sampler(tie=lambda whole, zero: whole - zero & 1)
    ),
    "I17d sample_half_away: rounds a tie away from the zero point": _samples(
        _sampler(tie=lambda whole, zero: whole >= zero)
    ),
    "I17e sample_half_toward: rounds a tie toward the zero point": _samples(
        _sampler(tie=lambda whole, zero: whole < zero)
    ),
    "I22 product_tie_up: rounds a tie up": _multiplies(_product(tie=lambda y: np.floor(y + 0.5))),
    "I22b product_tie_away: rounds a tie away from zero": _multiplies(
        _product(tie=lambda y: np.copysign(np.floor(np.abs(y) + 0.5), y))
    ),
    "I22c product_truncated: cuts the quotient off": _multiplies(_product(tie=np.trunc)),
    "I22d zero_point_before_quotient_is_rounded: adds the zero point before it rounds": _multiplies(
        _product(zero_first=True)
    ),
    "I23 product_in_float64: multiplies in float64": _multiplies(_product(wide=True)),
    "I23b scales_divided_first: divides the scale of b before it multiplies": _multiplies(
        _product(divided=True)
    ),
    "I23c scale_of_first_column: takes the scale of the first column for all": _multiplies(
        _product(one_scale=True)
    ),
    "I24 zero_point_of_b_ignored: leaves the zero points of b out": _multiplies(
        _product(b_zero_left=True)
    ),
    "I24b pairs_saturated: saturates sums of two products at 16 bits": _multiplies(
        _product(saturates=True)
    ),
    "I24c signed_ends: saturates at the ends of int8": _multiplies(
        _product(ends="int8"), ("uint8",)
    ),
    "I24d raw_pairs_saturated: saturates sums of two products of codes at 16 bits, and takes zero "
    "points off afterwards": _multiplies(_product(saturates=True, raw=True), ("uint8",)),
}
