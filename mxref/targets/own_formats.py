"""The formats of a user in `FORMATS` of a file, and what their codes stand for."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mxref import exact
from mxref.formats.own_formats import KINDS, OwnFormat, registered

__all__ = ["OwnFormats"]


@dataclass(frozen=True, slots=True)
class OwnFormats:
    """Formats that a user defines beside a kernel.

    Args:
        formats: the formats.
        values: for each format what its codes stand for, by which the slow twin knows it; see
            `mxref.exact.described`.
    """

    formats: tuple[OwnFormat, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, attributes: Mapping[str, Any]) -> OwnFormats:
        """Those among the attributes of a target: objects in `FORMATS`, and `FORMAT_VALUES`."""
        claimed = attributes.get("FORMATS")
        some = claimed if isinstance(claimed, Collection) else ()
        return cls(
            tuple(one for one in some if isinstance(one, KINDS)),
            attributes.get("FORMAT_VALUES", {}),
        )

    @contextlib.contextmanager
    def known(self) -> Iterator[None]:
        """Let both references know the formats by name while the context lasts.

        Raises:
            ValueError: see `mxref.formats.registered` and `mxref.exact.described`.
        """
        if not isinstance(self.values, Mapping):
            raise ValueError(
                f"FORMAT_VALUES must be a dict of names and lists, got {type(self.values).__name__}"
            )
        with registered(*self.formats), exact.described(self.values):
            yield
