"""Operations on whole blocks: `quantize` and `dequantize`.

Words of `quantize`: the float32 scale of the tensor, where the format has one, and the floats; the
answer is the scale code and the element codes. Words of `dequantize`: the tensor's scale, the
block's scale code and the element codes; the answer is floats.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import ChainMap
from collections.abc import Collection, Iterable, Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS
from mxref.blocks.two_level import RowScales, TensorScaleKind
from mxref.formats.catalog import (
    BLOCK_FORMATS,
    OTHER_BLOCK_FORMATS,
    BlockFormat,
    block_format,
)
from mxref.numbers.codes import are_nan, word_of
from mxref.operands.kinds import Codes, Floats, Scales
from mxref.operands.returned import array_of, code_words, float_words, pair_of
from mxref.operands.shown import show_code, show_float
from mxref.operations.asked import Asked, groups_of
from mxref.operations.block_twin import SCALED_ELEMENT_CHOICES, twin_of
from mxref.operations.block_words import column, of_scales, tensor_scale
from mxref.operations.operation import AnyPolicy, Kinds, Operation, Words, floats_of, policy_of
from mxref.operations.placed import Placed
from mxref.policy.policy import Policy

__all__ = [
    "SCALED_ELEMENT_CHOICES",
    "TENSOR_KINDS",
    "Dequantize",
    "Quantize",
]

#: What the number of the tensor is that blocks of two-level formats are asked under, by arithmetic.
TENSOR_KINDS = {
    "exact": TensorScaleKind.FACTOR,
    "torchao": TensorScaleKind.FACTOR,
    "transformer_engine": TensorScaleKind.AMAX,
    "transformer_engine_4over6": TensorScaleKind.AMAX_256,
    "transformer_engine_4over6_mse": TensorScaleKind.AMAX_256,
    "cublas": TensorScaleKind.DIVISOR,
    "compressed_tensors": TensorScaleKind.DIVISOR,
}
#: How far from 0 the exponents of simpler floats are.
_REACH = 16
#: The float32 of 1, a tensor's scale that is legal.
_ONE = 0x3F800000


class _OfBlocks(Operation):
    """An operation on blocks; those under scales that are no powers of two read fewer choices."""

    formats: ClassVar[Collection[str]] = ChainMap(OTHER_BLOCK_FORMATS, BLOCK_FORMATS)  # type: ignore[arg-type]

    def called_as(self, format: str) -> str:
        """The call, with the tensor's scale where there is one."""
        block = OTHER_BLOCK_FORMATS.get(format)
        more = ", tensor_scale" if block is not None and block.tensor_scale else ""
        return f"{self.name}({self.parameters}{more})"

    def reads(self, format: str = "") -> tuple[str, ...]:
        """The choices that it reads, which depend on what the scales of the format are.

        >>> Quantize().reads("mxint8")[-2:], Quantize().reads("fp8_e4m3_f32")[-3:]
        (('scale_arithmetic', 'tail'), ('scale_power', 'element_from', 'tail'))
        """
        return twin_of(block_format(format)).reads[self.name] if format else super().reads()

    def answerable(self, format: str, slot: str, policy: Policy) -> bool:
        """Whether both references know the choices that differ from `ocp`."""
        fmt = block_format(format)
        kind = policy.scale.scale_arithmetic.value in TENSOR_KINDS or not fmt.tensor_scale
        known = twin_of(fmt).known[self.name]
        return kind and {*self.changed(policy, format)} <= {*known}

    def digits(self, format: str, slot: str) -> tuple[int, int]:
        """At least the eight of a float32 scale of the tensor or the block, where there is one.

        >>> Quantize().digits("nvfp4", "bf16"), Dequantize().digits("nvfp4", "f64")
        ((8, 2), (8, 16))
        >>> Quantize().digits("fp8_e4m3_f32", "bf16"), Dequantize().digits("fp8_e4m3_f32", "bf16")
        ((4, 8), (8, 4))
        """
        fmt, least = block_format(format), [*super().digits(format, slot)]
        for side, wide in ((0, fmt.tensor_scale), (int(not self.from_codes), fmt.scale.is_float32)):
            least[side] = max(least[side], 8 * wide)
        return least[0], least[1]

    def easy(self, format: str, slot: str) -> tuple[int, ...]:
        """Zeros under float32 scales of 1."""
        fmt = block_format(format)
        ones = fmt.tensor_scale or (self.from_codes and fmt.scale.is_float32)
        zeros = self.counts(format, (), Policy())[0] - ones
        return (*(_ONE,) * ones, *(0,) * zeros)

    def fast(self, format: str, slot: str, words: NDArray[Any], policy: AnyPolicy) -> NDArray[Any]:
        """The answers by the fast path, each row under its own scale of the tensor."""
        fmt, tensor = block_format(format), None
        if not len(words):
            return np.zeros((0, self.counts(format, (), Policy())[1]), np.uint64)
        if fmt.tensor_scale:
            arithmetic = policy_of(policy).scale.scale_arithmetic.value
            kind = TENSOR_KINDS.get(arithmetic, TensorScaleKind.FACTOR)
            tensor = RowScales(words[:, 0].astype(np.uint32).reshape(column(fmt)), kind)
        return self._call(fmt, slot, words[:, int(fmt.tensor_scale) :], policy, tensor)

    def calls(self, format: str, slot: str, words: NDArray[Any]) -> Iterator[Asked]:
        """One call; with scales of tensors one for each of them, which is the last argument."""
        fmt = block_format(format)
        if not fmt.tensor_scale:
            yield self._asked(fmt, slot, words, slice(None), {})
            return
        for bits, some in groups_of(words[:, 0], _ONE):
            tensor = np.uint32(bits).view(np.float32)
            yield self._asked(fmt, slot, words[some, 1:], some, {"tensor_scale": tensor})

    def row_calls(self, format: str, slot: str, words: NDArray[Any]) -> Iterator[Asked]:
        """One call: scales of tensors are a column, one for each row."""
        fmt = block_format(format)
        scales = words[:, :1].astype(np.uint32).view(np.float32)
        return iter([self._asked(fmt, slot, words[:, 1:], slice(None), {"tensor_scale": scales})])

    @abstractmethod
    def _asked(
        self, fmt: BlockFormat, slot: str, words: NDArray[Any], some: Any, more: dict[str, Any]
    ) -> Asked:
        """The call of blocks under one scale of the tensor, or none."""

    @abstractmethod
    def _call(
        self,
        fmt: BlockFormat,
        slot: str,
        words: NDArray[Any],
        policy: AnyPolicy,
        tensor: RowScales | None,
    ) -> NDArray[Any]:
        """The answers under a scale of the tensor for each row, or none."""


