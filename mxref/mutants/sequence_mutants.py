"""Class U: functions that are right in calls of any size, and wrong after calls of another kind.

What comes before is the same call in another format or of another type, an empty call, one that
raises, many calls of one size, or a call of another operation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from mxref.mutants.mutant import Function
from mxref.mutants.use_mutants import UseMutant, changed, flipped

__all__ = ["SEQUENCES"]

#: The call of one size that is the first to be wrong.
_LATE = 33


def _spoiled(result: Any) -> Any:
    """A result whose last array has a wrong last bit in each number."""
    return changed(result, flipped())


def _kept_without(kind: type | tuple[type, ...]) -> Callable[[Function], Function]:
    """Results are kept by the content of all arguments but those of a type."""

    def spoil(right: Function) -> Function:
        kept: dict[str, Any] = {}

        def run(*arguments: Any) -> Any:
            read = [one for one in arguments if not isinstance(one, kind)]
            shapes = [(np.shape(one), getattr(one, "dtype", None)) for one in read]
            content = [one.tobytes() if isinstance(one, np.ndarray) else one for one in read]
            return kept.setdefault(str((shapes, content)), right(*arguments))

        return run

    return spoil


def _after(is_odd: Callable[[tuple[Any, ...]], bool]) -> Callable[[Function], Function]:
    """Wrong in the call after one of a kind."""

    def spoil(right: Function) -> Function:
        odd = False

        def run(*arguments: Any) -> Any:
            nonlocal odd
            was, odd = odd, is_odd(arguments)
            result = right(*arguments)
            return _spoiled(result) if was and not odd else result

        return run

    return spoil


def _after_an_error(right: Function) -> Function:
    """A call that raises leaves behind what the next one uses."""
    raised = False

    def run(*arguments: Any) -> Any:
        nonlocal raised
        was, raised = raised, True
        result = right(*arguments)
        raised = False
        return _spoiled(result) if was else result

    return run


def _late(right: Function) -> Function:
    """The calls of one size from a late one on are wrong."""
    calls: dict[str, int] = {}

    def run(*arguments: Any) -> Any:
        key = str([np.shape(one) for one in arguments])
        calls[key] = calls.get(key, 0) + 1
        result = right(*arguments)
        return _spoiled(result) if calls[key] >= _LATE else result

    return run


def _scale_kept(*, first: bool) -> Callable[[Function], Function]:
    """The scale of the tensor, a last argument that is a number, is that of another call.

    Calibrated once it is that of the first call, and one that is written after it is read that of
    the call before. Seen in NVIDIA/TensorRT-LLM#19422: a copy that is made once for an address.
    """

    def spoil(right: Function) -> Function:
        kept: list[Any] = []

        def run(*arguments: Any) -> Any:
            *others, scale = arguments
            if not isinstance(scale, np.floating):
                return right(*arguments)
            kept.append(scale)
            return right(*others, kept[0] if first else kept[max(len(kept) - 2, 0)])

        return run

    return spoil


def _one_scratch() -> Callable[[Function], Function]:
    """All operations have one buffer: a call overwrites the last result of another operation."""
    last: list[tuple[Function, Any]] = []

    def spoil(right: Function) -> Function:
        def run(*arguments: Any) -> Any:
            result = right(*arguments)
            for other, held in last:
                if other is not right:
                    held.view(np.uint8)[...] ^= 1
            arrays = result if isinstance(result, tuple) else (result,)
            arrays = tuple(map(np.array, arrays))
            last[:] = [(right, arrays[-1])] if arrays[-1].ndim else []
            return arrays if isinstance(result, tuple) else arrays[0]

        return run

    return spoil


_state = partial(UseMutant, kinds=frozenset({"state"}))

SEQUENCES: tuple[UseMutant, ...] = (
    _state(
        "U11",
        "kept_without_format",
        "keeps results by the numbers, whatever the format is",
        spoil=_kept_without(str),
        ops=("encode", "quantize", "linear"),
    ),
    _state(
        "U11b",
        "kept_without_tensor_scale",
        "keeps results by all arguments but numbers, such as the scale of the tensor",
        spoil=_kept_without(np.floating),
        ops=("dequantize",),
    ),
    _state(
        "U11c",
        "kept_without_integers",
        "keeps results by all arguments but integers, such as the zero point and the dtype",
        spoil=_kept_without((int, np.integer, np.dtype)),
        ops=("rescale", "quantize_affine"),
    ),
    _state(
        "U12",
        "wrong_after_empty",
        "is wrong in the call after one with no case",
        spoil=_after(lambda arguments: np.size(arguments[0]) == 0),
        ops=("encode", "quantize", "dequantize", "quantize_affine"),
    ),
    _state(
        "U13",
        "wrong_after_error",
        "is wrong in the call after one that raised",
        spoil=_after_an_error,
        ops=("encode", "quantize", "dequantize", "rescale"),
    ),
    _state(
        "U14",
        "wrong_from_late_call",
        "is wrong from the 33rd call of a size on",
        spoil=_late,
        ops=("encode", "quantize", "rescale"),
    ),
    _state(
        "U15",
        "one_scratch_buffer",
        "overwrites the last result of another operation",
        spoil=_one_scratch(),
        ops=("encode", "dequantize"),
    ),
    _state(
        "U16",
        "tensor_scale_of_call_before",
        "takes the scale of the tensor that the call before was given",
        spoil=_scale_kept(first=False),
        ops=("quantize", "dequantize"),
    ),
    _state(
        "U16b",
        "tensor_scale_of_first_call",
        "takes the scale of the tensor that the first call was given",
        spoil=_scale_kept(first=True),
        ops=("quantize", "dequantize"),
    ),
)
