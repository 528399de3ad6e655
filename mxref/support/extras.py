"""What to install where a package that mxref can do without is missing."""

from __future__ import annotations

__all__ = ["missing_package"]


def missing_package(what: str, package: str, extra: str) -> str:
    """The sentence of an error: a package is missing, and which extra of mxref brings it.

    >>> missing_package("x.gguf", "gguf", "io").removeprefix("x.gguf needs the package gguf: ")
    "in a checkout of mxref, pip install -e '.[io]', elsewhere pip install gguf"
    """
    inside = f"in a checkout of mxref, pip install -e '.[{extra}]'"
    return f"{what} needs the package {package}: {inside}, elsewhere pip install {package}"
