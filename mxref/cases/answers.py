"""Expected answers by the slow twin, and the fast path's answers to the same questions."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mxref import exact
from mxref.bits.floats import LAYOUTS, split
from mxref.blocks.container import Blocks
from mxref.blocks.dequantization import dequantize
from mxref.blocks.quantization import quantize
from mxref.blocks.two_level import TensorScale, TensorScaleKind
from mxref.cases.integer_answers import exact_integer, fast_integers, first_policy
from mxref.cases.layout_answers import exact_layout, fast_layout, packing_of
from mxref.cases.linear_answers import exact_layer, fast_layer
from mxref.cases.product_answers import accumulations, exact_product, fast_products
from mxref.cases.records import VectorFile, padded, stripped
from mxref.cases.words import (
    DOT_OPERATIONS,
    INTEGER_OPERATIONS,
    LAYER_OPERATIONS,
    LAYOUT_OPERATIONS,
)
from mxref.formats.catalog import (
    E8M0,
    OTHER_BLOCK_FORMATS,
    BlockFormat,
    block_format,
    element_format,
)
from mxref.numbers.element import decode, encode, encode_parts
from mxref.numbers.scale import decode_scale, encode_scale, shared_scale
from mxref.policy.choices import ScalePlace, Tail
from mxref.policy.policy import READS, Policy

__all__ = [
    "TENSOR_KINDS",
    "AnyPolicy",
    "answerable",
    "choices_read",
    "codes_under_scale",
    "exact_answer",
    "exact_answers",
    "fast_answers",
    "reads",
]

#: A policy; of integer operations it is the spelling of their own choices.
AnyPolicy: TypeAlias = Policy | str
#: The kind of tensor scale in the vectors of two-level formats, for each arithmetic.
TENSOR_KINDS = {
    "exact": TensorScaleKind.FACTOR,
    "torchao": TensorScaleKind.FACTOR,
    "transformer_engine_4over6": TensorScaleKind.AMAX_256,
    "transformer_engine_4over6_mse": TensorScaleKind.AMAX_256,
}


def reads(op: str) -> tuple[str, ...]:
    """The choices that an operation of the vectors reads.

    >>> reads("pack"), reads("quantize_tensor")[0]
    (('fp4_packing', 'fp6_packing'), 'tail')
    """
    if op in INTEGER_OPERATIONS:  # which have choices of their own
        return ()
    if op == "quantize_tensor":  # first the choice that whole blocks do not show
        return tuple(sorted(READS["quantize"], key=lambda name: name != "tail"))
    return READS["encode" if op == "encode_stochastic" else op]


def answerable(op: str, format: str, slot: str, policy: AnyPolicy) -> bool:
    """Whether the cases of a file have an answer under a policy.

    Args:
        op: operation.
        format: the file's.
        slot: the file's float type, or the layout of its bytes.
        policy: what to answer by.

    >>> answerable("unpack", "e2m1", "halves", Policy())
    False
    """
    if isinstance(policy, str):
        return True
    layout = policy.layout
    match op:
        case "unpack":
            return slot == packing_of(element_format(format).bits, policy)
        case "unpack_scales":
            return slot == str(layout.scale_layout.value)
        case "pack_blocks" | "unpack_blocks":
            return layout.scale_place is not ScalePlace.SEPARATE
        case "encode" | "quantize":
            if policy.element.rounding.value.startswith("stochastic"):
                return False
        case "encode_stochastic":
            return bool(policy.element.rounding.value.startswith("stochastic"))
        case "matmul":
            return policy.products.accumulation.value in accumulations(format)
        case "linear" | "linear_gradients":
            adds = policy.products.accumulation.value in accumulations(f"{format}-{format}")
            tails = layout.tail is not Tail.REFUSED
            return adds and tails and not policy.element.rounding.stochastic
        case "quantize_tensor":
            return layout.tail is not Tail.REFUSED and not policy.element.rounding.stochastic
    if format not in OTHER_BLOCK_FORMATS:
        return True
    changed = choices_read(op, policy)
    arithmetic = policy.scale.scale_arithmetic.value
    known = {"scale_arithmetic", "tail", *_SCALED_ELEMENT_CHOICES}
    kind = arithmetic in TENSOR_KINDS or not OTHER_BLOCK_FORMATS[format].tensor_scale
    return kind and set(changed) <= known


def choices_read(op: str, policy: AnyPolicy) -> dict[str, str]:
    """The choices of a policy that an operation reads and that differ from `ocp`, by name.

    >>> choices_read("encode", Policy.parse("ocp+rounding=to_odd+scale_rule=ceil"))
    {'rounding': 'to_odd'}
    """
    if isinstance(policy, str):
        return {}
    default, wanted = Policy().choices(), reads(op)
    return {
        name: value
        for name, value in policy.choices().items()
        if name in wanted and value != default[name]
    }


#: Choices of elements that the slow twin reads under scales that are no powers of two.
_SCALED_ELEMENT_CHOICES = (
    "rounding",
    "overflow",
    "clamp",
    "nan",
    "nan_to_finite",
    "zero_sign",
    "underflow_sign",
    "int8_range",
)
#: Choices whose argument in the slow twin has another name.
_EXACT_NAMES = {"scale_rule": "rule", "scale_rounding": "rounding"}


def exact_answer(
    op: str, format: str, float: str, words: Sequence[int], policy: AnyPolicy
) -> tuple[int, ...]:
    """The output words of one case, by the slow twin.

    >>> exact_answer("encode", "e2m1", "f32", [0x40A00000], Policy())  # 5.0
    (6,)
    """
    return exact_answers(op, format, float, [words], policy)[0]


def exact_answers(
    op: str, format: str, float: str, questions: Iterable[Sequence[int]], policy: AnyPolicy
) -> list[tuple[int, ...]]:
    """The output words of many cases, by the slow twin."""
    if isinstance(policy, str) or op in INTEGER_OPERATIONS:
        name = policy if isinstance(policy, str) else first_policy(op, format)
        return [exact_integer(op, format, w, name) for w in questions]
    if op in LAYER_OPERATIONS:
        return [exact_layer(op, format, float, w, str(policy)) for w in questions]
    if op in DOT_OPERATIONS:
        return [(exact_product(format, float, w, str(policy)),) for w in questions]
    if format in OTHER_BLOCK_FORMATS:
        every = policy.choices()
        return [_exact_scaled(op, format, float, w, every) for w in questions]
    # The choices as arguments of the slow twin; cases are whole blocks.
    left_out = ("tail", "scale_arithmetic")
    read = {n: value for n, value in choices_read(op, policy).items() if n not in left_out}
    choices: dict[str, Any] = {_EXACT_NAMES.get(n, n): value for n, value in read.items()}
    if op in LAYOUT_OPERATIONS:

        def block(w: Sequence[int]) -> tuple[int, list[int]]:
            return exact.quantize(w, float, block_format(format).element.name, **choices)

        return [exact_layout(op, format, w, policy, block) for w in questions]
    match op:
        case "encode":
            encode_one = exact.encoder(float, format, **choices)
            return [(encode_one(w[0], 0, 0),) for w in questions]
        case "encode_stochastic":
            encode_one = exact.encoder(float, format, **choices)
            return [(encode_one(*w),) for w in questions]
        case "decode":
            return [(exact.decode(w[0], format, float, **choices),) for w in questions]
        case "encode_scale":
            return [(exact.encode_scale(w[0], float, **choices),) for w in questions]
        case "decode_scale":
            return [(exact.decode_scale(w[0], float, **choices),) for w in questions]
        case "shared_scale":
            return [(exact.shared_scale(w[0], float, format, **choices),) for w in questions]
    element = block_format(format).element.name
    if op == "quantize":
        blocks = (exact.quantize(w, float, element, **choices) for w in questions)
        return [(scale, *codes) for scale, codes in blocks]
    return [
        tuple(exact.dequantize(w[0], code, element, float, **choices) for code in w[1:])
        for w in questions
    ]


def _exact_scaled(
    op: str, format: str, float: str, words: Sequence[int], choices: Mapping[str, str]
) -> tuple[int, ...]:
    """One block under a scale that is no power of two, after the tensor scale if it has one."""
    fmt = block_format(format)
    names, arithmetic = (fmt.element.name, fmt.scale.name), choices["scale_arithmetic"]
    tensor, rest = (words[0], words[1:]) if fmt.tensor_scale else (None, words)
    if op == "dequantize":
        scale, *codes = rest
        return tuple(
            exact.dequantize_scaled(tensor, scale, code, *names, arithmetic, float)
            for code in codes
        )
    element_choices = {name: choices[name] for name in _SCALED_ELEMENT_CHOICES}
    _, ((scale, codes),) = exact.quantize_scaled(
        [rest], float, *names, arithmetic, tensor, **element_choices
    )
    # Codes under a NaN scale are not compared; implementations leave different ones.
    return (scale, *(codes if scale not in fmt.scale.nan_codes else [0] * len(codes)))


def fast_answers(
    op: str, format: str, float: str, words: NDArray[Any], policy: AnyPolicy
) -> NDArray[Any]:
    """The output words of many cases, one a row, by the fast path."""
    if isinstance(policy, str) or op in INTEGER_OPERATIONS:
        name = policy if isinstance(policy, str) else first_policy(op, format)
        return fast_integers(op, format, words, name)
    if op in LAYER_OPERATIONS:
        return padded([fast_layer(op, format, float, stripped(row), str(policy)) for row in words])
    if op in DOT_OPERATIONS:
        return fast_products(format, float, words, str(policy))
    if op in LAYOUT_OPERATIONS:
        return fast_layout(op, format, float, words, policy)
    if format in OTHER_BLOCK_FORMATS:
        return _fast_scaled(op, format, float, words, policy)
    layout = LAYOUTS[float]
    if op == "encode_stochastic":
        codes = np.empty((len(words), 1), np.uint8)
        for width in np.unique(words[:, 2]):
            some = words[:, 2] == width
            values = words[some, :1].astype(layout.uint).view(layout.dtype)
            draws = words[some, 1:2]
            codes[some] = encode(values, format, policy, random_bits=draws, random_width=int(width))
        return codes
    if op in ("encode", "encode_scale", "shared_scale", "quantize"):
        values = words.astype(layout.uint).view(layout.dtype)
    match op:
        case "encode":
            return encode(values, format, policy)
        case "decode":
            return decode(words, format, layout.dtype, policy).view(layout.uint)
        case "encode_scale":
            return encode_scale(values, policy)
        case "decode_scale":
            return decode_scale(words, layout.dtype, policy).view(layout.uint)
        case "shared_scale":
            return shared_scale(values, format, policy=policy)
        case "quantize":
            blocks = quantize(values, format, policy)
            return np.concatenate([blocks.scale_codes, blocks.codes], axis=-1)
    scales, codes = words[..., :1], words[..., 1:]
    blocks = Blocks(codes, scales, block_format(format), codes.ndim - 1, codes.shape)
    return dequantize(blocks, layout.dtype, policy).view(layout.uint)


def _fast_scaled(
    op: str, format: str, float: str, words: NDArray[Any], policy: Policy
) -> NDArray[Any]:
    """The fast path's answers for blocks under scales that are no powers of two."""
    fmt = block_format(format)
    if not fmt.tensor_scale:
        return _fast_blocks(op, fmt, float, words, policy, None)
    kind = TENSOR_KINDS.get(policy.scale.scale_arithmetic.value, TensorScaleKind.FACTOR)
    answers = np.zeros((len(words), fmt.elements_per_block + (op == "quantize")), np.uint64)
    for bits in np.unique(words[:, 0]).tolist():
        same = words[:, 0] == np.uint64(bits)
        tensor = TensorScale(bits, kind)
        answers[same] = _fast_blocks(op, fmt, float, words[same, 1:], policy, tensor)
    return answers


