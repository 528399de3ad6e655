"""Plant a fault in a process that has the module: replace the code of its functions."""

from __future__ import annotations

import gc
import inspect
from collections import defaultdict
from collections.abc import Iterator
from functools import _lru_cache_wrapper
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any


def pairs(old: CodeType, new: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """The codes in two versions of a code, side by side; ValueError if one has more."""
    yield old, new
    below = ([one for one in code.co_consts if isinstance(one, CodeType)] for code in (old, new))
    for one, other in zip(*below, strict=True):
        yield from pairs(one, other)


def own(code: CodeType) -> tuple[Any, ...]:
    """What a code does itself, without the codes in it and the places in its text."""
    values = [None if isinstance(one, CodeType) else repr(one) for one in code.co_consts]
    return code.co_code, values, code.co_names, code.co_varnames, code.co_freevars


def plan(old: str, new: str) -> dict[CodeType, CodeType] | None:
    """What the codes of a file's functions become; None if what runs at import changes, too."""
    texts = (compile(text, "", "exec", dont_inherit=True) for text in (old, new))
    try:
        found = list(pairs(*texts))
    except ValueError:
        return None
    for one, other in found:
        lives = one.co_flags & inspect.CO_OPTIMIZED and one.co_freevars == other.co_freevars
        if not lives and own(one) != own(other):
            return None
    return dict(found)


class Living:
    """The functions of a folder's modules that a process has, and the caches of their results."""

    def __init__(self, folder: Path) -> None:
        self.functions: dict[str, list[FunctionType]] = defaultdict(list)
        self.caches: list[Any] = []
        gc.unfreeze()  # `get_objects` leaves out what is frozen
        for thing in gc.get_objects():
            if isinstance(thing, FunctionType):
                self.functions[thing.__code__.co_filename].append(thing)
            elif isinstance(thing, _lru_cache_wrapper):
                code = getattr(thing.__wrapped__, "__code__", None)
                if code is not None and Path(code.co_filename).is_relative_to(folder):
                    self.caches.append(thing)

    def plant(self, file: Path, old: str, new: str) -> None:
        """Give the functions of a file the codes of its new text; forget what caches have."""
        changes = plan(old, new)
        assert changes is not None
        for function in self.functions[str(file)]:
            if function.__code__ in changes:
                code = changes[function.__code__]
                function.__code__ = code.replace(co_filename=str(file))
        for cache in self.caches:
            cache.cache_clear()
