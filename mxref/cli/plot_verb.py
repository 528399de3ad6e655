"""``mxref plot``: pictures of formats, roundings, errors, scale rules and a block."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mxref.cli.screen import Verbs, new_parser, print_table
from mxref.support.text import unknown_name

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_NOTES = """\
pictures:
  formats    number lines of all element formats
  roundings  numbers after rounding, with every threshold, under four roundings
  errors     largest relative error over binades, formats side by side
  rules      what each scale rule chooses over a binade of amax, and its error
  block      a block under each scale rule, with the error of each element
  all        all of them, into a folder
roundings, rules and block take --format; block takes --data.
A file is the same, byte for byte, from the same version of matplotlib."""


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    about = "draw pictures of formats, roundings, errors and scale rules"
    example = "mxref plot rules --format mxfp8_e4m3 -o rules.svg\n  mxref plot all -o pictures"
    parser = new_parser(
        verbs, "plot", _run, about, example, formats="blocks", exits=("drawn",), notes=_NOTES
    )
    add = parser.add_argument
    add("picture", metavar="PICTURE", help="which one (below), or all")
    add("--format", metavar="FORMAT", help="block format with E8M0 scales")
    about = "a .npy, .safetensors or .gguf file: its first numbers are the block"
    add("--data", type=Path, metavar="FILE", help=about)
    about = "a .svg or .png file; for all a folder, which gets .svg files"
    add("-o", "--out", type=Path, required=True, metavar="OUT", help=about)


def _run(options: argparse.Namespace) -> int:
    from mxref.reports.pictures import BLOCK, PICTURES, drawn
    from mxref.support.whole_file import write_file

    every = options.picture == "all"
    if not every and options.picture not in PICTURES:
        raise ValueError(unknown_name("PICTURE", options.picture, {**PICTURES, "all": None}))
    if options.data is not None and options.picture != "block":
        raise ValueError(f"--data must be given with the picture block, got {options.picture}")
    if not every and options.format is not None and PICTURES[options.picture].format is None:
        raise ValueError(
            f"--format cannot be given with {options.picture}, which shows all formats"
        )
    if not every and options.out.suffix not in (".svg", ".png"):
        raise ValueError(f"--out must end in .svg or .png, got {options.out}")
    block: Sequence[float] | NDArray[np.float32] = BLOCK
    if options.data is not None:
        block = _first_block(options.data, options.format)
    names = [*PICTURES] if every else [options.picture]
    rows = []
    for name in names:
        path = options.out / f"{name}.svg" if every else options.out
        content = drawn(name, path.suffix[1:], options.format, block)
        write_file(path, content)
        rows.append((str(path), PICTURES[name].about, f"{len(content):,} bytes"))
    print_table(("file", "picture", "size"), rows)
    return 0


def _first_block(path: Path, format: str | None) -> NDArray[np.float32]:
    """The first block of the first tensor of floats in a file."""
    import numpy as np

    from mxref import files
    from mxref.bits.floats import layout_of
    from mxref.formats.catalog import block_format
    from mxref.reports.pictures import PICTURES

    fmt = block_format(format or PICTURES["block"].format or "")
    # A .npy file holds one tensor; of other files the first one of floats is taken.
    some = (one for one in files.entries(path) if one.is_float or path.suffix == ".npy")
    entry = next(some, None)
    if entry is None:
        raise ValueError(f"--data must hold a tensor of floats, got {path}")
    values = np.asarray(entry.load())
    try:
        layout_of(values.dtype, f"--data {path}")
    except TypeError as error:
        raise ValueError(str(error)) from None
    values = values.reshape(-1)[: math.prod(fmt.block_shape)].astype(np.float32)
    numbers: NDArray[np.float32] = values
    return numbers
