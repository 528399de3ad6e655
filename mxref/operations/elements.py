"""Operations on one number: element codes and scale codes, both ways."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mxref import exact
from mxref.bits.floats import LAYOUTS
from mxref.formats.catalog import CODE_FORMATS, E8M0, ELEMENT_FORMATS, CodeFormat, code_format
from mxref.numbers.element import decode, encode
from mxref.numbers.scale import decode_scale, encode_scale, shared_scale
from mxref.operands.kinds import Codes, Floats, Magnitudes
from mxref.operands.returned import code_array, code_words, float_words
from mxref.operands.shown import show_float
from mxref.operations.asked import Asked, groups_of
from mxref.operations.operation import AnyPolicy, Kinds, Operation, Words, floats_of
from mxref.policy.policy import READS, Policy
from mxref.support.distinct import distinct

__all__ = [
    "Decode",
    "DecodeScale",
    "Encode",
    "EncodeScale",
    "EncodeStochastic",
    "SharedScale",
    "ToCodes",
]

#: How far from 0 the exponents of simpler floats are.
_REACH = 200
#: The number of random bits of a call with no cases.
_WIDTH = 8
_Questions = Iterable[Words]
_Answers = list[tuple[int, ...]]


class ToCodes(Operation):
    """An operation from floats to codes, one call for all cases."""

    unit = "numbers"
    #: The name of its argument.
    argument: ClassVar[str] = "values"

    def code_format(self, format: str) -> CodeFormat:
        """The format whose codes it gives."""
        return code_format(format)

    def codes(self, result: object, format: str, shape: tuple[int, ...]) -> NDArray[Any]:
        """The codes that a function has returned for floats of a shape, not copied.

        Raises:
            AnswerError: another shape or type.
        """
        return code_array(result, shape, self.code_format(format))

    def given(self, format: str, values: NDArray[Any]) -> dict[str, Any]:
        """The arguments of a function for some floats."""
        return {self.argument: values, "format": format}

    def kinds_in(self, format: str, slot: str, words: Words) -> Kinds:
        """Floats."""
        return [Floats(slot, _REACH, None)] * len(words)

    def kinds_out(self, format: str, slot: str, words: Words, count: int) -> Kinds:
        """Codes."""
        return [Codes(self.code_format(format))] * count

    def source(self, format: str, slot: str, words: Words, want: Words, index: int) -> str:
        """The float."""
        return f"in {show_float(words[0], LAYOUTS[slot])}, "

    def calls(self, format: str, slot: str, words: NDArray[Any]) -> Iterator[Asked]:
        """One call."""
        values = floats_of(words[:, 0], slot)
        shape = values.shape  # which the target may change

        def read(result: object) -> NDArray[np.uint64]:
            return self.codes(result, format, shape).astype(np.uint64)[:, np.newaxis]

        yield Asked(slice(None), self.given(format, values), read)


class _OfScales(ToCodes):
    """One whose codes are scales."""

    formats: ClassVar[Collection[str]] = (E8M0.name,)

    def code_format(self, format: str) -> CodeFormat:
        """E8M0."""
        return E8M0


class _FromCodes(Operation):
    """An operation from codes to floats, one call for all cases."""

    unit = "codes"
    one_nan = True
    from_codes = one_code = True

    def slots(self, format: str) -> Collection[str]:
        """float32, which holds every number of a code."""
        return (LAYOUTS["f32"].name,)

    def given(self, format: str, codes: NDArray[np.uint8]) -> dict[str, Any]:
        """The arguments of a function for some codes."""
        return {"codes": codes, "format": format}

    def kinds_in(self, format: str, slot: str, words: Words) -> Kinds:
        """Codes."""
        return [Codes(code_format(format))] * len(words)

    def kinds_out(self, format: str, slot: str, words: Words, count: int) -> Kinds:
        """Floats."""
        return [Floats(slot)] * count

    def source(self, format: str, slot: str, words: Words, want: Words, index: int) -> str:
        """The code."""
        (kind,) = self.kinds_in(format, slot, words)
        return f"code {kind.shown(words[0])}, " if kind else ""

    def calls(self, format: str, slot: str, words: NDArray[Any]) -> Iterator[Asked]:
        """One call."""
        layout, shape = LAYOUTS[slot], (len(words),)

        def read(result: object) -> NDArray[np.uint64]:
            return float_words(result, shape, layout)[:, np.newaxis]

        yield Asked(slice(None), self.given(format, words[:, 0].astype(np.uint8)), read)


class Encode(ToCodes):
    """A float to the code of an element format."""

    name = "encode"
    formats = CODE_FORMATS
    parameters = "values, format"
    questions = 1 << 15

    def answerable(self, format: str, slot: str, policy: Policy) -> bool:
        """Whether it needs no random bits."""
        return not policy.element.rounding.stochastic

    def exact(self, format: str, slot: str, questions: _Questions, policy: AnyPolicy) -> _Answers:
        """The codes, by the slow twin."""
        encode_one = exact.encoder(slot, format, **self.twin_choices(policy))
        return [(encode_one(w[0], 0, 0),) for w in questions]

    def fast(self, format: str, slot: str, words: NDArray[Any], policy: AnyPolicy) -> NDArray[Any]:
        """The codes, by the fast path."""
        return encode(floats_of(words, slot), format, policy)


def _read_codes(shape: tuple[int, ...], fmt: CodeFormat, result: object) -> NDArray[np.uint64]:
    return code_words(result, shape, fmt)[:, np.newaxis]


class EncodeStochastic(Operation):
    """A float and random bits to a code; words of a case are the float, the bits, their number."""

    name = "encode_stochastic"
    random_bits = True
    decided_by = "N18"
    unit = "numbers"
    parameters = "values, random_bits, random_width, format"
    questions = 1 << 12

    def reads(self, format: str = "") -> tuple[str, ...]:
        """Those of `encode`."""
        return READS["encode"]

    def answerable(self, format: str, slot: str, policy: Policy) -> bool:
        """Whether the rounding reads random bits."""
        return policy.element.rounding.stochastic

    def counts(self, format: str, words: Words, policy: Policy) -> tuple[int, int]:
        """Three words in, one out."""
        return 3, 1

    def easy(self, format: str, slot: str) -> tuple[int, ...]:
        """Zero, with eight random bits that are zeros."""
        return 0, 0, 8

    def asked(self, format: str, slot: str, words: Words, answer: Words, index: int) -> str:
        """The float, and the random bits."""
        number, draw, width = words
        return f"{show_float(number, LAYOUTS[slot])}, random bits {draw:x} of {width}"

    def source(self, format: str, slot: str, words: Words, want: Words, index: int) -> str:
        """The float, and the random bits."""
        return f"in {self.asked(format, slot, words, want, index)}, "

    def calls(self, format: str, slot: str, words: NDArray[Any]) -> Iterator[Asked]:
        """One call for each number of random bits."""
        for width, some in groups_of(words[:, 2], _WIDTH):
            values, bits = floats_of(words[some, 0], slot), words[some, 1].astype(np.uint32)
            arguments = {"values": values, "random_bits": bits, "width": width, "format": format}
            yield Asked(some, arguments, partial(_read_codes, values.shape, code_format(format)))

    def kinds_in(self, format: str, slot: str, words: Words) -> Kinds:
        """A float; the random bits stay."""
        return Floats(slot, _REACH, None), None, None

    def kinds_out(self, format: str, slot: str, words: Words, count: int) -> Kinds:
        """A code."""
        return [Codes(code_format(format))] * count

    def exact(self, format: str, slot: str, questions: _Questions, policy: AnyPolicy) -> _Answers:
        """The codes, by the slow twin."""
        encode_one = exact.encoder(slot, format, **self.twin_choices(policy))
        return [(encode_one(*w),) for w in questions]

    def fast(self, format: str, slot: str, words: NDArray[Any], policy: AnyPolicy) -> NDArray[Any]:
        """The codes, by the fast path."""
        codes = np.empty((len(words), 1), np.uint8)
        for width in distinct(words[:, 2]):
            some = words[:, 2] == width
            values, draws = floats_of(words[some, :1], slot), words[some, 1:2]
            codes[some] = encode(values, format, policy, random_bits=draws, random_width=int(width))
        return codes


class Decode(_FromCodes):
    """The code of an element to a float."""

    name = "decode"
    formats = CODE_FORMATS
    parameters = "codes, format"

    def exact(self, format: str, slot: str, questions: _Questions, policy: AnyPolicy) -> _Answers:
        """The floats, by the slow twin."""
        choices = self.twin_choices(policy)
        return [(exact.decode(w[0], format, slot, **choices),) for w in questions]

    def fast(self, format: str, slot: str, words: NDArray[Any], policy: AnyPolicy) -> NDArray[Any]:
        """The floats, by the fast path."""
        layout = LAYOUTS[slot]
        return decode(words, format, layout.dtype, policy).view(layout.uint)


class EncodeScale(_OfScales):
    """A float to an E8M0 code."""

    name = "encode_scale"
    refused: ClassVar[Mapping[str, tuple[str, ...]]] = {"scale_overflow": ("wrap",)}
    parameters = "values"
    questions = 1 << 15

    def given(self, format: str, values: NDArray[Any]) -> dict[str, Any]:
        """The floats alone."""
        return {"values": values}

    def exact(self, format: str, slot: str, questions: _Questions, policy: AnyPolicy) -> _Answers:
        """The codes, by the slow twin."""
        choices = self.twin_choices(policy)
        return [(exact.encode_scale(w[0], slot, **choices),) for w in questions]

    def fast(self, format: str, slot: str, words: NDArray[Any], policy: AnyPolicy) -> NDArray[Any]:
        """The codes, by the fast path."""
        return encode_scale(floats_of(words, slot), policy)


class DecodeScale(_FromCodes):
    """An E8M0 code to a float."""

    name = "decode_scale"
    formats = (E8M0.name,)
    parameters = "codes"

    def kinds_in(self, format: str, slot: str, words: Words) -> Kinds:
        """Codes of scales, the simplest that of 1."""
        return [Codes(E8M0, E8M0.bias)] * len(words)

    def given(self, format: str, codes: NDArray[np.uint8]) -> dict[str, Any]:
        """The codes alone."""
        return {"codes": codes}

    def exact(self, format: str, slot: str, questions: _Questions, policy: AnyPolicy) -> _Answers:
        """The floats, by the slow twin."""
        choices = self.twin_choices(policy)
        return [(exact.decode_scale(w[0], slot, **choices),) for w in questions]

    def fast(self, format: str, slot: str, words: NDArray[Any], policy: AnyPolicy) -> NDArray[Any]:
        """The floats, by the fast path."""
        layout = LAYOUTS[slot]
        return decode_scale(words, layout.dtype, policy).view(layout.uint)


class SharedScale(_OfScales):
    """The largest magnitude of a block to the block's scale code."""

    name = "shared_scale"
    formats = ELEMENT_FORMATS
    parameters = "amax, format"
    argument = "amax"
    questions = 1 << 14

    def kinds_in(self, format: str, slot: str, words: Words) -> Kinds:
        """Floats without a sign."""
        return [Magnitudes(slot, _REACH, None)] * len(words)

    def exact(self, format: str, slot: str, questions: _Questions, policy: AnyPolicy) -> _Answers:
        """The codes, by the slow twin."""
        choices = self.twin_choices(policy)
        return [(exact.shared_scale(w[0], slot, format, **choices),) for w in questions]

    def fast(self, format: str, slot: str, words: NDArray[Any], policy: AnyPolicy) -> NDArray[Any]:
        """The codes, by the fast path."""
        return shared_scale(floats_of(words, slot), format, policy=policy)
