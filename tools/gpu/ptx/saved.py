"""Launches as a file, with memory before and after, which `mx_check replay` makes again."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mxref.support.whole_file import write_file
from ptx.fastpath import Row
from ptx.layout import UNTOUCHED, words
from ptx.tensors import Questions

__all__ = ["as_bytes", "save"]


def as_bytes(row: Row, asked: Questions) -> bytes:
    """Launches that have run, little-endian, after a line that names the kernel.

    The line has its kind, format, float, encoder (`-` for none) and whether it is packed (0 or 1).
    Words of 8 bytes follow: the address and the size of the memory, how many tensors are written,
    and how many launches there are. Then come the memory before and after, the offset and size of
    each written tensor, and of each launch the grid and block in x and y, the size of its
    arguments, and these, each filled up to 8 bytes.
    """
    windows = asked.memory.windows()
    base, (end, last) = windows[0][0], windows[-1]
    size = end + len(last) - base
    before, after = (np.full(size, UNTOUCHED, np.uint8) for _ in range(2))
    for at, data in windows:
        before[at - base : at - base + len(data)] = data
        after[at - base : at - base + len(data)] = asked.memory.read(at)
    tensors = [window for *_, written in asked.checks for window, *_ in written]
    sizes = {at: len(data) for at, data in windows}
    head = " ".join([*row[:3], row[3] or "-", str(int(row[4]))]) + "\n"
    parts = [head.encode(), words("u8", base, size, len(tensors), len(asked.launches))]
    parts += [before.tobytes(), after.tobytes()]
    parts += [words("u8", at - base, sizes[at]) for at in tensors]
    for launch in asked.launches:
        given = b"".join(one + bytes(-len(one) % 8) for one in launch.arguments)
        parts += [words("u8", *launch.grid[:2], *launch.block[:2], len(given)), given]
    return b"".join(parts)


def save(folder: Path, row: Row, targets: tuple[str, ...], asked: Questions) -> None:
    """Write the file of each target: whole, or not at all."""
    name = "-".join([*row[:3], row[3].replace("<", "_").rstrip(">") or "any"] + ["packed"] * row[4])
    for target in targets:
        write_file(folder / target.replace(" ", "_") / f"{name}.run", as_bytes(row, asked))
