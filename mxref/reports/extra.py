"""The packages of the extra ``report``, imported when a page or a picture is first made."""

from __future__ import annotations

import importlib
from types import ModuleType

from mxref.support.extras import missing_package

__all__ = ["extra"]


def extra(module: str) -> ModuleType:
    """A module of jinja2 or matplotlib.

    Args:
        module: its full name.

    Raises:
        ValueError: the package is not installed.

    >>> extra("jinja2.utils").__name__
    'jinja2.utils'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise ValueError(missing_package("a page or a picture", package, "report")) from None
