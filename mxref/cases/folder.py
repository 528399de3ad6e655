"""Where the vectors are."""

from __future__ import annotations

from pathlib import Path

import mxref

__all__ = ["vectors_folder"]


def vectors_folder(*, writing: bool = False) -> Path:
    """The vectors that are used where nobody names a folder.

    Those that an installed package brings, else `vectors/` of the checkout that the package is in,
    else `vectors/` of the working folder.

    Args:
        writing: leave out those of an installed package, which are not to be changed.
    """
    package = Path(mxref.__file__).parent
    brought = package / "_vectors"
    if brought.is_dir():
        return Path("vectors") if writing else brought
    is_checkout = (package.parent / "pyproject.toml").is_file()
    return package.parent / "vectors" if is_checkout else Path("vectors")