def _fast_blocks(
    op: str,
    fmt: BlockFormat,
    float: str,
    words: NDArray[Any],
    policy: Policy,
    tensor: TensorScale | None,
) -> NDArray[Any]:
    layout = LAYOUTS[float]
    if op == "dequantize":
        scales, codes = words[:, :1], words[:, 1:]
        blocks = Blocks(codes, scales, fmt, 1, codes.shape, tensor_scale=tensor)
        return dequantize(blocks, layout.dtype, policy).view(layout.uint)
    values = words.astype(layout.uint).view(layout.dtype)
    blocks = quantize(values, fmt, policy, tensor_scale=tensor)
    number = blocks.scale_codes != np.uint8(max(fmt.scale.nan_codes))
    return np.concatenate([blocks.scale_codes, blocks.codes * number], axis=-1)


def codes_under_scale(
    file: VectorFile,
    inputs: Sequence[int],
    scale_code: int,
    policy: Policy,
    choices: dict[str, str],
) -> NDArray[np.uint8]:
    """The element codes of a block's numbers under a given scale and some other choices."""
    layout = LAYOUTS[file.float]
    parts = split(np.array(inputs, layout.uint), layout)
    scaled = dataclasses.replace(parts, exponent=parts.exponent - (scale_code - E8M0.bias))
    return encode_parts(
        scaled, block_format(file.format).element, policy.replace(**choices).element
    )
