"""``mxref quantize``: quantize the tensors of a file and print the error."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import errno
import fnmatch
import json
import math
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mxref import files
from mxref.bits.floats import LAYOUTS, U8
from mxref.blocks.container import Blocks
from mxref.blocks.dequantization import dequantize
from mxref.blocks.quantization import quantize
from mxref.blocks.tiles import Tiling, axis_index
from mxref.cli.quantize_figures import Figures, Read
from mxref.cli.screen import Verbs, add_json_argument, new_parser, print_table
from mxref.files import gguf_files
from mxref.formats.catalog import BlockFormat, block_format
from mxref.policy.choices import Tail
from mxref.policy.policy import Policy
from mxref.profiles import Profile, profile
from mxref.support.spread import Spread
from mxref.support.text import printable

_OUTPUTS = (".npz", ".safetensors", ".gguf")
#: Bytes of codes held in memory; further codes go to unnamed temporary files.
_IN_MEMORY = 1 << 25
_TENSOR = ("name", "shape", "dtype")
_FIGURES = ("blocks", "sqnr_db", "saturated", "flushed", "largest_error")
_COLUMNS = (*_TENSOR, *_FIGURES, "not_finite", "nan_blocks")


_NOTES = """\
figures, over the elements that are finite before and after:
  blocks         number of blocks
  sqnr_db        dB, 10 log10(sum of squares / sum of squared errors)
  saturated      share of all elements, 0 to 1: beyond the largest number times the scale
  flushed        share of all elements: non-zero, but decoded as zero
  largest_error  largest |decoded - element|, absolute: in the unit of the elements
  not_finite     share of all elements: infinity or NaN before or after
  nan_blocks     number of blocks whose scale is NaN
