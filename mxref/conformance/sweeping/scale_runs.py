"""Step functions of blocks under scales that are small floats, by the slow twin.

Under one tensor scale there are two kinds of steps: from the largest magnitude of a block to its
scale code, and under each scale code from an element to its code. Both are found by bisection. For
the first it is right within a binade: every arithmetic multiplies, divides and rounds, which is
monotone, and replaces what is too small or too large. Only `compressed_tensors` has another scale
for 0, far above the first ones. For elements it is right from the smallest number on, of one sign:
the code's magnitude is monotone for the same reasons, and a choice of the sign of zeros changes the
first codes alone. Under *4 over 6* a scale depends on all elements: there are no such steps.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from mxref import exact
from mxref.bits.floats import LAYOUTS
from mxref.blocks.arithmetics import ARITHMETICS
from mxref.blocks.two_level import TensorScale
from mxref.cases.answers import exact_answers
from mxref.cases.grid import pattern
from mxref.cases.steps import Steps, binades, bisected
from mxref.formats.catalog import block_format
from mxref.operations.blocks import TENSOR_KINDS
from mxref.policy.policy import Policy

__all__ = [
    "AMAX",
    "Run",
    "before_block",
    "element_steps",
    "has_runs",
    "scale_runs",
    "tensor_scales",
]

#: The largest magnitude of the tensor that one of the tensor scales is derived from.
AMAX = 1000
#: float32 patterns of the other tensor scales: 1; 2688, which is 6 * 448; a power of two; 1/3
#: rounded; a subnormal number whose reciprocal is finite; the smallest one, whose reciprocal is
#: infinite; the largest number, whose reciprocal is subnormal.
_TENSORS = (
    *(0x3F800000, 0x45280000, 0x3E000000, 0x3EAAAAAB),
    *(0x00300000, 0x00000001, 0x7F7FFFFF),
)
_F32 = LAYOUTS["f32"]
#: Elements of one question to the slow twin.
_MANY = 128


@dataclass(frozen=True, slots=True)
class Run:
    """The largest magnitudes of blocks that have the same scale code under one tensor scale.

    Args:
        tensor: the place of the tensor scale in `tensor_scales`.
        code: the scale code.
        first: the smallest pattern of such a magnitude.
        last: the largest pattern.
    """

    tensor: int
    code: int
    first: int
    last: int


def has_runs(policy: Policy) -> bool:
    """Whether the scale of a block depends on its largest magnitude alone.

    >>> has_runs(Policy()), has_runs(Policy.parse("ocp+scale_arithmetic=transformer_engine_4over6"))
    (True, False)
    """
    arithmetic = ARITHMETICS.get(policy.scale.scale_arithmetic)  # without `exact`
    return arithmetic is None or arithmetic.steps is not None


@functools.lru_cache(16)
def tensor_scales(format: str, policy: Policy) -> tuple[TensorScale | None, ...]:
    """The tensor scales under which blocks are asked; None alone in a format without.

    >>> [one.value for one in tensor_scales("nvfp4", Policy())][:4]
    [1.0, 0.3720238208770752, 2688.0, 0.125]
    """
    fmt = block_format(format)
    if not fmt.tensor_scale:
        return (None,)
    arithmetic = policy.scale.scale_arithmetic.value
    names = (fmt.element.name, fmt.scale.name, arithmetic)
    block = [pattern(AMAX, 0, _F32)]
    derived, _ = exact.quantize_scaled([block], "f32", *names, "dynamic")
    kind = TENSOR_KINDS[arithmetic]
    every = dict.fromkeys([_TENSORS[0], int(derived or 0), *_TENSORS[1:]])
    return tuple(TensorScale(bits, kind) for bits in every)


@functools.lru_cache(16)
def scale_runs(format: str, float: str, policy: Policy) -> tuple[Run, ...]:
    """The runs of every tensor scale, in the order of tensor scales and of magnitudes.

    >>> runs = scale_runs("fp4_ue4m3", "bf16", Policy())
    >>> one = runs[56]  # the scale 1: from 5.8125 to 6.375
    >>> len(runs), [f"{n:x}" for n in (one.code, one.first, one.last)]
    (127, ['38', '40ba', '40cc'])
    """
    layout = LAYOUTS[float]
    first = [bits for bits in binades(layout, layout.inf_bits) if 0 < bits < layout.inf_bits]
    found = []
    for place, tensor in enumerate(tensor_scales(format, policy)):
        before = before_block(tensor)

        def answers(inputs: Sequence[int], before: tuple[int, ...] = before) -> list[int]:
            questions = ([*before, bits] for bits in inputs)
            return [one[0] for one in exact_answers("quantize", format, float, questions, policy)]

        runs = bisected(first, layout.inf_bits, answers).runs(1, layout.inf_bits)
        found += [Run(place, code, start, end - 1) for start, end, code in runs]
    return tuple(found)


def before_block(tensor: TensorScale | None) -> tuple[int, ...]:
    """The words before those of a block."""
    return () if tensor is None else (tensor.bits,)


def element_steps(
    format: str, float: str, policy: Policy, tensor: TensorScale | None, last: int
) -> tuple[Steps, Steps]:
    """The codes of positive and of negative elements, by magnitude.

    Args:
        format: the block format.
        float: the float type.
        policy: the policy.
        tensor: the tensor scale.
        last: the largest magnitude of the block, and the last element.

    >>> positive, negative = element_steps("fp4_ue4m3", "f32", Policy(), None, 0x40C00000)  # 6
    >>> [f"{bits:x}" for bits in positive.starts.tolist()][:4], negative.answers.tolist()[:4]
    (['0', '3e800001', '3f400000', '3fa00001'], [8, 9, 10, 11])
    """
    before, sign_bit = before_block(tensor), LAYOUTS[float].sign_bit

    def answers(inputs: Sequence[int], sign: int) -> list[int]:
        signed = [bits | sign for bits in inputs]
        questions = [
            [*before, last, *signed[start : start + _MANY]]
            for start in range(0, len(signed), _MANY)
        ]
        found = exact_answers("quantize", format, float, questions, policy)
        return [code for words in found for code in words[2:]]

    positive, negative = (
        bisected([0, 1], last + 1, functools.partial(answers, sign=sign)) for sign in (0, sign_bit)
    )
    return positive, negative
