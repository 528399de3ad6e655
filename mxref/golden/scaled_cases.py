"""Cases of blocks whose scale is a small float: NVFP4 with and without the scale of its tensor."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from mxref.bits.floats import F32, LAYOUTS, FloatLayout
from mxref.cases.grid import pattern
from mxref.cases.records import VectorFile
from mxref.formats.catalog import E2M1, UE4M3
from mxref.golden.case_inputs import CaseInput
from mxref.golden.four_over_six_blocks import four_over_six_blocks
from mxref.golden.lane_blocks import special_in_lane
from mxref.golden.layout_cases import file_of
from mxref.golden.rounding_blocks import far_below, sticky_bits

__all__ = ["scaled_tasks"]

#: Arithmetics that differ from `exact` without a tensor scale, and those that are asked with one.
_FOUR_OVER_SIX = ("transformer_engine_4over6", "transformer_engine_4over6_mse")
_ARITHMETICS = ("torchao", "transformer_engine", "cublas", "compressed_tensors", *_FOUR_OVER_SIX)
_COLUMNS = ("ocp", *(f"ocp+scale_arithmetic={name}" for name in _ARITHMETICS))
_WITH_TENSOR = (*_COLUMNS[:2], *_COLUMNS[-2:])
#: Tensor scales: 1, 3, 1/3, 1/448, and one near each end of float32.
_TENSOR_SCALES = (0x3F800000, 0x40400000, 0x3EAAAAAB, 0x3B124925, 0x0D800001, 0x6F7FFFFF)
#: The two of these under which midpoints of block scales are exact: they have few bits.
_FEW_BITS = _TENSOR_SCALES[:2]
#: Tensor scales at the ends of float32, the first of them subnormal, and the neighbour of 3, with
#: block scales under which midpoints of elements are asked, and codes behind which those of scales.
_FURTHER = {
    0x00000003: ((0x60, 0x67), (0x50, 0x57, 0x7D)),
    0x00800000: ((0x03, 0x3F), (0x00, 0x07, 0x38)),
    0x7F7FFFFF: ((0x10, 0x1F), (0x00, 0x07, 0x10)),
    0x40400001: ((0x38, 0x3D), (0x07, 0x38, 0x7D)),
}
#: The one of these under which every lane is tried.
_LANES_UNDER = 0x40400000
#: Largest magnitudes of tensors for 4 over 6: 6 * 256 * n * 2**e, with n and e.
_AMAXES = {0x44C00000: (1, 0), 0x40900000: (3, -10)}
#: Midpoints of E2M1 in quarters.
_TIES = (1, 3, 5, 7, 10, 14, 20)
_SIZE = 16

Block = tuple[str, list[int], tuple[str, ...]]


def scaled_tasks() -> Iterator[Callable[[], VectorFile]]:
    """Makers of the files of NVFP4 blocks, to be quantized and dequantized."""
    for name in ("f32", "bf16"):
        layout = LAYOUTS[name]
        entries = [CaseInput(n, tuple(w), _model(n), flags) for n, w, flags in _blocks(layout)]
        digits = (layout.width // 4, 2)
        yield partial(file_of, "quantize", "fp4_ue4m3", name, _COLUMNS, digits, entries, "N41")
    codes = tuple(range(E2M1.code_count))
    entries = [
        CaseInput(f"{scale:02x}", (scale, *codes), "M10", _scale_flags(scale))
        for scale in range(UE4M3.code_count)
    ]
    yield partial(file_of, "dequantize", "fp4_ue4m3", "f32", ("ocp",), (2, 8), entries, "N41")
    entries = [
        CaseInput(f"{tensor:08x}_{n}", (tensor, *words), _model(n), flags)
        for tensor in _TENSOR_SCALES
        for n, words, flags in _under(tensor)
    ]
    entries += [
        CaseInput(f"{tensor:08x}_{n}", (tensor, *words), _model(n), flags)
        for tensor, (scales, _) in _FURTHER.items()
        for n, words, flags in _ties_under(tensor, scales)
    ]
    entries += [
        CaseInput(f"{tensor:08x}_{n}", (tensor, *words), _model(n), flags)
        for tensor in (*_TENSOR_SCALES, *_FURTHER)
        for n, words, flags in _scale_ties(tensor)
    ]
    entries += [
        CaseInput(f"{tensor:08x}_{n}", (tensor, *words), "M9", ("near_tie",), "N45")
        for tensor, unit in _AMAXES.items()
        for n, words in _choices(*unit)
    ]
    yield partial(file_of, "quantize", "nvfp4", "f32", _WITH_TENSOR, (8, 2), entries, "N41")
    entries = [
        CaseInput(f"{tensor:08x}_{scale:02x}", (tensor, scale, *codes), "M10", _scale_flags(scale))
        for tensor in (*_TENSOR_SCALES, *_FURTHER)
        for scale in (0x00, 0x01, 0x07, 0x08, 0x38, 0x3B, 0x45, 0x7E, 0x7F)
    ]
    yield partial(file_of, "dequantize", "nvfp4", "f32", _WITH_TENSOR, (8, 8), entries, "N41")


def _model(name: str) -> str:
    if name.startswith("lane_"):
        return "M17"
    return "M16" if re.match("(.*_)?ties_under|sticky|far_[0-9]", name) else "M9"


def _scale_flags(scale: int) -> tuple[str, ...]:
    if UE4M3.is_nan(scale):
        return ("nan",)
    return ("scale_subnormal",) if scale < 1 << UE4M3.mantissa_bits else ()


def _scale(code: int) -> tuple[int, int]:
    """A scale as n * 2**exponent; codes past the largest continue its spacing."""
    return UE4M3.magnitude_parts(code)


def _blocks(layout: FloatLayout) -> Iterator[Block]:
    yield from _specials(layout)
    codes = range(UE4M3.max_code + 1)
    near = [*range(9), 0x37, 0x38, 0x39, 0x7D, 0x7E]  # subnormals, around 1, the largest
    for code in codes if layout == F32 else near:
        (n, e), (m, f) = _scale(code), _scale(code + 1)
        unit = min(e, f)
        middle = 3 * ((n << e - unit) + (m << f - unit))  # 6 times the midpoint
        flags = ("tie", *_scale_flags(code))
        yield f"scale_tie_{code:02x}", _ramp(middle, unit, layout), flags
        if code in near and layout == F32:
            for side, step in (("below", -1), ("above", 1)):
                block = _ramp(middle, unit, layout)
                block[0] += step
                yield f"scale_{side}_tie_{code:02x}", block, ("near_tie", *_scale_flags(code))
    for code in (0x01, 0x03, 0x06, *range(0x38, 0x40)):
        for side, step in (("at", 0), ("below", -1), ("above", 1)):
            block = _element_ties(code, step, layout)
            flags = ("near_tie" if step else "tie", *_scale_flags(code))
            yield f"{side}_ties_under_{code:02x}", block, flags
    yield from _under_one(layout)
    if layout == F32:
        for name, block in _choices(1, 0):
            yield name, block, ("near_tie",)
    yield from _infinite(None, layout)
    yield from _lanes(None, layout)


def _infinite(tensor: int | None, layout: FloatLayout) -> Iterator[Block]:
    """Infinities beside numbers, midpoints and their neighbours under the largest scale."""
    inf, minus = layout.inf_bits, layout.inf_bits | layout.sign_bit
    n, exponent = _scale(UE4M3.max_code)
    for phase, (name, lanes) in enumerate(
        (
            ("first", {0: inf}),
            ("last", {_SIZE - 1: minus}),
            ("several", {3: minus, 8: inf, 14: minus}),
            ("alone", dict.fromkeys(range(_SIZE), inf)),
        )
    ):
        ties = [_product(n * tie, exponent - 2, tensor, layout) for tie in (*_TIES, 2, 8, 12)]
        near = [tie + step for tie in ties for step in (0, -1, 1)][phase % 2 :: 2]
        signed = [bits | layout.sign_bit * ((i + phase) % 2) for i, bits in enumerate(near)]
        signed += [pattern(1, layout.bias, layout), layout.sign_bit]
        block = [lanes.get(lane, signed[lane]) for lane in range(_SIZE)]
        yield f"inf_7e_{name}", block, ("inf",)


def _choices(n: int, exponent: int) -> Iterator[tuple[str, list[int]]]:
    """Blocks for 4 over 6 in units of n * 2**exponent."""
    return four_over_six_blocks(
        lambda eighths: pattern(eighths * n, exponent - 3, F32), F32.sign_bit
    )


def _under_one(layout: FloatLayout) -> Iterator[Block]:
    """The walking sticky bit and elements far below, under the scale 1."""
    for name, points in (
        ("sticky", sticky_bits(E2M1, layout)),
        ("far", far_below(E2M1, layout)[::4]),
    ):
        for index, start in enumerate(range(0, len(points), _SIZE - 1)):
            some = [*points[start : start + _SIZE - 1], *[0] * _SIZE][: _SIZE - 1]
            signed = [bits | layout.sign_bit * ((i + index) % 2) for i, bits in enumerate(some)]
            yield f"{name}_{index:02}", [*signed, pattern(6, 0, layout)], ()


def _lanes(tensor: int | None, layout: FloatLayout) -> Iterator[Block]:
    """One special and one largest element in each lane, beside ties and near ties."""
    inf, sign = layout.inf_bits, layout.sign_bit
    for lane in range(_SIZE):
        for index, (name, special) in enumerate(
            (
                ("nan", layout.nan_bits | sign * (lane % 2)),
                ("inf", inf),
                ("negative_inf", inf | sign),
            )
        ):
            block = special_in_lane(lane, special, _SIZE, layout)
            yield f"lane_{lane:02}_{name}", block, ("nan" if name == "nan" else "inf",)
            if index < 2:
                block = _largest(2 * lane + index, tensor, layout)
                yield f"lane_{lane:02}_{('plus', 'minus')[index]}", block, ("position", "near_tie")


def _largest(index: int, tensor: int | None, layout: FloatLayout) -> list[int]:
    """A largest element in the lane index / 2; the others are midpoints and their neighbours."""
    lane, negative = divmod(index, 2)
    n, exponent = _scale(0x30 + index % 16)
    block = []
    for i in range(_SIZE):
        step, tie = divmod(i + index, len(_TIES))
        bits = _product(n * _TIES[tie], exponent - 2, tensor, layout) + step % 3 - 1
        block.append(bits | layout.sign_bit * ((i + index // 16) % 2))
    block[lane] = _product(6 * n, exponent, tensor, layout) | layout.sign_bit * negative
    return block


def _product(n: int, exponent: int, tensor: int | None, layout: FloatLayout) -> int:
    """The pattern of n * 2**exponent, times the scale of a tensor if there is one."""
    if tensor is None:
        return pattern(n, exponent, layout)
    return _nearest(*_exact_product(n, exponent, tensor))


def _exact_product(n: int, exponent: int, tensor: int) -> tuple[int, int]:
    """The significand and exponent of n * 2**exponent times the scale of a tensor."""
    field, fraction = divmod(tensor, 1 << F32.mantissa_bits)
    significand = fraction | (field > 0) << F32.mantissa_bits
    return n * significand, exponent + max(field, 1) - 150


def _ramp(n: int, exponent: int, layout: FloatLayout) -> list[int]:
    """A block of this largest magnitude and fifteen smaller numbers."""
    small = n & -n
    top = pattern(n, exponent, layout)
    rest = [((-1) ** i * small * (3 - i % 2 * 2), exponent - i // 2 - 2) for i in range(15)]
    return [top, *(pattern(m, e, layout) for m, e in rest)]


def _element_ties(code: int, step: int, layout: FloatLayout) -> list[int]:
    """The largest element and every midpoint of E2M1 under a scale, both signs."""
    n, exponent = _scale(code)
    ties = [pattern(n * tie, exponent - 2, layout) + step for tie in _TIES]
    negative = [bits | layout.sign_bit for bits in ties]
    return [pattern(6 * n, exponent, layout), *ties, *negative, layout.sign_bit]


def _specials(layout: FloatLayout) -> Iterator[Block]:
    sign, inf, nan = layout.sign_bit, layout.inf_bits, layout.nan_bits
    ramp = _element_ties(0x38, 0, layout)
    yield "zeros", [0] * _SIZE, ("zero",)
    yield "negative_zeros", [sign] * _SIZE, ("zero", "negative_zero")
    for place in (0, 15):
        for name, bits in (("nan", nan), ("inf", inf), ("negative_inf", inf | sign)):
            block = list(ramp)
            block[place] = bits
            yield f"{name}_{place:02}", block, ("nan" if bits == nan else "inf",)
    for name, exponent in (("far_below", -40), ("far_above", 60), ("largest_binade", layout.bias)):
        yield name, [pattern((-1) ** i * (16 - i), exponent - 4, layout) for i in range(_SIZE)], ()
    yield "subnormal_floats", [i | sign * (i % 2) for i in range(_SIZE)], ("source_subnormal",)


def _under(tensor: int) -> Iterator[Block]:
    """Blocks of near ties of elements under the scales 1 to 15/8 times a tensor scale."""
    yield from _ties_under(tensor, (0x03, *range(0x38, 0x40)))
    yield "zeros", [0] * _SIZE, ("zero",)
    yield "far_below", [pattern(1, -140, F32)] * _SIZE, ("source_subnormal",)
    yield "far_above", [pattern(1, 120, F32)] * _SIZE, ()
    yield "nan", [F32.nan_bits, *[pattern(1, 0, F32)] * 15], ("nan",)
    if tensor == _TENSOR_SCALES[0]:
        yield from _under_one(F32)
        # The scale is at its largest, and quotients lie beyond the largest element.
        beyond = pattern(15 * 448, -1, F32)
        yield "beyond", [beyond, beyond | F32.sign_bit] * (_SIZE // 2), ()
        negative_zeros = [F32.sign_bit, 0] * (_SIZE // 2 - 1)
        yield "mixed_zeros", [pattern(6, 0, F32), *negative_zeros, F32.sign_bit], ()
    if tensor == _LANES_UNDER:
        yield from _infinite(tensor, F32)
        yield from _lanes(tensor, F32)


def _ties_under(tensor: int, codes: Iterable[int]) -> Iterator[Block]:
    """Midpoints of elements and their neighbours under scales times a tensor scale."""
    for code in codes:
        n, e = _scale(code)
        top = _product(6 * n, e, tensor, F32)
        # A zero is no number in torchao's arithmetic if 1 / T is infinite.
        last = top if tensor in _FURTHER else 0
        for name, step in (("", 0), ("above_", 1), ("below_", -1)):
            words = [_product(n * tie, e - 2, tensor, F32) + step for tie in (*_TIES, *_TIES)]
            signed = [word | F32.sign_bit * (i > 6) for i, word in enumerate(words)]
            flags = ("near_tie" if step else "tie", *_scale_flags(code))
            yield f"{name}ties_under_{code:02x}", [top, *signed, last], flags


def _scale_ties(tensor: int) -> Iterator[Block]:
    """Largest magnitudes at and beside midpoints of scales times a tensor scale."""
    some = (0x01, 0x07, 0x38, 0x7D)
    if tensor in _FEW_BITS:
        some = (*range(9), 0x37, 0x38, 0x39, 0x7D, 0x7E)
    for code in _FURTHER[tensor][1] if tensor in _FURTHER else some:
        (n, e), (m, f) = _scale(code), _scale(code + 1)
        unit = min(e, f)
        middle = 3 * ((n << e - unit) + (m << f - unit))  # 6 times the midpoint
        top, small = _product(middle, unit, tensor, F32), middle & -middle
        rest = [
            _product(small * (3 - i % 2 * 2), unit - i // 2 - 2, tensor, F32) or 1
            for i in range(15)
        ]
        signed = [word | F32.sign_bit * (i % 2) for i, word in enumerate(rest)]
        over = _over(*_exact_product(middle, unit, tensor))
        is_exact = _exact_product(middle, unit, tensor)[0] % (1 << over) == 0
        for side, step in (("at", 0), ("below", -1), ("above", 1)):
            flags = ("tie" if is_exact and not step else "near_tie", *_scale_flags(code))
            yield f"{side}_scale_tie_{code:02x}", [top + step, *signed], flags


def _over(n: int, exponent: int) -> int:
    """How many low bits of n * 2**exponent are beyond float32."""
    return max(n.bit_length() - 24, -149 - exponent, 0)


def _nearest(n: int, exponent: int) -> int:
    """The float32 pattern of n * 2**exponent, toward zero."""
    over = _over(n, exponent)
    return pattern(n >> over, exponent + over, F32)
