"""Kernels that are data: a TOML file has the text of each, which is a module once it is written."""

from __future__ import annotations

import tomllib
from pathlib import Path

__all__ = ["kernel_texts", "written"]


def kernel_texts(path: Path) -> dict[str, str]:
    """The text of each kernel of a file; beside it, in a table of the kernel, is what it does."""
    found = tomllib.loads(path.read_text("utf-8"))
    return {name: one if isinstance(one, str) else one["code"] for name, one in found.items()}


def written(path: Path, folder: Path, *beside: Path) -> Path:
    """The folder, with a module for each kernel of a file, and modules that these import."""
    texts = kernel_texts(path) | {one.stem: one.read_text("utf-8") for one in beside}
    for name, text in texts.items():
        (folder / f"{name}.py").write_bytes(text.encode())
    return folder
