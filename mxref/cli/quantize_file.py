"""A file's tensors quantized in one or several ways, for ``mxref quantize``."""

from __future__ import annotations

import argparse
import contextlib
import errno
import json
import math
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mxref import files
from mxref.bits.floats import U8
from mxref.blocks.container import Blocks
from mxref.blocks.quantization import quantize
from mxref.blocks.tiles import Tiling, axis_index
from mxref.cli.format_names import formats_of
from mxref.cli.quantize_figures import Figures
from mxref.cli.quantize_table import (
    as_json,
    defined_figures,
    print_explained,
    print_page,
    print_ways,
    text,
)
from mxref.cli.quantize_ways import Way, ways_of
from mxref.cli.screen import counted, print_table
from mxref.cli.tensor_arguments import (
    entries_of,
    holds_several,
    print_skipped,
    why_no_floats,
    why_none,
)
from mxref.files import gguf_files
from mxref.numbers.codes import word_of
from mxref.policy.choices import Tail
from mxref.support.spread import Spread
from mxref.support.text import printable

__all__ = ["quantize_file"]

_OUTPUTS = (".npz", ".safetensors", ".gguf")
#: Bytes of codes that are held in memory; further codes go to unnamed temporary files.
_IN_MEMORY = 1 << 25
#: Why a tensor of one axis is left out: a few of them would decide the totals.
_VECTOR = "a vector, such as a norm or a bias (--all takes vectors)"
_TENSOR = ("name", "shape", "dtype")
_FIGURES = ("blocks", "sqnr_db", "saturated", "flushed", "largest_error")
_COLUMNS = (*_TENSOR, *_FIGURES, "not_finite", "nan_blocks")


def quantize_file(options: argparse.Namespace) -> int:
    """Run the verb; its exit status."""
    if not options.format:
        names = ", ".join(name for line in formats_of("blocks") for name in line)
        raise ValueError(f"--format must name a block format, got none: give one of {names}")
    if options.out is not None and options.out.suffix not in _OUTPUTS:
        raise ValueError(f"--out must end in {', '.join(_OUTPUTS)}, got {options.out}")
    with contextlib.suppress(OSError):  # one of the files does not exist
        if options.out is not None and options.out.samefile(options.file):
            raise ValueError(f"--out must be another file than FILE, got {options.out}")
    # Wrong options are refused before a file is read.
    gguf_out = options.out is not None and options.out.suffix == ".gguf"
    if options.html is not None:
        from mxref.reports.extra import refuse_missing

        refuse_missing(of=options.out if gguf_out else options.file)
    if gguf_out:
        gguf_files.package(options.out)
    ways, left_out = ways_of(options.format, options.policy, options.profile, options.block_size)
    compared = len(ways) + len(left_out) > 1
    if options.out is not None and compared:
        got = f"got {len(ways) + len(left_out)}: give one --format, and one --policy or --profile"
        raise ValueError(f"--out must be given with one way to quantize, {got}")
    done = _quantize_all(options, ways)
    several = holds_several(options.file)
    if options.out is not None:
        if not several and options.out.suffix == ".npz":
            # An archive of one needs no name.
            done.kept = dict(zip([""], done.kept.values(), strict=True))
        files.write_blocks(options.out, done.kept, ways[0].by)
    totals = [{"tensors": len(done.tensors), **total.report()} for total in done.totals]
    if options.html is not None:
        print_page(options, ways, done.tensors, done.skipped, totals, done.errors)
    if compared:
        if options.json:
            report = as_json(ways, left_out, done.tensors, done.skipped, totals)
            print(json.dumps({"file": str(options.file), **report}, indent=1))
        else:
            print(f"file  {printable(str(options.file))}")
            print_ways(ways, left_out, done.tensors, done.skipped, totals)
        return 0
    report = {"file": str(options.file), **ways[0].about}
    written = {} if options.out is None else {"out": str(options.out)}
    tensors = [{**about, **figures} for about, (figures,) in done.tensors]
    if not several:
        tensors[0].pop("name")
        _print_one({**report, **tensors[0], **written}, as_json=options.json)
    elif options.json:
        lists = {"tensors": tensors, "skipped": done.skipped, "total": totals[0]}
        print(json.dumps({**report, **lists, **written}, indent=1))
    else:
        _print_several({**report, **written}, tensors, done.skipped, totals[0])
    return 0


@dataclass
class _Done:
    """The results for the tensors of a file.

    Args:
        totals: the figures of all tensors, for each way.
        tensors: for each tensor its description, and its figures for each way.
        skipped: names of tensors that were not quantized, with the reason.
        kept: the blocks to write.
        errors: for each way the counts of relative errors, or None if they are not wanted.
    """

    totals: list[Figures]
    tensors: list[tuple[dict[str, Any], list[dict[str, Any]]]] = field(default_factory=list)
    skipped: list[dict[str, str]] = field(default_factory=list)
    kept: dict[str, Blocks] = field(default_factory=dict)
    errors: list[Spread | None] = field(default_factory=list)


