"""``mxref quantize``: quantize a file's tensors in one or several ways, and print the error."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from mxref.cli.own_names import add_formats_argument
from mxref.cli.screen import Verbs, add_json_argument, new_parser
from mxref.cli.tensor_arguments import add_tensor_arguments

_NOTES = """\
figures, over the elements that are finite before and after:
  blocks         number of blocks
  sqnr_db        dB, 10 log10(sum of squares / sum of squared errors)
  saturated      share of all elements, 0 to 1: beyond the largest number times the scale
  flushed        share of all elements: non-zero, but decoded as zero
  largest_error  largest |decoded - element|, absolute: in the unit of the elements
  not_finite     share of all elements: infinity or NaN before or after
  nan_blocks     number of blocks whose scale is NaN
  bits           stored bits of an element, with its share of the scale
"-": nothing can be said, as of the ratio where there is no error; JSON has null or 0.
Tensors that cannot be quantized are skipped, with the reason, and are not in OUT; so are vectors
of a file of several tensors, such as norms and biases, without --all.
Of several --format, --policy and --profile each format under each policy and each profile is a row;
those that do not go together are named. A tensor that one row cannot take is skipped for all."""


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    about = "quantize the tensors of a file and print the error"
    example = "mxref quantize model.safetensors --format mxfp4_e2m1 -o model.mxfp4.safetensors"
    example += """
  mxref quantize model.safetensors --format mxfp4_e2m1 --format nvfp4 \\
    --policy ocp --policy ocp+scale_rule=rceil --policy ocp+scale_rule=even"""
    exits = ("quantized, whatever the error is",)
    parser = new_parser(
        verbs, "quantize", _run, about, example, formats="blocks", exits=exits, notes=_NOTES
    )
    add = parser.add_argument
    about = "a .npy, .npz, .safetensors or .gguf file of floats"
    add("file", type=Path, metavar="FILE", help=about)
    more: dict[str, Any] = {"action": "append", "default": []}
    add(
        "--format",
        metavar="FORMAT",
        help="block format, which must be given; may be given again",
        **more,
    )
    add_formats_argument(parser)
    about = "choices, such as ocp+scale_rule=rceil (default: ocp); may be given again"
    add("--policy", metavar="POLICY", help=about, **more)
    add(
        "--profile",
        metavar="NAME",
        help="quantize and read as this profile does; may be given again",
        **more,
    )
    add(
        "--axis", type=int, default=-1, metavar="N", help="axis along which blocks lie (default -1)"
    )
    add("--block-size", type=int, metavar="N", help="elements of a block (default: as FORMAT has)")
    add_tensor_arguments(parser)
    about = "also tensors of one axis, such as norms and biases, of a file of several"
    add("--all", action="store_true", help=about)
    about = "write the blocks: .npz, .safetensors, or .gguf (mxfp4_e2m1 or nvfp4)"
    add("-o", "--out", type=Path, metavar="OUT", help=about)
    add_json_argument(parser)
    add("--html", type=Path, metavar="FILE", help="also write a page (needs mxref[report])")


def _run(options: argparse.Namespace) -> int:
    from mxref.cli.quantize_file import quantize_file

    return quantize_file(options)
