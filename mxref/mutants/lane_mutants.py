"""Class L: one lane of a block, or a group of lanes, goes wrong."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import U8, Bool, Floats, Parts, bits_of, floats_from
from mxref.formats.scale_kinds import has_power_scales
from mxref.mutants import block_mutants, nvfp4_mutants
from mxref.mutants.decoder import dequantizer
from mxref.mutants.mutant import BLOCKS, DEQUANTIZED, Function, Mutant, Mutants, wrong
from mxref.mutants.quotients import Quantized, quantized
from mxref.numbers.element import encode

__all__ = ["LANES", "exchanged"]

Values = NDArray[Any]
Pair = tuple[U8, U8]
Lanes = int | list[int] | slice
#: The float types that have vectors for every lane.
FLOATS = ("f32", "bf16")
#: The formats whose blocks have 16 lanes.
SIXTEEN = ("fp4_ue4m3", "fp4_e8m0")


def _amax_without(unseen: Callable[[Parts], Bool], lanes: Lanes) -> Function:
    """A `quantize` whose amax leaves out some numbers in some lanes."""

    def amax(magnitudes: NDArray[Any], parts: Parts) -> NDArray[Any]:
        seen = magnitudes.copy()
        seen[:, lanes] *= ~unseen(parts)[:, lanes]
        return block_mutants.largest(seen, parts)

    mx, nvfp4 = block_mutants.quantizer(amax=amax), nvfp4_mutants.quantizer(amax=amax)
    return lambda values, format: (mx if has_power_scales(format) else nvfp4)(values, format)


def _with_lane(lane: int, codes: Callable[[Quantized, int], U8]) -> Function:
    """A `quantize` whose codes in one lane are replaced."""

    def run(values: Values, format: str) -> Pair:
        right = quantized(values, format)
        found = right.codes.copy()
        found[:, lane] = codes(right, lane)
        return right.scales[:, 0], found

    return run


def _truncated(right: Quantized, lane: int) -> U8:
    return encode(right.quotients[:, lane], right.element, rounding="toward_zero")


def _neighbour(right: Quantized, lane: int) -> U8:
    return right.codes[:, lane ^ 1]


def _magnitude(right: Quantized, lane: int) -> Any:
    bits, layout = bits_of(right.quotients[:, lane])
    magnitudes: Floats = floats_from(bits & layout.uint.type(layout.sign_bit - 1), layout)
    return encode(magnitudes, right.element)


def _any(parts: Parts) -> Bool:
    return np.ones(parts.negative.shape, bool)


def _negative(parts: Parts) -> Bool:
    return parts.negative & ~parts.is_nan


#: Faults of a lane: number of the class, name, text, and the function that makes the mutant.
_FAULTS: tuple[tuple[int, str, str, Callable[[int], Function]], ...] = (
    (
        1,
        "nan_ignored",
        "does not see a NaN in lane {}",
        partial(_amax_without, lambda parts: parts.is_nan),
    ),
    (
        2,
        "infinity_ignored",
        "does not see an infinity in lane {}",
        partial(_amax_without, lambda parts: parts.is_inf),
    ),
    (
        3,
        "abs_missing",
        "compares lane {} with its sign: a negative number in it does not count",
        partial(_amax_without, _negative),
    ),
    (4, "ignored", "sees nothing in lane {}", partial(_amax_without, _any)),
    (5, "truncated", "cuts the low bits off in lane {}", partial(_with_lane, codes=_truncated)),
    (
        6,
        "takes_neighbour",
        "takes the code of its pair in lane {}",
        partial(_with_lane, codes=_neighbour),
    ),
    (7, "sign_lost", "loses the sign in lane {}", partial(_with_lane, codes=_magnitude)),
)


def exchanged(order: list[int]) -> Function:
    """A `quantize` or `dequantize` with permuted lanes: lane i gets what belongs to order[i]."""

    def run(first: Values, second: Any, *more: Any) -> Any:
        if not more:
            right = quantized(first, second)
            return right.scales[:, 0], right.codes[:, order]
        return dequantizer()(first, second[:, order], *more)

    return run


_quantizes = partial(wrong, op="quantize", floats=FLOATS, model="M17")
_dequantizes = partial(wrong, op="dequantize", formats=BLOCKS, floats=DEQUANTIZED, model="M10")


def _in(lanes: range) -> tuple[str, ...]:
    """The block formats that have these lanes."""
    return (*BLOCKS, *SIXTEEN) if max(lanes) < 16 else BLOCKS


def _each_lane() -> Mutants:
    return {
        f"L{number}.{lane:02} {name}_in_lane_{lane:02}: {text.format(lane)}": _quantizes(
            fault(lane), formats=_in(range(lane + 1))
        )
        for number, name, text, fault in _FAULTS
        for lane in range(32)
    }


def _bit(bit: int) -> list[int]:
    """The lanes in whose number a bit is set."""
    return [lane for lane in range(32) if lane >> bit & 1]


#: Groups of lanes that reductions by halves, by pairs and by words of four lanes may lose.
_GROUPS: dict[str, tuple[str, Lanes]] = {
    "a lanes_3_to_6_and_8_to_11": ("lanes 3 to 6 and 8 to 11", [*range(3, 7), *range(8, 12)]),
    "b odd_lanes": ("the odd lanes", _bit(0)),
    "c even_lanes": ("the even lanes", slice(0, None, 2)),
    "d lanes_with_bit_1": ("the lanes that have bit 1 in their number", _bit(1)),
    "e lanes_with_bit_2": ("the lanes that have bit 2 in their number", _bit(2)),
    "f lanes_with_bit_3": ("the lanes that have bit 3 in their number", _bit(3)),
    "g lower_half": ("the first sixteen lanes", slice(0, 16)),
    "h upper_half": ("the last sixteen lanes", slice(16, None)),
}


def _each_group() -> Mutants:
    found: dict[str, Mutant] = {}
    for key, (words, lanes) in _GROUPS.items():
        letter, name = key.split()
        ignored = _quantizes(_amax_without(_any, lanes), formats=BLOCKS)
        found[f"L8{letter} {name}_ignored: does not see {words}"] = ignored
        signed = _quantizes(_amax_without(_negative, lanes), formats=BLOCKS)
        found[
            f"L9{letter} {name}_signed: compares {words} with their signs: a negative number "
            "in them does not count"
        ] = signed
    return found


def _each_order() -> Mutants:
    orders = {f"by_{step}": [lane ^ step for lane in range(32)] for step in (1, 2, 4, 8, 16)}
    orders["reversed"] = [31 - lane for lane in range(32)]
    found: dict[str, Mutant] = {}
    for letter, (name, order) in zip("abcdef", orders.items(), strict=True):
        words = f"exchanges lanes i and i ^ {name[3:]}" if "_" in name else "reverses the lanes"
        ordered = exchanged(order)
        written = _quantizes(ordered, formats=BLOCKS)
        found[f"L10{letter} lanes_written_{name}: {words} of codes"] = written
        found[f"L11{letter} lanes_read_{name}: {words} of products"] = _dequantizes(ordered)
    return found


LANES: Mutants = {**_each_lane(), **_each_group(), **_each_order()}
