"""The bytes that one block becomes under each way to find its scale, and under each profile."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from mxref.bits.floats import FloatLayout
from mxref.blocks.container import Blocks
from mxref.blocks.dequantization import dequantize
from mxref.blocks.quantization import quantize
from mxref.exact.format_table import ELEMENTS, UNSIGNED_SCALES
from mxref.exact.formulas import ARITHMETICS
from mxref.exact.traced import Step, steps_of_block
from mxref.formats.catalog import E8M0, BlockFormat, ScaleKind
from mxref.golden.explain_number import fraction
from mxref.policy.policy import Policy
from mxref.profiles.registry import PROFILES

__all__ = [
    "BlockOutcome",
    "amax_of",
    "outcomes",
    "steps",
]

#: The choice that finds a scale that is no power of two.
_FINDS_SCALE = {
    ScaleKind.POWER: "scale_arithmetic",
    ScaleKind.SMALL_FLOAT: "scale_arithmetic",
    ScaleKind.FLOAT32: "scale_from",
}


@dataclass(frozen=True, slots=True)
class BlockOutcome:
    """The bytes that a block becomes, and all policies and profiles that give them.

    Args:
        scale: the scale code; None where quantizing is an error.
        codes: the codes of the elements that were given.
        values: the numbers that they stand for; nan and infinities as floats.
        choices: the members of the choice that finds the scale which give these bytes.
        profiles: the profiles that give them.
        tensor_scale: the number of the whole tensor, where the format has one, and its kind.
        refusals: for an error, the texts of the error with the names that give each.
    """

    scale: int | None
    codes: tuple[int, ...]
    values: tuple[float, ...]
    choices: list[str] = dataclasses.field(default_factory=list)
    profiles: list[str] = dataclasses.field(default_factory=list)
    tensor_scale: tuple[float, str] | None = None
    refusals: dict[str, list[str]] = dataclasses.field(default_factory=dict)


def outcomes(
    words: Sequence[int], layout: FloatLayout, fmt: BlockFormat, policy: Policy
) -> tuple[list[BlockOutcome], list[str]]:
    """The different outcomes for a block: the policy's first, then by the number of names.

    Args:
        words: patterns of its elements; the rest of the block is +0.
        layout: their float type.
        fmt: the block format.
        policy: the choices other than that of the scale rule (or arithmetic).

    Returns:
        The outcomes, and the names of the profiles that do not take the float type.

    >>> from mxref.bits.floats import F32
    >>> from mxref.formats.catalog import block_format
    >>> made, _ = outcomes([0x40E00000], F32, block_format("mxfp4_e2m1"), Policy())  # 7.0
    >>> [(one.scale, one.codes, one.values) for one in made]
    [(127, (7,), (6.0,)), (128, (6,), (8.0,)), (128, (5,), (6.0,))]
    >>> made[0].choices[0], made[1].choices[:2], made[2].profiles
    ('scale_rule=floor', ['scale_rule=ceil', 'scale_rule=rceil'], ['mlx_0_32'])
    """
    block = np.zeros(fmt.elements_per_block, layout.uint)
    block[: len(words)] = words
    values = block.view(layout.dtype)
    if isinstance(fmt.block_size, tuple):
        values = values.reshape(fmt.block_size)
    found: dict[tuple[object, ...], BlockOutcome] = {}

    def refused(error: ValueError, name: str) -> BlockOutcome:
        made = found.setdefault((None,), BlockOutcome(None, (), ()))
        made.refusals.setdefault(str(error), []).append(name)
        return made

    def outcome(blocks: Blocks, reader: Policy) -> BlockOutcome:
        codes = tuple(blocks.codes.reshape(-1)[: len(words)].tolist())
        read = dequantize(blocks, np.float64, reader).reshape(-1)[: len(words)].tolist()
        scale = int(blocks.scale_codes.reshape(-1)[0])
        key = (scale, codes, tuple(map(repr, read)))
        whole = blocks.tensor_scale
        number = None if whole is None else (float(whole.value), whole.kind.value)
        new = BlockOutcome(scale, codes, tuple(read), tensor_scale=number)
        return found.setdefault((*key, number), new)

    kind = fmt.scale.kind or ScaleKind.SMALL_FLOAT
    choice = "scale_rule" if fmt.scale == E8M0 else _FINDS_SCALE[kind]
    own = policy.choices()[choice]
    # The policy's own member comes first.
    for member in sorted(Policy.members(choice), key=lambda one: one.value != own):
        chosen = policy.replace(**{choice: member})
        name, reader = f"{choice}={member.value}", Policy() if choice == "scale_rule" else chosen
        try:
            outcome(quantize(values, fmt, chosen), reader).choices.append(name)
        except ValueError as error:
            if choice != "scale_arithmetic":  # or it is an arithmetic that the format does not have
                refused(error, name).choices.append(name)
    other_floats = []
    for name, profile in PROFILES.items():
        if not profile.speaks_of("quantize", fmt.name):
            continue
        if profile.floats is not None and layout.name not in profile.floats:
            other_floats.append(name)
            continue
        try:
            reader = Policy() if fmt.scale == E8M0 else profile.policy
            outcome(profile.quantize(values, fmt), reader).profiles.append(name)
        except ValueError as error:
            refused(error, name).profiles.append(name)
    first, *rest = found.values()
    rest.sort(key=lambda one: -len(one.choices) - len(one.profiles))
    return [first, *rest], other_floats


def steps(words: Sequence[int], layout: FloatLayout, fmt: BlockFormat) -> dict[str, list[Step]]:
    """The steps of every arithmetic of a scale that is a small float, the block being the tensor.

    Args:
        words: patterns of its elements; the rest of the block is +0.
        layout: their float type.
        fmt: the block format; none has steps whose scale is a power of two, whose formats are of a
            user, or whose rows in a block are no power of two.

    >>> from mxref.bits.floats import F32
    >>> from mxref.formats.catalog import block_format
    >>> made = steps([0x40C00000], F32, block_format("fp4_ue4m3"))  # 6.0
    >>> [(one.name, one.text, f"{one.bits:x}") for one in made["cublas"]]
    [('r1', 'a / M', '3f800000'), ('s', 'r1', '38'), ('r2', '1 / s', '3f800000'), \
('r3', 'x0 * r2', '40c00000'), ('', 'r3', '7')]
    """
    names, rows = (fmt.element.name, fmt.scale.name), math.prod(fmt.block_shape[:-1])
    known = names[0] in ELEMENTS and names[1] in UNSIGNED_SCALES
    if fmt.scale == E8M0 or not known or rows & (rows - 1):
        return {}
    block = [*words, *[0] * (fmt.elements_per_block - len(words))]
    return {
        name: steps_of_block(
            block, len(words), layout.name, *names, name, tensor=fmt.tensor_scale, rows=rows
        )
        for name in ARITHMETICS
    }


def amax_of(words: Sequence[int], layout: FloatLayout) -> Fraction | None:
    """The largest magnitude of finite elements; None if one is infinite or NaN.

    >>> from mxref.bits.floats import F32
    >>> amax_of([0x3F800000, 0xC0E00000], F32)
    Fraction(7, 1)
    """
    numbers = [fraction(word, layout) for word in words]
    finite = [abs(number) for number in numbers if number is not None]
    return max(finite) if len(finite) == len(numbers) else None
