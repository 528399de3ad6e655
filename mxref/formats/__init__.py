"""Formats as frozen values: elements, scales and blocks, with their codes and numbers."""

from __future__ import annotations

from mxref.formats import catalog
from mxref.formats.catalog import *  # noqa: F403 (its `__all__` names them)
from mxref.formats.own_formats import registered

__all__ = [*catalog.__all__, "registered"]
