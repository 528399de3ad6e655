"""``mxref quantize``: quantize a tensor from a file and say what that cost."""

from __future__ import annotations

import argparse
import io
import json
import tokenize
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from mxref.block import quantize
from mxref.blocks import Blocks
from mxref.cli._common import Verbs, new_parser
from mxref.golden.regen import write_file
from mxref.scale import decode_scale


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    parser = new_parser(
        verbs,
        "quantize",
        _run,
        "quantize a .npy tensor and print what that costs",
        "mxref quantize weights.npy --format mxfp4_e2m1 -o weights.mxfp4.npz",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="a .npy file of floats")
    parser.add_argument("--format", required=True, metavar="FORMAT", help="block format")
    parser.add_argument("--policy", default="ocp", metavar="POLICY", help="policy (default: ocp)")
    parser.add_argument("--axis", type=int, default=-1, metavar="N", help="block axis (default -1)")
    parser.add_argument("--block-size", type=int, metavar="N", help="default: the format's own")
    parser.add_argument(
        "--bfloat16",
        action="store_true",
        help="the file's two-byte items are bfloat16 (.npy has no name for them)",
    )
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        metavar="OUT.npz",
        help="write codes, scale_codes, shape, axis, block_size and format",
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.epilog = f"""{parser.epilog}

figures, as shares of all elements: saturated: beyond the largest number times the scale;
flushed: not zero, but decoded as zero. sqnr_db is null if there is no error or no signal."""


def _run(options: argparse.Namespace) -> int:
    if options.out is not None and options.out.suffix != ".npz":
        raise ValueError(f"--out must end in .npz, got {options.out}")
    values = _read(options.file, bfloat16=options.bfloat16)
    try:
        blocks = quantize(
            values, options.format, options.policy, axis=options.axis, block_size=options.block_size
        )
    except TypeError as error:  # the file holds no floats
        raise ValueError(f"{options.file}: {error}") from None
    report = {"file": str(options.file), "format": options.format, "policy": options.policy}
    report |= _cost(values, blocks)
    if options.out is not None:
        _write(options.out, blocks)
        report["out"] = str(options.out)
    if options.json:
        print(json.dumps(report, indent=1))
    else:
        for name, value in report.items():
            print(f"{name:16} {value:.6g}" if isinstance(value, float) else f"{name:16} {value}")
    return 0


def _read(path: Path, *, bfloat16: bool) -> NDArray[Any]:
    with path.open("rb") as file:
        if file.read(6) != b"\x93NUMPY":
            raise ValueError(f"{path} must be a whole .npy file, it does not begin as one")
    try:
        values: NDArray[Any] = np.load(path, allow_pickle=False)
    except (ValueError, EOFError, OverflowError, SyntaxError, tokenize.TokenError) as error:
        why = "it holds Python objects" if "allow_pickle" in str(error) else "it is cut or damaged"
        raise ValueError(f"{path} must be a whole .npy file of numbers, {why}") from None
    except MemoryError:
        raise ValueError(f"{path} must be a whole .npy file that fits into memory") from None
    if bfloat16:
        if values.dtype.kind not in "uV" or values.dtype.itemsize != 2:
            raise ValueError(f"--bfloat16 needs uint16 or untyped pairs, {path} has {values.dtype}")
        bits = values if values.dtype.kind == "V" else values.astype(np.uint16)
        return bits.view(ml_dtypes.bfloat16)
    if values.dtype == np.dtype("V2"):
        raise ValueError(f"{path} has items of two bytes without a type: is it --bfloat16?")
    return values


def _cost(values: NDArray[Any], blocks: Blocks) -> dict[str, Any]:
    """Figures over the finite elements outside NaN blocks, computed in float64."""
    axis, size = blocks.tiling.axes[0], blocks.format.elements_per_block
    exact = np.atleast_1d(values.astype(np.float64))
    error = np.atleast_1d(blocks.dequantize(np.float64))
    finite = np.isfinite(error) & np.isfinite(exact)
    scales = np.repeat(decode_scale(blocks.scale_codes, np.float64), size, axis=axis)
    scales = np.take(scales, np.arange(exact.shape[axis]), axis=axis)
    limit = blocks.format.element.max_normal
    with np.errstate(all="ignore"):
        saturated = finite & (np.abs(exact) / scales > limit)
        flushed = finite & (exact != 0) & (error == 0)
        error = np.where(finite, error - exact, 0.0)
        exact = np.where(finite, exact, 0.0)
        unit = float(np.max(np.abs(exact), initial=0.0)) or 1.0  # so that no square overflows
        signal, noise = float(np.sum((exact / unit) ** 2)), float(np.sum((error / unit) ** 2))
        sqnr = float(10 * np.log10(signal / noise)) if noise and signal else None
    count = max(exact.size, 1)
    return {
        "shape": list(blocks.shape),
        "dtype": str(values.dtype),
        "blocks": int(blocks.scale_codes.size),
        "sqnr_db": sqnr,
        "saturated": float(saturated.sum() / count),
        "flushed": float(flushed.sum() / count),
        "largest_error": float(np.max(np.abs(error), initial=0.0)),
        "not_finite": float(1 - finite.sum() / count) if exact.size else 0.0,
        "nan_blocks": int((blocks.scale_codes == 0xFF).sum()),
    }


def _write(path: Path, blocks: Blocks) -> None:
    buffer = io.BytesIO()
    np.savez(
        buffer,
        codes=blocks.codes,
        scale_codes=blocks.scale_codes,
        shape=np.array(blocks.shape, np.int64),
        axis=np.int64(blocks.tiling.axes[0]),
        block_size=np.int64(blocks.format.elements_per_block),
        format=np.array(blocks.format.name),
    )
    write_file(path, buffer.getvalue())
