"""Class C22: blocks with an infinity whose codes, or those of the elements beside it, are wrong.

Each bug changes right scales and codes, so that it works on top of any convention: scale FE, the
scale of the finite elements, or what an arithmetic of small-float scales makes of infinity. Under
`ocp` a block with an infinity is a NaN block, whose codes mean nothing. Only implementations that
do not see the infinity are wrong there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import U8, Bool, bits_of
from mxref.blocks.quantization import quantize
from mxref.formats.catalog import ElementFormat, block_format
from mxref.mutants.mutant import (
    BLOCKS,
    FLOATS,
    POWER_BLOCKS,
    QUANTIZED,
    TENSORS_OF,
    Function,
    Mutant,
    Mutants,
    moved_heading,
    wrong,
)
from mxref.policy.policy import Policy

__all__ = ["CHANGES", "INFINITIES", "Change", "InfiniteBlocks", "spoiled"]

Values = NDArray[Any]
Pair = tuple[U8, U8]


@dataclass(slots=True)
class InfiniteBlocks:
    """Right blocks; a bug changes their scales and codes in place.

    Args:
        element: the element format.
        scales: scale codes, (n,).
        codes: element codes, (n, k).
        values: the numbers, (n, k).
        blind: computes the scale codes and codes with infinities left out of amax.
    """

    element: ElementFormat
    scales: U8
    codes: U8
    values: Values
    blind: Callable[[], Pair]

    @property
    def infinite(self) -> Bool:
        """Where an element is an infinity."""
        bits, layout = bits_of(self.values)
        found: Bool = (bits & layout.uint.type(layout.sign_bit - 1)) == layout.inf_bits
        return found

    @property
    def beside(self) -> Bool:
        """Where a finite element is in a block with an infinity."""
        bits, layout = bits_of(self.values)
        finite = (bits & layout.uint.type(layout.sign_bit - 1)) < layout.inf_bits
        found: Bool = finite & self.infinite.any(axis=1, keepdims=True)
        return found

    def put(self, where: Bool, magnitude: int) -> None:
        """Give elements a magnitude code, and the signs of their numbers."""
        bits, layout = bits_of(self.values)
        negative = bits >= layout.uint.type(layout.sign_bit)
        if self.element.twos_complement:
            below = (self.element.code_count - magnitude) % self.element.code_count
        else:
            below = magnitude | self.element.sign_bit
        self.codes[where] = np.where(negative, below, magnitude)[where]

    def put_nan(self, where: Bool) -> None:
        """Make elements NaN; in a format without NaN, the code that NaN becomes."""
        nan = self.element.nan_code
        self.codes[where] = self.element.max_code if nan is None else nan


Change = Callable[[InfiniteBlocks], None]
Blind = Callable[[Values], Pair]


def _finite_zero(blocks: InfiniteBlocks) -> None:
    blocks.put(blocks.beside, 0)


def _finite_nan(blocks: InfiniteBlocks) -> None:
    blocks.put_nan(blocks.beside)


def _finite_largest(blocks: InfiniteBlocks) -> None:
    blocks.put(blocks.beside, blocks.element.max_code)


def _zero_times_infinity(blocks: InfiniteBlocks) -> None:
    """All elements multiplied by 0, as by a reciprocal of FE whose exponent field is 0."""
    blocks.put(blocks.beside, 0)
    blocks.put_nan(blocks.infinite)


def _shifted_reciprocal(blocks: InfiniteBlocks) -> None:
    """The reciprocal of TransformerEngine 2.9: 0 for FE, and 1 for 00."""
    _zero_times_infinity(blocks)
    bits, layout = bits_of(blocks.values)
    numbers = (bits & layout.uint.type(layout.sign_bit - 1)) < layout.inf_bits
    blocks.put(numbers & (blocks.scales == 0)[:, np.newaxis], 0)


def _sign_lost(blocks: InfiniteBlocks) -> None:
    """The codes of infinities without their signs."""
    codes = blocks.codes.astype(np.int64)
    if blocks.element.twos_complement:
        codes = np.where(codes >= blocks.element.sign_bit, -codes & 0xFF, codes)
        codes = np.minimum(codes, blocks.element.max_code)
    else:
        codes &= blocks.element.sign_bit - 1
    blocks.codes[:] = np.where(blocks.infinite, codes, blocks.codes)


def _own_scale_stored(blocks: InfiniteBlocks) -> None:
    some = blocks.infinite.any(axis=1)
    blocks.scales[some] = blocks.blind()[0][some]


def _first_seen(blocks: InfiniteBlocks) -> None:
    blocks.put(blocks.infinite & (np.cumsum(blocks.infinite, axis=1) > 1), 0)


def _last_seen(blocks: InfiniteBlocks) -> None:
    order = np.cumsum(blocks.infinite, axis=1)
    blocks.put(blocks.infinite & (order < order[:, -1:]), 0)


def _seen_in_lane(blocks: InfiniteBlocks, *, lane: int) -> None:
    unseen = ~blocks.infinite[:, lane]
    scales, codes = blocks.blind()
    blocks.scales[unseen] = scales[unseen]
    blocks.codes[unseen] = codes[unseen]


def spoiled(
    change: Change, values: Values, right: Pair, format: str, blind: Blind, axis: int = 1
) -> Pair:
    """The scales and codes of a matrix with blocks along an axis, after a bug has changed them.

    Args:
        change: the bug.
        values: the numbers, (m, n).
        right: scale codes and element codes, with the tail filled up.
        format: the block format.
        blind: the scale codes and codes that leave infinities out of amax, one block a row.
        axis: 0 or 1.

    >>> x = np.float32([[np.inf, 2.0**118] + [0.0] * 30])
    >>> blocks = quantize(x, "mxfp8_e4m3", block_inf="largest_scale")
    >>> right = blocks.scale_codes, blocks.codes
    >>> spoiled(_finite_zero, x, right, "mxfp8_e4m3", _by_policy("ocp", "mxfp8_e4m3"))[1][0, :2]
    array([126,   0], dtype=uint8)
    """
    fmt, size = block_format(format), block_format(format).elements_per_block
    scales, codes = right
    numbers = np.zeros(codes.shape, values.dtype)
    numbers[: values.shape[0], : values.shape[1]] = values

    def rows(array: NDArray[Any], size: int) -> NDArray[Any]:
        return np.array(array if axis else array.T, order="C").reshape(-1, size)

    def back(array: U8, like: U8) -> U8:
        return array.reshape(like.shape) if axis else array.reshape(like.T.shape).T

    lanes = rows(numbers, size)
    blocks = InfiniteBlocks(
        fmt.element, rows(scales, 1)[:, 0], rows(codes, size), lanes, lambda: blind(lanes)
    )
    change(blocks)
    return back(blocks.scales, scales), back(blocks.codes, codes)


def _by_policy(policy: str, format: str, **more: Any) -> Blind:
    """A function that quantizes blocks in rows with infinities left out of amax."""
    unseen = Policy.parse(policy).replace(block_inf="ignore")

    def blind(values: Values) -> Pair:
        blocks = quantize(values, format, unseen, **more)
        return blocks.scale_codes[:, 0], blocks.codes

    return blind


def _in_tensors(change: Change, policy: str) -> Function:
    def run(values: Values, format: str, axis: int) -> Pair:
        blocks = quantize(values, format, policy, axis=axis)
        right, blind = (blocks.scale_codes, blocks.codes), _by_policy(policy, format)
        return spoiled(change, values, right, format, blind, axis)

    return run


def _in_blocks(change: Change, policy: str) -> Function:
    def run(values: Values, format: str, tensor_scale: Any = None) -> Pair:
        more = {} if tensor_scale is None else {"tensor_scale": tensor_scale}
        blocks = quantize(values, format, policy, **more)
        right, blind = (blocks.scale_codes, blocks.codes), _by_policy(policy, format, **more)
        scales, codes = spoiled(change, values, right, format, blind)
        return scales[:, 0], codes

    return run


_BESIDE = "the finite elements beside an infinity"
#: Changes by the letters of their ids: name and what they do.
CHANGES: dict[str, tuple[str, str, Change]] = {
    "a": ("finite_to_zero", f"makes {_BESIDE} zeros", _finite_zero),
    "b": ("finite_to_nan", f"makes {_BESIDE} NaN", _finite_nan),
    "c": ("finite_to_largest", f"makes {_BESIDE} the largest number", _finite_largest),
    "d": ("infinity_sign_lost", "loses the sign of infinities", _sign_lost),
    "e": ("later_infinities_zero", "makes infinities after the first zeros", _first_seen),
    "f": ("earlier_infinities_zero", "makes infinities before the last zeros", _last_seen),
    "g": (
        "own_scale_stored",
        f"stores the scale of {_BESIDE}, but divides by another",
        _own_scale_stored,
    ),
    "h": (
        "zero_for_fe",
        "multiplies by a reciprocal that is 0 for FE, the scale of a block with an infinity: its "
        "finite elements become 0, and 0 * Inf is NaN",
        _zero_times_infinity,
    ),
    "i": (
        "shifted_reciprocal",
        "makes reciprocals by shifting 254 - code into the exponent field: 0 for FE, the scale of "
        "a block with an infinity, whose finite elements become 0 as 0 * Inf becomes NaN; and "
        "takes 1 for 00",
        _shifted_reciprocal,
    ),
    "j": (
        "seen_in_first_lane",
        "sees an infinity in the first lane only",
        partial(_seen_in_lane, lane=0),
    ),
    "k": (
        "seen_in_last_lane",
        "sees an infinity in the last lane only",
        partial(_seen_in_lane, lane=-1),
    ),
}
#: Further letters of ids -> a convention for a block with an infinity: policy, words, and the
#: changes that are wrong under it.
_CONVENTIONS = {
    "": (
        "ocp+block_inf=largest_scale",
        "means the largest scale for an infinity, but",
        "abcdefghijk",
    ),
    "o": ("ocp+block_inf=ignore", "leaves infinities out of amax, and", "abcdef"),
    "n": ("ocp", "means a NaN block for an infinity, but", "jk"),
}
#: Further letters of ids -> the ending of the mutants' names.
_ENDS = {"": "", "o": "_under_own_scale", "n": "_of_nan_block"}
_TORCHAO = "ocp+scale_arithmetic=torchao"


def _mutants() -> Mutants:
    """Every change under every convention that shows it, in every operation."""
    found: dict[str, Mutant] = {}

    def add(heading: str, letter: str, place: str, run: Function, **about: Any) -> None:
        found[moved_heading(heading, letter, place)] = wrong(run, **about)

    for more, (policy, words, letters) in _CONVENTIONS.items():
        for letter in letters:
            name, text, change = CHANGES[letter]
            heading = f"C22{letter}{more} {name}{_ENDS[more]}: {words} {text}"
            own: dict[str, Any] = {"policy": policy, "spoil": change}
            blocks: dict[str, Any] = {"op": "quantize", "model": "M9"}
            run, every = _in_blocks(change, policy), POWER_BLOCKS
            add(heading, "q", "blocks", run, formats=every, floats=QUANTIZED, **blocks, **own)
            tensors: dict[str, Any] = {"op": "quantize_tensor", "model": "M11"}
            run = _in_tensors(change, policy)
            add(heading, "t", "tensors", run, formats=BLOCKS, floats=TENSORS_OF, **tensors, **own)
            if not more and letter in "abcdef":  # the others are about E8M0
                own["policy"], run = _TORCHAO, _in_blocks(change, _TORCHAO)
                scaled: dict[str, Any] = {"formats": ("fp4_ue4m3",), "floats": FLOATS}
                add(heading, "s", "fp4_ue4m3", run, **scaled, **blocks, **own)
                two: dict[str, Any] = {"formats": ("nvfp4",), "floats": FLOATS}
                add(heading, "v", "nvfp4", run, **two, **blocks, **own)
    return found


#: The mutants of infinities in blocks, tensors and NVFP4 blocks.
INFINITIES: Mutants = _mutants()
