"""Arguments of verbs that read tensors from a file, and the tensors that they choose."""

from __future__ import annotations

import argparse
import fnmatch
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mxref.support.text import a_few, printable

if TYPE_CHECKING:
    from mxref import files

__all__ = [
    "add_tensor_arguments",
    "entries_of",
    "holds_several",
    "print_skipped",
    "why_no_floats",
    "why_none",
]

#: Suffixes of files whose tensors have names and types.
_SEVERAL = (".npz", ".safetensors", ".gguf")
#: Names of skipped tensors in a line, at most.
_NAMED = 8


def add_tensor_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose tensors of a file, and say what they hold."""
    add = parser.add_argument
    about = "only tensors whose name matches, as in 'layers.*.weight'"
    add("--tensor", metavar="PATTERN", help=about)
    about = "the file's two-byte items are bfloat16 (.npy has no name for them)"
    add("--bfloat16", action="store_true", help=about)
    about = "also tensors of 8-bit, 6-bit and 4-bit floats"
    add("--small-floats", action="store_true", help=about)


def holds_several(path: Path) -> bool:
    """Whether a file's tensors have names, which `--tensor` chooses from."""
    return path.suffix in _SEVERAL


def entries_of(path: Path, options: argparse.Namespace) -> Iterator[files.Entry]:
    """The tensors of a file that the options name.

    Args:
        path: the file.
        options: those of `add_tensor_arguments`.

    Raises:
        OSError, ValueError: as `files.entries`; options that do not fit this file.
    """
    if options.tensor is not None and not holds_several(path):
        raise ValueError(f"--tensor needs a .npz, .safetensors or .gguf file, got {path}")
    if options.small_floats and path.suffix != ".safetensors":
        raise ValueError(f"--small-floats needs a .safetensors file, got {path}")
    from mxref import files

    for entry in files.entries(path, bfloat16=options.bfloat16):
        if options.tensor is None or fnmatch.fnmatchcase(entry.name, options.tensor):
            yield entry


def why_no_floats(entry: files.Entry, options: argparse.Namespace) -> str | None:
    """The reason why a tensor of a file with several is not taken as floats, or None."""
    if entry.small and not options.small_floats:
        return f"it holds {entry.kind}, which --small-floats takes"
    if not entry.is_float and not entry.small:
        return f"it holds {entry.kind}, no floats"
    return None


def why_none(skipped: Sequence[Mapping[str, str]]) -> str:
    """The reason why no tensor of a file is left, as part of a sentence."""
    return f"the first: {printable(skipped[0]['reason'])}" if skipped else "none has such a name"


def print_skipped(skipped: Iterable[Mapping[str, str]]) -> None:
    """Print a line for each reason why tensors were skipped."""
    by_reason: dict[str, list[str]] = {}
    for one in skipped:
        by_reason.setdefault(one["reason"], []).append(one["name"])
    for reason, names in by_reason.items():
        print(printable(f"skipped {a_few(names, _NAMED)}: {reason}"))