class Quantize(_OfBlocks):
    """Floats to blocks: a scale code and element codes."""

    name = "quantize"
    parameters = "values, format"
    blocks = "numbers"
    before_block = ()
    arrays = 2
    questions = 1 << 12

    def answerable(self, format: str, slot: str, policy: Policy) -> bool:
        """Whether it also needs no random bits."""
        return not policy.element.rounding.stochastic and super().answerable(format, slot, policy)

    def counts(self, format: str, words: Words, policy: Policy) -> tuple[int, int]:
        """The floats of a block, and a code more out."""
        fmt = block_format(format)
        return fmt.elements_per_block + fmt.tensor_scale, fmt.elements_per_block + 1

    def kinds_in(self, format: str, slot: str, words: Words) -> Kinds:
        """The scale of the tensor, if there is one, and floats."""
        first = block_format(format).tensor_scale
        return [*[Scales()] * first, *[Floats(slot, _REACH, None)] * (len(words) - first)]

    def kinds_out(self, format: str, slot: str, words: Words, count: int) -> Kinds:
        """A scale code, and element codes."""
        fmt = block_format(format)
        return [of_scales(fmt, 0), *[Codes(fmt.element)] * (count - 1)]

    def exact(
        self, format: str, slot: str, questions: Iterable[Words], policy: AnyPolicy
    ) -> list[tuple[int, ...]]:
        """The blocks, by the slow twin."""
        fmt, changed = block_format(format), self.changed(policy, format)
        every, twin = policy_of(policy).choices(), twin_of(fmt)
        return [twin.quantize(fmt, slot, w, every, changed) for w in questions]

    def source(self, format: str, slot: str, words: Words, want: Words, index: int) -> str:
        """Amax, or the element under the scale."""
        fmt, layout = block_format(format), LAYOUTS[slot]
        tensor, inputs = tensor_scale(fmt, words)
        if index == 0:
            top = max(inputs, key=lambda bits: bits & (layout.sign_bit - 1))
            return f"scale: {tensor}amax {show_float(top, layout)}, "
        element = f"element {index - 1}: in {show_float(inputs[index - 1], layout)}"
        return f"{element}, {tensor}scale {of_scales(fmt, 0).shown(want[0])}, "

    def asked(self, format: str, slot: str, words: Words, answer: Words, index: int) -> str:
        """The block for its scale; an element for its code."""
        fmt, layout = block_format(format), LAYOUTS[slot]
        inputs = words[int(fmt.tensor_scale) :]
        if 0 < index < len(answer):
            scale = of_scales(fmt, 0).shown(answer[0])
            return (
                f"element {index - 1}, {show_float(inputs[index - 1], layout)} under scale {scale}"
            )
        top = max(bits & (layout.sign_bit - 1) for bits in inputs)
        tensor = f", tensor scale {show_float(words[0], LAYOUTS['f32'])}" * fmt.tensor_scale
        return f"block of amax {show_float(top, layout)}{tensor}"

    def answered(self, format: str, slot: str, words: Words, answer: Words, index: int) -> str:
        """A code, the first one that of the scale."""
        return "scale " * (not index) + super().answered(format, slot, words, answer, index)

    def place(self, index: int) -> str:
        """The scale, or an element."""
        return f" in element {index - 1}" if index else " as the scale"

    def _asked(
        self, fmt: BlockFormat, slot: str, words: NDArray[Any], some: Any, more: dict[str, Any]
    ) -> Asked:
        place = Placed.of(fmt, len(words))
        values = place.elements(floats_of(words, slot))

        def read(result: object) -> NDArray[np.uint64]:
            scales, elements = pair_of("quantize", result)
            if not isinstance(scales, list | tuple):
                scales = array_of(scales)
                if scales.shape == (*place.of_scale, 1):
                    scales = scales[..., 0]
            scale_words = place.case_scales(code_words(scales, place.of_scale, fmt.scale))
            codes = place.cases(code_words(elements, place.shape, fmt.element))
            return np.concatenate([scale_words, codes], axis=1)

        return Asked(some, {"values": values, "format": fmt.name, **more}, read)

    def _call(
        self,
        fmt: BlockFormat,
        slot: str,
        words: NDArray[Any],
        policy: AnyPolicy,
        tensor: RowScales | None,
    ) -> NDArray[Any]:
        values = floats_of(words, slot).reshape(-1, *fmt.block_shape)
        from mxref.blocks.quantization import quantize  # so that words are read without it

        blocks = quantize(values, fmt, policy, tensor_scale=tensor)
        codes, scales = blocks.codes.reshape(words.shape), blocks.scale_codes.reshape(-1, 1)
        if not fmt.scale.is_power:  # codes under a NaN scale are not compared
            codes = codes * ~are_nan(scales, fmt.scale)
        return np.concatenate([scales, codes], axis=-1)


