"""The output of `mxref --version`: versions of mxref, its vectors and the packages it uses."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
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
    known = _found()
    found = {"mxref": __version__, "vectors": VECTORS_VERSION}
    extras = dict.fromkeys(_NEEDED, "")
    for one in _fields(known.get("mxref", ""), "Requires-Dist"):  # none: run from its sources
        match = _OPTIONAL.fullmatch(one)
        if match and match[2] not in _OTHER_EXTRAS:
            extras.setdefault(match[1], f" ({match[2]})")
    for name, extra in extras.items():
        for version in _fields(known.get(_normal(name), ""), "Version"):
            found[name] = version + extra
    return found


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _found() -> dict[str, str]:
    """The file with the metadata of each package on the path, as `importlib.metadata` has them.

    To import that takes longer than the rest of the command.
    """
    found: dict[str, str] = {}
    for folder in sys.path:
        with contextlib.suppress(OSError):  # no folder, such as a zip file
            for name in os.listdir(folder or "."):
                package, _, ending = name.rpartition(".")
                file = {"dist-info": "METADATA", "egg-info": "PKG-INFO"}.get(ending)
                if file:
                    place = os.path.join(folder, name, file)
                    found.setdefault(_normal(package.partition("-")[0]), place)
    return found


def _fields(place: str, field: str) -> list[str]:
    """The values of a field of a file of metadata; none without such a file."""
    with contextlib.suppress(OSError), open(place, "rb") as file:
        head = file.read().decode(errors="replace").replace("\r\n", "\n").partition("\n\n")[0]
        return re.findall(rf"^{field}: *(.*)$", head, re.MULTILINE)
    return []


class PrintVersions(argparse.Action):
    """Prints the versions, and ends the command."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        """Print and exit."""
        for name, version in versions().items():
            print(name, version)
        parser.exit()