"-": nothing can be said, as of the ratio where there is no error; JSON has null or 0.
Tensors that cannot be quantized are skipped, with the reason, and are not in OUT."""


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    about = "quantize the tensors of a file and print the error"
    example = "mxref quantize model.safetensors --format mxfp4_e2m1 -o model.mxfp4.safetensors"
    exits = ("quantized, whatever the error is",)
    parser = new_parser(
        verbs, "quantize", _run, about, example, formats="blocks", exits=exits, notes=_NOTES
    )
    add = parser.add_argument
    about = "a .npy, .safetensors or .gguf file of floats"
    add("file", type=Path, metavar="FILE", help=about)
    add("--format", required=True, metavar="FORMAT", help="block format")
    by = parser.add_mutually_exclusive_group()
    by.add_argument("--policy", metavar="POLICY", help="policy (default: ocp)")
    by.add_argument("--profile", metavar="NAME", help="quantize and read as this profile does")
    add("--axis", type=int, default=-1, metavar="N", help="block axis (default -1)")
    add("--block-size", type=int, metavar="N", help="default: the format's own")
    about = "only tensors whose name matches, as in 'layers.*.weight'"
    add("--tensor", metavar="PATTERN", help=about)
    about = "the file's two-byte items are bfloat16 (.npy has no name for them)"
    add("--bfloat16", action="store_true", help=about)
    about = "also tensors of 8-bit, 6-bit and 4-bit floats"
    add("--small-floats", action="store_true", help=about)
    about = "write the blocks: .npz, .safetensors, or .gguf (mxfp4_e2m1 or nvfp4)"
    add("-o", "--out", type=Path, metavar="OUT", help=about)
    add_json_argument(parser)
    add("--html", type=Path, metavar="FILE", help="write a page, too (extra report)")


def _run(options: argparse.Namespace) -> int:
    options.policy = options.policy or "ocp"
    if options.out is not None and options.out.suffix not in _OUTPUTS:
        raise ValueError(f"--out must end in {', '.join(_OUTPUTS)}, got {options.out}")
    with contextlib.suppress(OSError):  # one of them is not there
        if options.out is not None and options.out.samefile(options.file):
            raise ValueError(f"--out must be another file than FILE, got {options.out}")
    several = options.file.suffix in (".safetensors", ".gguf")
    if options.tensor is not None and not several:
        raise ValueError(f"--tensor needs a .safetensors or .gguf file, got {options.file}")
    if options.small_floats and options.file.suffix != ".safetensors":
        raise ValueError(f"--small-floats needs a .safetensors file, got {options.file}")
    if options.file.suffix == ".npz":
        raise ValueError(f"FILE must hold floats, got {options.file}")
    errors = None if options.html is None else Spread()
    tensors, skipped, kept, total = _quantize_all(options, errors, several=several)
    if options.out is not None:
        if not several and options.out.suffix == ".npz":
            kept = dict(zip([""], kept.values(), strict=True))  # an archive of one needs no name
        files.write_blocks(options.out, kept, _profile(options) or options.policy)
    by = {"policy": options.policy} if options.profile is None else {"profile": options.profile}
    report = {"file": str(options.file), "format": block_format(options.format).name, **by}
    if errors is not None:
        _write_page(options, errors, tensors, skipped, total)
    written = {} if options.out is None else {"out": str(options.out)}
    if not several:
        figures = tensors[0]
        figures.pop("name")
        _print_one({**report, **figures, **written}, as_json=options.json)
    elif options.json:
        lists = {"tensors": tensors, "skipped": skipped, "total": total}
        print(json.dumps({**report, **lists, **written}, indent=1))
    else:
        _print_several({**report, **written}, tensors, skipped, total)
    return 0


def _quantize_all(
    options: argparse.Namespace, errors: Spread | None, *, several: bool
) -> tuple[list[dict[str, Any]], list[dict[str, str]], dict[str, Blocks], dict[str, Any]]:
    """Reports of the tensors, skipped tensors, the blocks to write, and the report of all."""
    # Wrong options are refused before a file is read.
    profile, fmt, empty = _profile(options), _format(options), np.zeros(0, np.float32)
    if profile is None:
        quantize(empty, fmt, options.policy)
    else:
        profile.quantize(empty.astype(LAYOUTS[(profile.floats or ["f32"])[0]].dtype), fmt)
    tail = _policy(options).layout.tail
    read: Read = dequantize
    if profile is not None and profile.speaks_of("dequantize", fmt.name):
        read = profile.dequantize
    tensors: list[dict[str, Any]] = []
    skipped: list[dict[str, str]] = []
    kept: dict[str, Blocks] = {}
    total, room = Figures(), _Room()
    for entry in files.entries(options.file, bfloat16=options.bfloat16):
        if options.tensor is not None and not fnmatch.fnmatchcase(entry.name, options.tensor):
            continue
        reason = _why_not(entry, options, fmt.block_shape, tail) if several else None
        if reason is not None:
            skipped.append({"name": entry.name, "reason": reason})
            continue
        if not several:
            _refuse_output(entry.name, entry.shape, options)
        values: Any = entry.load()
        blocks = _quantize_one(values, options, room)
        figures = Figures.of(values, blocks, read, errors)
        total += figures
        about = {"name": entry.name, "shape": list(values.shape), "dtype": str(values.dtype)}
        tensors.append({**about, **figures.report()})
        if options.out is None:
            room = _Room()
        else:
            kept[entry.name] = blocks
    if not tensors:
        why = f"the first: {printable(skipped[0]['reason'])}" if skipped else "none has such a name"
        raise ValueError(f"{options.file} must have a tensor to quantize, {why}")
    return tensors, skipped, kept, {"tensors": len(tensors), **total.report()}


def _profile(options: argparse.Namespace) -> Profile | None:
    return None if options.profile is None else profile(options.profile)


def _policy(options: argparse.Namespace) -> Policy:
    chosen = _profile(options)
    return Policy.parse(options.policy) if chosen is None else chosen.policy


def _format(options: argparse.Namespace) -> BlockFormat:
    fmt = block_format(options.format)
    if options.block_size is None:
        return fmt
    return dataclasses.replace(fmt, block_size=options.block_size)


def _why_not(
    entry: files.Entry, options: argparse.Namespace, unit: tuple[int, ...], tail: Tail
) -> str | None:
    """The reason why a tensor cannot be quantized, or None."""
    if entry.small and not options.small_floats:
        return f"it holds {entry.kind}, which --small-floats takes"
    if not entry.is_float and not entry.small:
        return f"it holds {entry.kind}, no floats"
    profile = _profile(options)
    if profile is not None and entry.kind.lower() not in (profile.floats or LAYOUTS):
        return f"it holds {entry.kind}, which {profile.name} does not take"
    try:
        axis = axis_index(options.axis, len(entry.shape))
        _refuse_output(entry.name, entry.shape, options)
    except ValueError as error:
        return str(error)
    length = (entry.shape or (1,))[axis if isinstance(axis, int) else 0]
    if tail is Tail.REFUSED and length % unit[0]:
        return f"{length} on the axis is no multiple of {unit[0]}, and the policy has tail=refused"
    return None


def _refuse_output(name: str, shape: tuple[int, ...], options: argparse.Namespace) -> None:
    """Refuse early a tensor that the output file cannot hold."""
    if options.out is not None and options.out.suffix == ".gguf":
        gguf_files.package(options.out)
        gguf_files.refuse(name, _format(options), axis_index(options.axis, len(shape)), shape)


def _quantize_one(values: Any, options: argparse.Namespace, room: _Room) -> Blocks:
    """The blocks of a tensor, their codes in memory or in a file."""
    fmt, profile = _format(options), _profile(options)
    tiling = Tiling.of(values.shape, axis_index(options.axis, values.ndim), fmt.block_shape)
    short = _policy(options).layout.tail is Tail.SHORT
    try:
        quantize(values.reshape(-1)[:0], fmt, _policy(options))  # refuses other types
        out = room.array(tiling.shape if short else tiling.padded), room.array(tiling.counts)
        if profile is not None:
            return profile.quantize(values, fmt, axis=options.axis, out=out)
        return quantize(values, fmt, options.policy, axis=options.axis, out=out)
    except TypeError as error:  # the file holds no floats
        raise ValueError(f"{options.file}: {error}") from None


class _Room:
    """Memory for codes, or unnamed temporary files once too much is in use."""

    def __init__(self) -> None:
        self._left = _IN_MEMORY

    def array(self, shape: tuple[int, ...]) -> U8:
        """A new array of bytes."""
        size = math.prod(shape)
        self._left -= size
        if self._left >= 0:
            return np.empty(shape, np.uint8)
        folder = tempfile.gettempdir()
        try:
            if size > shutil.disk_usage(folder).free:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            with tempfile.TemporaryFile(dir=folder) as file:
                if hasattr(os, "posix_fallocate"):  # a full disk is an error now, no crash later
                    os.posix_fallocate(file.fileno(), 0, size)
                else:
                    file.truncate(size)
                return np.memmap(file, np.uint8, "r+", shape=shape)
        except OSError as error:
            raise OSError(error.errno, error.strerror, folder) from None


def _print_one(report: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(report, indent=1))
        return
    for name, value in _said(report).items():
        print(f"{name:16} {_text(value)}")


def _print_several(
    report: Mapping[str, Any],
    tensors: list[dict[str, Any]],
    skipped: list[dict[str, str]],
    total: dict[str, Any],
) -> None:
    for name, value in report.items():
        print(f"{name:16} {_text(value)}")
    sums = {"name": f"total of {total['tensors']}", "shape": "", "dtype": "", **total}
    rows = [[_text(_said(row)[key]) for key in _COLUMNS] for row in (*tensors, sums)]
    print_table(_COLUMNS, rows)
    for one in skipped:
        print(printable(f"skipped {one['name']}: {one['reason']}"))


def _write_page(
    options: argparse.Namespace,
    errors: Spread,
    tensors: list[dict[str, Any]],
    skipped: list[dict[str, str]],
    total: dict[str, Any],
) -> None:
    from mxref.reports.quantize_page import write_quantize_page

    way = f"{block_format(options.format).name} by {options.profile or options.policy}"
    names = [name for name in _COLUMNS if name not in _TENSOR]

    def cells(figures: Mapping[str, Any], names: Sequence[str]) -> list[str]:
        return [_text(_said(figures)[name]) for name in names]

    tables = {"All tensors": (["way", *names], [[way, *cells(total, names)]])}
    tables["Each tensor"] = ([*_COLUMNS], [cells(one, _COLUMNS) for one in tensors])
    ratios = {way: [one["sqnr_db"] for one in tensors]}
    reasons = [f"{one['name']}: {one['reason']}" for one in skipped]
    write_quantize_page(
        options.html,
        str(options.file),
        tables=tables,
        ratios=ratios,
        errors={way: errors},
        skipped=reasons,
    )


def _said(figures: Mapping[str, Any]) -> dict[str, Any]:
    """The figures for a reader, without what nothing can be said of: a mean of no elements."""
    nothing: tuple[str, ...] = ()
    if not figures["blocks"]:
        nothing = ("saturated", "flushed", "largest_error", "not_finite")
    elif figures["not_finite"] == 1:
        nothing = ("largest_error",)
    return {**figures, **dict.fromkeys(nothing)}


def _text(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else printable(str(value))
