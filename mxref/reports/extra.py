"""The packages of the extra ``report``, imported when a page or a picture is first made."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

from mxref.support.extras import missing_packages

__all__ = ["extra", "refuse_missing"]

#: What a page needs.
_OF_A_PAGE = ("jinja2", "matplotlib")


def extra(module: str) -> ModuleType:
    """A module of jinja2 or matplotlib.

    Args:
        module: its full name.

    Raises:
        ValueError: the package is not installed.

    >>> extra("jinja2.utils").__name__
    'jinja2.utils'
    """
    package = module.partition(".")[0]
    refuse_missing(package)
    return importlib.import_module(module)


def refuse_missing(*packages: str, of: Path | None = None) -> None:
    """Name every package that is not installed, before work begins that would be lost.

    Args:
        packages: what is needed; by default what a page needs.
        of: the file that the page is about; a .gguf file needs a package of its own.

    Raises:
        ValueError: some are missing.
    """
    missing = [one for one in packages or _OF_A_PAGE if not _is_there(one)]
    if of is not None and of.suffix == ".gguf" and not _is_there("gguf"):
        extras = "io,report" if missing else "io"
        raise ValueError(missing_packages(f"a page of {of}", extras, "gguf", *missing))
    if missing:
        raise ValueError(missing_packages("a page or a picture", "report", *missing))


def _is_there(package: str) -> bool:
    try:
        importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        return False
    return True
