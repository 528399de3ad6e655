"""Operations with choices of their own, which are no choices of `Policy`.

A policy is spelled ``scaling=divide+nan=zero``; `default` is the one without a choice.
"""

from __future__ import annotations

import enum
import functools
import itertools
import math
from collections.abc import Iterator, Mapping
from typing import ClassVar

from mxref.operations.operation import AnyPolicy, Operation

__all__ = ["DEFAULT", "ChoosingOperation"]

DEFAULT = "default"
#: Spelled policies whose choices are kept.
_POLICIES = 1024
#: Policies that are few.
_FEW = 8


class ChoosingOperation(Operation):
    """An operation with choices of its own."""

    own_choices = True
    #: The formats of its files.
    formats: ClassVar[tuple[str, ...]]

    def kinds(self, format: str) -> dict[str, type[enum.Enum]]:
        """The choices, each as its enumeration."""
        return {}

    def refuse(self, found: Mapping[str, str]) -> None:
        """Raise ValueError for choices that have no meaning together."""

    def reads(self, format: str = "") -> tuple[str, ...]:
        """No choice of `Policy`."""
        return ()

    def changed(self, policy: AnyPolicy, format: str = "") -> dict[str, str]:
        """No choice of `Policy`."""
        return {}

    def choices(self, format: str) -> dict[str, tuple[str, ...]]:
        """The choices that implementations make, the default of each first.

        >>> from mxref.operations.registry import CALL_OPERATIONS
        >>> CALL_OPERATIONS["pack_int4"].choices("int4")
        {'nibbles': ('high_first', 'low_first'), 'stored': ('offset', 'twos_complement')}
        """
        return {
            name: tuple(member.value for member in kind)
            for name, kind in self.kinds(format).items()
        }

    def first_policy(self, format: str) -> str:
        """The first column of a file: the default, where it has an answer to every case.

        >>> from mxref.operations.registry import CALL_OPERATIONS
        >>> quantize = CALL_OPERATIONS["quantize_affine"]
        >>> [quantize.first_policy(name) for name in ("int8", "int8_axis")]
        ['nan=zero', 'default']
        """
        return DEFAULT

    def spell(self, format: str, chosen: Mapping[str, str]) -> str:
        """The spelling of a policy: the choices that are not the default, in a fixed order.

        >>> from mxref.operations.registry import CALL_OPERATIONS
        >>> CALL_OPERATIONS["quantize_affine"].spell("int8", {"nan": "zero", "scaling": "divide"})
        'scaling=divide+nan=zero'
        """
        known = self.choices(format)
        changed = [f"{n}={chosen[n]}" for n in known if chosen.get(n, known[n][0]) != known[n][0]]
        return "+".join(changed) or DEFAULT

    def parse(self, format: str, policy: str) -> dict[str, str]:
        """The choices that a policy spells.

        Raises:
            ValueError: no such choice or member, or a combination that has no meaning.
        """
        return dict(_parsed(self, format, policy))

    def few_policies(self, format: str) -> tuple[str, ...]:
        """All policies, where there are few; else none.

        >>> from mxref.operations.registry import CALL_OPERATIONS
        >>> CALL_OPERATIONS["rescale"].few_policies("int8-int8")
        ('default', 'rounding=double')
        >>> CALL_OPERATIONS["quantize_affine"].few_policies("int8")
        ()
        """
        known = self.choices(format)
        if math.prod(map(len, known.values())) > _FEW:
            return ()
        every = (dict(zip(known, some, strict=True)) for some in itertools.product(*known.values()))
        return tuple(self.spell(format, some) for some in every)

    def neighbours(self, format: str, policy: str) -> Iterator[str]:
        """The policies that differ from one in one choice.

        >>> from mxref.operations.registry import CALL_OPERATIONS
        >>> list(CALL_OPERATIONS["rescale"].neighbours("int8-int8", "default"))
        ['rounding=double']
        """
        chosen = self.parse(format, policy)
        for name, members in self.choices(format).items():
            for member in members:
                if chosen.get(name, members[0]) != member:
                    other = self.spell(format, {**chosen, name: member})
                    try:
                        self.parse(format, other)
                    except ValueError:
                        continue
                    yield other


@functools.lru_cache(maxsize=_POLICIES)
def _parsed(operation: ChoosingOperation, format: str, policy: str) -> Mapping[str, str]:
    """The choices that a policy spells: `ChoosingOperation.parse`."""
    known, found = operation.choices(format), {}
    for part in policy.split("+") if policy != DEFAULT else ():
        name, _, value = part.partition("=")
        if value not in known.get(name, ()):
            raise ValueError(f"{part!r} is no choice of {operation.name} {format}")
        found[name] = value
    operation.refuse(found)
    if operation.spell(format, found) != policy:
        raise ValueError(f"must be spelled {operation.spell(format, found)!r}")
    return found