def _quantize_all(options: argparse.Namespace, ways: Sequence[Way]) -> _Done:
    """Quantize each tensor in each way, one at a time."""
    done, room = _Done([Figures() for _ in ways]), _Room()
    done.errors = [None if options.html is None else Spread() for _ in ways]
    chosen: list[files.Entry] = []
    for entry in entries_of(options.file, options):
        reason = _why_not(entry, options, ways) if holds_several(options.file) else None
        if reason is not None:
            done.skipped.append({"name": entry.name, "reason": reason})
            continue
        if not holds_several(options.file):
            _refuse_output(entry, options, ways[0])
        chosen.append(entry)
    work = len(ways) * sum(math.prod(entry.shape) for entry in chosen)
    with counted("quantizing", work) as tell:
        for entry in chosen:
            values: Any = entry.load()
            row = []
            for way, total, errors in zip(ways, done.totals, done.errors, strict=True):
                blocks = _quantize_one(values, way, options, room)
                figures = Figures.of(values, blocks, way.read, tell, errors)
                total += figures  # in place
                row.append(figures.report())
                if options.out is None:
                    room = _Room()
                else:
                    done.kept[entry.name] = blocks
            about = {"name": entry.name, "shape": list(values.shape), "dtype": str(values.dtype)}
            done.tensors.append((about, row))
    if not chosen:
        raise ValueError(f"{options.file} must have a tensor to quantize, {why_none(done.skipped)}")
    return done


def _why_not(entry: files.Entry, options: argparse.Namespace, ways: Sequence[Way]) -> str | None:
    """The reason why a tensor cannot be quantized in all ways, or None."""
    reasons = (why_no_floats(entry, options), *(way.why_not(entry) for way in ways))
    if any(reasons):
        return next(filter(None, reasons))
    if len(entry.shape) < 2 and not options.all:
        return _VECTOR
    try:
        tilings = [_tiling(entry.shape, way, options) for way in ways]
        _refuse_output(entry, options, ways[0])
    except ValueError as error:
        return str(error)
    for way, tiling in zip(ways, tilings, strict=True):
        for length, unit in zip(tiling.shape, tiling.unit, strict=True):
            if way.policy.layout.tail is Tail.REFUSED and length % unit:
                why = "and the policy has tail=refused"
                return f"{length} on the axis is no multiple of {unit}, {why}"
    return None


def _tiling(shape: tuple[int, ...], way: Way, options: argparse.Namespace) -> Tiling:
    """How the blocks of a tensor lie."""
    block = way.format.block_shape
    return Tiling.of(shape, axis_index(options.axis, len(shape), len(block)), block)


def _refuse_output(entry: files.Entry, options: argparse.Namespace, way: Way) -> None:
    """Refuse a tensor that the output file cannot hold, before it is quantized."""
    if options.out is not None and options.out.suffix == ".gguf":
        gguf_files.package(options.out)
        axis = axis_index(options.axis, len(entry.shape))
        gguf_files.refuse(entry.name, way.format, axis, entry.shape)


def _quantize_one(values: Any, way: Way, options: argparse.Namespace, room: _Room) -> Blocks:
    """The blocks of a tensor, their codes in memory or in a file."""
    tiling = _tiling(values.shape, way, options)
    short = way.policy.layout.tail is Tail.SHORT
    try:
        nothing = values.reshape(-1)[:0].reshape((0,) * max(values.ndim, 1))
        quantize(nothing, way.format, way.policy)  # refuses other types
        out = (
            room.array(tiling.shape if short else tiling.padded),
            room.array(tiling.counts, word_of(way.format.scale)),
        )
        return way.quantize(values, options.axis, out)
    except TypeError as error:  # the file holds no floats
        raise ValueError(f"{options.file}: {error}") from None


class _Room:
    """Memory for codes; unnamed temporary files once too much is in use."""

    def __init__(self) -> None:
        self._left = _IN_MEMORY

    def array(self, shape: tuple[int, ...], word: type[np.generic] = np.uint8) -> U8:
        """A new array of codes."""
        size = math.prod(shape) * np.dtype(word).itemsize
        self._left -= size
        if self._left >= 0:
            return np.empty(shape, word)
        folder = tempfile.gettempdir()
        try:
            if size > shutil.disk_usage(folder).free:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            with tempfile.TemporaryFile(dir=folder) as file:
                if hasattr(os, "posix_fallocate"):  # a full disk is an error now, not a crash later
                    os.posix_fallocate(file.fileno(), 0, size)
                else:
                    file.truncate(size)
                return np.memmap(file, word, "r+", shape=shape)
        except OSError as error:
            raise OSError(error.errno, error.strerror, folder) from None


def _print_one(report: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(report, indent=1))
        return
    for name, value in defined_figures(report).items():
        print(f"{name:16} {text(value)}")
    print_explained()


def _print_several(
    report: Mapping[str, Any],
    tensors: list[dict[str, Any]],
    skipped: list[dict[str, str]],
    total: dict[str, Any],
) -> None:
    for name, value in report.items():
        print(f"{name:16} {text(value)}")
    sums = {"name": f"total of {total['tensors']}", "shape": "", "dtype": "", **total}
    rows = [[text(defined_figures(row)[key]) for key in _COLUMNS] for row in (*tensors, sums)]
    print_table(_COLUMNS, rows)
    print_explained()
    print_skipped(skipped)
