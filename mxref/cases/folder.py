"""The default folder of the vectors."""

from __future__ import annotations

from pathlib import Path

import mxref

__all__ = ["vectors_folder"]


def vectors_folder(*, writing: bool = False) -> Path:
    """The folder of vectors that is used where none is named.

    That of an installed package, else `vectors/` of the package's checkout, else `vectors/` of the
    working folder.

    Args:
        writing: leave out that of an installed package, which must not be changed.
    """
    package = Path(mxref.__file__).parent
    brought = package / "_vectors"
    if brought.is_dir():
        return Path("vectors") if writing else brought
    is_checkout = (package.parent / "pyproject.toml").is_file()
    return package.parent / "vectors" if is_checkout else Path("vectors")