class Dequantize(_OfBlocks):
    """Blocks back to floats."""

    one_nan = True
    name = "dequantize"
    parameters = "scale_codes, codes, format, dtype"
    blocks = "codes"
    questions = 1 << 12
    from_codes = True

    def counts(self, format: str, words: Words, policy: Policy) -> tuple[int, int]:
        """The codes of a block and of its scale, and a number for each element."""
        fmt = block_format(format)
        return fmt.elements_per_block + 1 + fmt.tensor_scale, fmt.elements_per_block

    def kinds_in(self, format: str, slot: str, words: Words) -> Kinds:
        """The scale of the tensor, if there is one, a scale code, and element codes."""
        fmt, first = block_format(format), block_format(format).tensor_scale
        scale = of_scales(fmt, fmt.scale.bias << fmt.scale.mantissa_bits)
        return [*[Scales()] * first, scale, *[Codes(fmt.element)] * (len(words) - 1 - first)]

    def kinds_out(self, format: str, slot: str, words: Words, count: int) -> Kinds:
        """Floats."""
        return [Floats(slot)] * count

    def exact(
        self, format: str, slot: str, questions: Iterable[Words], policy: AnyPolicy
    ) -> list[tuple[int, ...]]:
        """The floats, by the slow twin."""
        fmt, changed = block_format(format), self.changed(policy, format)
        every, twin, first = policy_of(policy).choices(), twin_of(fmt), 1 + fmt.tensor_scale

        def block(words: Words) -> tuple[int, ...]:
            before, codes = words[:first], words[first:]
            once = {c: twin.dequantize(fmt, slot, before, c, every, changed) for c in {*codes}}
            return tuple(once[code] for code in codes)

        return [block(words) for words in questions]

    def source(self, format: str, slot: str, words: Words, want: Words, index: int) -> str:
        """The scale, and the code of the element."""
        fmt = block_format(format)
        tensor, inputs = tensor_scale(fmt, words)
        scale = f"{tensor}scale {of_scales(fmt, 0).shown(inputs[0])}"
        return f"{scale}, element {index}: {show_code(inputs[index + 1], fmt.element)}, "

    def asked(self, format: str, slot: str, words: Words, answer: Words, index: int) -> str:
        """The scale, and the code of the element."""
        fmt = block_format(format)
        tensor, (scale, *codes) = tensor_scale(fmt, words)
        shown = of_scales(fmt, 0).shown(scale)
        return f"{tensor}scale {shown}, code {show_code(codes[index], fmt.element)}"

    def place(self, index: int) -> str:
        """An element."""
        return f" in element {index}"

    def _asked(
        self, fmt: BlockFormat, slot: str, words: NDArray[Any], some: Any, more: dict[str, Any]
    ) -> Asked:
        layout, place = LAYOUTS[slot], Placed.of(fmt, len(words))
        scales, codes = words[:, 0].astype(word_of(fmt.scale)), words[:, 1:].astype(np.uint8)
        if fmt.scale.is_float32:
            scales = scales.view(np.float32)
        arguments = {
            "scale_codes": place.scales(scales),
            "codes": place.elements(codes),
            "format": fmt.name,
        }

        def read(result: object) -> NDArray[np.uint64]:
            return place.cases(float_words(result, place.shape, layout))

        return Asked(some, {**arguments, "dtype": layout.dtype, **more}, read)

    def _call(
        self,
        fmt: BlockFormat,
        slot: str,
        words: NDArray[Any],
        policy: AnyPolicy,
        tensor: RowScales | None,
    ) -> NDArray[Any]:
        layout, codes = LAYOUTS[slot], words[:, 1:].reshape(-1, *fmt.block_shape)
        scales = words[:, 0].reshape(column(fmt))
        from mxref.blocks.container import Blocks
        from mxref.blocks.dequantization import dequantize

        blocks = Blocks(codes, scales, fmt, -1, codes.shape, tensor_scale=tensor)
        found = dequantize(blocks, layout.dtype, policy).view(layout.uint)
        return found.reshape(len(words), fmt.elements_per_block)
