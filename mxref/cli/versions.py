"""The output of `mxref --version`: versions of mxref, its vectors and the packages it uses."""

from __future__ import annotations

import argparse
import contextlib
import re
from typing import Any

from mxref._version import VECTORS_VERSION, __version__

__all__ = ["PrintVersions", "versions"]

#: Packages of every installation; and extras that add nothing to the command.
_NEEDED = ("numpy", "ml_dtypes")
_OTHER_EXTRAS = ("dev", "docs", "peers", "test")
_OPTIONAL = re.compile(r"""([\w.-]+)[^;]*;.*\bextra == ["']([\w-]+)["']""")


def versions() -> dict[str, str]:
    """Versions by name; a package of an installed extra has the extra's name behind it.

    >>> [*versions()][:4]
    ['mxref', 'vectors', 'numpy', 'ml_dtypes']
    """
    import importlib.metadata  # which takes time, and every verb imports this module

    found = {"mxref": __version__, "vectors": VECTORS_VERSION}
    extras = dict.fromkeys(_NEEDED, "")
    try:
        wanted = importlib.metadata.requires("mxref") or []
    except importlib.metadata.PackageNotFoundError:
        wanted = []  # not installed, but run from its sources
    for one in wanted:
        match = _OPTIONAL.fullmatch(one)
        if match and match[2] not in _OTHER_EXTRAS:
            extras.setdefault(match[1], f" ({match[2]})")
    for name, extra in extras.items():
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name) + extra
    return found


class PrintVersions(argparse.Action):
    """Prints the versions, and ends the command."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        """Print and exit."""
        for name, version in versions().items():
            print(name, version)
        parser.exit()
