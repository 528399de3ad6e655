"""What a file of a user defines: formats, what their codes stand for, and operations."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mxref.formats.own_formats import KINDS, OwnFormat, registered
from mxref.operations.registry import defined

if TYPE_CHECKING:
    from mxref.operations.call_operation import CallOperation

__all__ = ["OwnDefinitions"]


@dataclass(frozen=True, slots=True)
class OwnDefinitions:
    """Formats and operations that a user defines beside a kernel.

    Args:
        formats: the formats.
        values: for each format what its codes stand for, by which the slow twin knows it; see
            `mxref.exact.described`.
        operations: the operations.
        layers: the formats of layers that mxref has, by which the target's are asked.
    """

    formats: tuple[OwnFormat, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    operations: tuple[CallOperation, ...] = ()
    layers: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.formats or self.operations)

    @classmethod
    def of(cls, attributes: Mapping[str, Any]) -> OwnDefinitions:
        """What a target's attributes define.

        Objects in `FORMATS` and `OPERATIONS`, `FORMAT_VALUES`, and the layers of a `RECIPE`.
        """
        some, operations = (
            found if isinstance(found := attributes.get(name), Collection) else ()
            for name in ("FORMATS", "OPERATIONS")
        )
        own = tuple(one for one in some if isinstance(one, KINDS))
        values = attributes.get("FORMAT_VALUES", {})
        by_recipe: tuple[CallOperation, ...] = ()
        layers: frozenset[str] = frozenset()
        if "RECIPE" in attributes:  # which needs what others need not
            from mxref.targets.recipe_layers import known_layers, recipe_operations

            by_recipe = tuple(recipe_operations(attributes))
            layers = known_layers(attributes, by_recipe)
        if not operations:
            return cls(own, values, by_recipe, layers)
        from mxref.operations.call_operation import CallOperation

        given = tuple(one for one in operations if isinstance(one, CallOperation))
        return cls(own, values, (*given, *by_recipe), layers)

    @contextlib.contextmanager
    def known(self) -> Iterator[None]:
        """Let all verbs know the formats and operations by name while the context lasts.

        Raises:
            ValueError: see `mxref.formats.registered`, `mxref.exact.described` and
                `mxref.operations.registry.defined`.
        """
        if not isinstance(self.values, Mapping):
            raise ValueError(
                f"FORMAT_VALUES must be a dict of names and lists, got {type(self.values).__name__}"
            )
        with (
            registered(*self.formats),
            self._described(),
            defined(*self.operations),
        ):
            yield

    def _described(self) -> contextlib.AbstractContextManager[None]:
        if not self.values:  # as of most targets
            return contextlib.nullcontext()
        from mxref import exact

        return exact.described(self.values)
