"""The command line: one short module for each verb."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from mxref._version import __version__
from mxref.cli import formats, quantize, regen, verify

__all__ = ["main"]

_VERBS = (formats, quantize, regen, verify)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns 0 for a pass, 1 for a mismatch, 2 for misuse."""
    parser = argparse.ArgumentParser(
        prog="mxref", description="Bit-exact reference of the OCP Microscaling (MX) formats."
    )
    parser.add_argument("--version", action="version", version=f"mxref {__version__}")
    verbs = parser.add_subparsers(title="verbs", required=True, metavar="VERB")
    for module in _VERBS:
        module.add_parser(verbs)
    options = parser.parse_args(arguments)
    try:
        status: int = options.run(options)
        sys.stdout.flush()
    except (ValueError, OSError) as error:
        if isinstance(error, BrokenPipeError):  # the reader, such as `head`, has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        text = str(error)
        if isinstance(error, OSError) and error.filename is not None:
            text = f"{error.filename}: {error.strerror}"
        print(f"mxref: error: {text}", file=sys.stderr)
        return 2
    return status
