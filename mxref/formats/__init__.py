"""Formats as frozen values: elements, scales and blocks, with their codes and numbers."""

from __future__ import annotations

from mxref.formats import catalog
from mxref.formats.catalog import *  # noqa: F403 (its `__all__` names them)

__all__ = list(catalog.__all__)
