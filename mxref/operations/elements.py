"""Operations on one number: element codes and scale codes, both ways."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref import exact
from mxref.bits.floats import LAYOUTS
from mxref.numbers.element import decode, encode
from mxref.numbers.scale import decode_scale, encode_scale, shared_scale
from mxref.operations.operation import AnyPolicy, Operation, Words, floats_of
from mxref.policy.policy import READS, Policy

__all__ = [
    "Decode",
    "DecodeScale",
    "Encode",
    "EncodeScale",
    "EncodeStochastic",
    "SharedScale",
]

_Questions = Iterable[Words]
_Answers = list[tuple[int, ...]]


class Encode(Operation):
    """A float to the code of an element format."""

    name = "encode"
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


class EncodeStochastic(Operation):
    """A float and random bits to a code; words of a case are the float, the bits, their number."""

    name = "encode_stochastic"
    parameters = "values, random_bits, random_width, format"
    questions = 1 << 12

    def reads(self) -> tuple[str, ...]:
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

    def exact(self, format: str, slot: str, questions: _Questions, policy: AnyPolicy) -> _Answers:
        """The codes, by the slow twin."""
        encode_one = exact.encoder(slot, format, **self.twin_choices(policy))
        return [(encode_one(*w),) for w in questions]

    def fast(self, format: str, slot: str, words: NDArray[Any], policy: AnyPolicy) -> NDArray[Any]:
        """The codes, by the fast path."""
        codes = np.empty((len(words), 1), np.uint8)
        for width in np.unique(words[:, 2]):
            some = words[:, 2] == width
            values, draws = floats_of(words[some, :1], slot), words[some, 1:2]
            codes[some] = encode(values, format, policy, random_bits=draws, random_width=int(width))
        return codes


class Decode(Operation):
    """The code of an element to a float."""

    name = "decode"
    parameters = "codes, format"
    from_codes = True

    def exact(self, format: str, slot: str, questions: _Questions, policy: AnyPolicy) -> _Answers:
        """The floats, by the slow twin."""
        choices = self.twin_choices(policy)
        return [(exact.decode(w[0], format, slot, **choices),) for w in questions]

    def fast(self, format: str, slot: str, words: NDArray[Any], policy: AnyPolicy) -> NDArray[Any]:
        """The floats, by the fast path."""
        layout = LAYOUTS[slot]
        return decode(words, format, layout.dtype, policy).view(layout.uint)


class EncodeScale(Operation):
    """A float to an E8M0 code."""

    name = "encode_scale"
    parameters = "values"
    questions = 1 << 15

    def exact(self, format: str, slot: str, questions: _Questions, policy: AnyPolicy) -> _Answers:
        """The codes, by the slow twin."""
        choices = self.twin_choices(policy)
        return [(exact.encode_scale(w[0], slot, **choices),) for w in questions]

    def fast(self, format: str, slot: str, words: NDArray[Any], policy: AnyPolicy) -> NDArray[Any]:
        """The codes, by the fast path."""
        return encode_scale(floats_of(words, slot), policy)


class DecodeScale(Operation):
    """An E8M0 code to a float."""

    name = "decode_scale"
    parameters = "codes"
    from_codes = True

    def exact(self, format: str, slot: str, questions: _Questions, policy: AnyPolicy) -> _Answers:
        """The floats, by the slow twin."""
        choices = self.twin_choices(policy)
        return [(exact.decode_scale(w[0], slot, **choices),) for w in questions]

    def fast(self, format: str, slot: str, words: NDArray[Any], policy: AnyPolicy) -> NDArray[Any]:
        """The floats, by the fast path."""
        layout = LAYOUTS[slot]
        return decode_scale(words, layout.dtype, policy).view(layout.uint)


class SharedScale(Operation):
    """The largest magnitude of a block to the block's scale code."""

    name = "shared_scale"
    parameters = "amax, format"
    questions = 1 << 14

    def exact(self, format: str, slot: str, questions: _Questions, policy: AnyPolicy) -> _Answers:
        """The codes, by the slow twin."""
        choices = self.twin_choices(policy)
        return [(exact.shared_scale(w[0], slot, format, **choices),) for w in questions]

    def fast(self, format: str, slot: str, words: NDArray[Any], policy: AnyPolicy) -> NDArray[Any]:
        """The codes, by the fast path."""
        return shared_scale(floats_of(words, slot), format, policy=policy)
