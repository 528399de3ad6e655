"""How the scale of a block may become a small float, where scales are no powers of two."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from mxref.bits.float32 import fl
from mxref.bits.floats import F32, F64, I64, Parts, compose, split
from mxref.blocks.exact_scales import quotient
from mxref.conformance.verdict.cause.evidence import Questions, Words
from mxref.conformance.verdict.cause.hypotheses import told
from mxref.conformance.verdict.cause.parts import Answer, is_special
from mxref.conformance.verdict.stages.steps import Scale
from mxref.formats.catalog import UE4M3, BlockFormat
from mxref.numbers.element import encode_parts
from mxref.policy.choices import ScaleArithmetic
from mxref.policy.element_choices import Rounding
from mxref.policy.groups import ElementPolicy
from mxref.policy.policy import Policy


@dataclass(frozen=True, slots=True)
class BlockScale(Scale):
    """The scale of a block, rounded or bounded otherwise; `bounded` says which of the two."""

    bounded: bool = False


def block_scales(policy: Policy, fmt: BlockFormat) -> Iterator[BlockScale]:
    """Scales that are rounded or bounded otherwise, over each arithmetic with such tensor scales.

    Args:
        policy: what all else follows.
        fmt: the format; of one whose scales are powers of two there are none.
    """
    own = policy.scale.scale_arithmetic
    kinds = next((some for some in _SAME_TENSOR_SCALE if own in some), ())
    for arithmetic in sorted(kinds if not fmt.scale.is_power else (), key=lambda one: one != own):
        over = "" if arithmetic is own else f", in the arithmetic of {arithmetic.value}"
        for rounding, how in _ROUNDINGS.items():
            for bound, limit, change in (("unbounded", "", _unbounded), *told("bound", _BOUNDS)):
                texts = [how] * bool(how) + [limit] * bool(limit)
                if texts and (bound != "at_most_240" or fmt.scale.name == UE4M3.name):
                    yield BlockScale(
                        f"{arithmetic.value}_{rounding.value}_{bound}",
                        f"the scale of a block is {' and '.join(texts)}{over}",
                        _answer(arithmetic, rounding, change),
                        bounded=bool(limit),
                    )


def right_scale(policy: Policy, fmt: BlockFormat) -> Scale:
    """The right scale, which is computed for all blocks at once where that is faster."""
    exact = policy.scale.scale_arithmetic is ScaleArithmetic.EXACT
    if fmt.scale.is_power or not exact:
        return Scale()
    return Scale(answer=_answer(ScaleArithmetic.EXACT, Rounding.TIES_TO_EVEN, _unbounded))


_Change = Callable[[I64, BlockFormat], I64]
_ONE = F32.bias << F32.mantissa_bits


def _unbounded(codes: I64, fmt: BlockFormat) -> I64:
    return codes.copy()


def _one(fmt: BlockFormat) -> int:
    return fmt.scale.bias << fmt.scale.mantissa_bits


_ROUNDINGS = {
    Rounding.TIES_TO_EVEN: "",
    Rounding.TOWARD_ZERO: "rounded toward zero",
    Rounding.TOWARD_POSITIVE: "rounded up",
    Rounding.TIES_TO_AWAY: "rounded to nearest, ties away from zero",
}
#: The limits of a scale: what each makes of codes.
_BOUNDS: dict[str, _Change] = {
    "normal": lambda codes, fmt: np.maximum(codes, 1 << fmt.scale.mantissa_bits),
    "flushed": lambda codes, fmt: np.where(codes < 1 << fmt.scale.mantissa_bits, 0, codes),
    "least": lambda codes, fmt: np.maximum(codes, 1),
    "one": lambda codes, fmt: np.where(codes == 0, _one(fmt), codes),
    "at_most_one": lambda codes, fmt: np.minimum(codes, _one(fmt)),
    "at_most_240": lambda codes, fmt: np.minimum(
        codes, fmt.scale.max_code - fmt.scale.max_code % 8 - 1
    ),
}
#: Arithmetics that take the same number for the scale of a tensor.
_SAME_TENSOR_SCALE = (
    (ScaleArithmetic.EXACT, ScaleArithmetic.TORCHAO),
    (ScaleArithmetic.CUBLAS, ScaleArithmetic.COMPRESSED_TENSORS),
)


def _answer(arithmetic: ScaleArithmetic, rounding: Rounding, change: _Change) -> Answer:
    """The scales of blocks, a word a row; right ones of blocks with infinities and NaN."""

    def answer(questions: Questions, policy: Policy) -> Words:
        fmt = questions.fmt
        key = f"block scales {arithmetic.value}"
        wanted = questions.once(key, Policy(), lambda: _wanted(questions, arithmetic, fmt))
        codes = encode_parts(wanted, fmt.scale, ElementPolicy(rounding=rounding), None)
        blocks = questions.once("special", Policy(), lambda: is_special(questions))
        special, found = blocks[1] | blocks[2], change(codes.astype(np.int64), fmt)
        if special.any():
            some = Questions(questions.file, questions.inputs[special])
            found[special] = questions.once("of special", policy, lambda: some.answers(policy))[
                :, 0
            ]
        return found[:, np.newaxis].astype(np.uint64)

    return answer


def _wanted(questions: Questions, arithmetic: ScaleArithmetic, fmt: BlockFormat) -> Parts:
    """The scales that blocks would have if no code were to be found for them."""
    layout, first = questions.layout, questions.first
    magnitudes = questions.inputs[:, first:] & np.uint64(layout.sign_bit - 1)
    words = np.where(magnitudes < layout.inf_bits, magnitudes, np.uint64(0)).max(axis=1)
    amax = split(words, layout)
    given = np.maximum(questions.inputs[:, 0], 1) if first else np.full_like(words, _ONE)
    tensor = split(given, F32)
    if arithmetic is ScaleArithmetic.EXACT:
        largest = split(np.array([fmt.element.max_normal]).view(np.uint64), F64)
        zeros = int(largest.significand[0] & -largest.significand[0]).bit_length() - 1
        significand, exponent = largest.significand >> zeros, largest.exponent + zeros
        return quotient(amax, significand * tensor.significand, exponent + tensor.exponent)
    a, t = (compose(one, F64).view(np.float64) for one in (amax, tensor))
    with np.errstate(all="ignore"):
        sixth = fl(a / fmt.element.max_normal)
        by = {
            ScaleArithmetic.TORCHAO: lambda: fl(sixth / t),
            ScaleArithmetic.CUBLAS: lambda: fl(np.fmax(fl(a * t), 0.0) / fmt.element.max_normal),
            ScaleArithmetic.COMPRESSED_TENSORS: lambda: fl(t * sixth),
        }
        return split(np.nan_to_num(by[arithmetic]()).view(np.uint64), F64)
