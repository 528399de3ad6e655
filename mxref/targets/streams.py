"""Calls on another stream of a GPU than the default one, whose arguments are ready late.

Work on one stream waits for what was put there before, and for nothing else. A kernel that is
started on the default stream, whatever the caller's is, reads its arguments before they are there.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any

__all__ = ["LateCall", "are_late", "late_call", "late_calls"]

#: Calls a function with arguments that another stream is still to fill.
LateCall = Callable[[Callable[..., Any], Sequence[Any]], Any]

#: Clock cycles that the other stream waits: about 50 ms.
_CYCLES = 100_000_000
_late: ContextVar[bool] = ContextVar("late", default=False)


@contextlib.contextmanager
def late_calls() -> Iterator[None]:
    """Calls of targets in the block are on another stream, as far as their library has streams.

    >>> with late_calls():
    ...     are_late()
    True
    >>> are_late()
    False
    """
    token = _late.set(True)
    try:
        yield
    finally:
        _late.reset(token)


def are_late() -> bool:
    """Whether calls of targets are on another stream now."""
    return _late.get()


def late_call(torch: Any, device: str) -> LateCall | None:
    """Calls with torch's tensors on another stream of a device; None if it has no streams.

    The tensors are zeros until the stream has waited for a while; then it copies their numbers.

    Args:
        torch: the library.
        device: the device in its words, such as `cuda`.
    """
    if torch.device(device).type != "cuda":
        return None

    def call(function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        stream = torch.cuda.Stream(device)
        late: dict[int, tuple[Any, Any]] = {
            id(one): (torch.zeros_like(one), one)
            for one in arguments
            if isinstance(one, torch.Tensor)
        }
        given = [late[id(one)][0] if id(one) in late else one for one in arguments]
        torch.cuda.synchronize(device)
        with torch.cuda.stream(stream):
            torch.cuda._sleep(_CYCLES)  # there is no public way to keep it busy
            for zeros, numbers in late.values():
                zeros.copy_(numbers)
            result = function(*given)
        stream.synchronize()
        return result

    return call
