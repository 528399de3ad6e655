"""What to install where packages that mxref can do without are missing."""

from __future__ import annotations

__all__ = ["missing_packages"]


def missing_packages(what: str, extra: str, *packages: str) -> str:
    """The sentence of an error: every package that is missing, and which extra of mxref brings it.

    >>> missing_packages("x.gguf", "io", "gguf").removeprefix("x.gguf needs the package gguf: ")
    "in a checkout of mxref, pip install -e '.[io]', elsewhere pip install gguf"
    >>> missing_packages("a page", "report", "jinja2", "matplotlib").partition(":")[0]
    'a page needs the packages jinja2 and matplotlib'
    >>> missing_packages("a page of x.gguf", "io,report", "gguf", "jinja2", "matplotlib")[:60]
    'a page of x.gguf needs the packages gguf, jinja2 and matplot'
    """
    inside = f"in a checkout of mxref, pip install -e '.[{extra}]'"
    names = " and ".join(filter(None, [", ".join(packages[:-1]), packages[-1]]))
    needs = f"package{'s' * (len(packages) > 1)} {names}"
    return f"{what} needs the {needs}: {inside}, elsewhere pip install {' '.join(packages)}"
