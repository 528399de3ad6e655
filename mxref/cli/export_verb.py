"""``mxref export``: encoders as tables, and the golden vectors as arrays."""

from __future__ import annotations

import argparse
from pathlib import Path

from mxref.cli.screen import Verbs, add_vectors_argument, new_parser, vectors_folder
from mxref.cli.target_arguments import add_name_options


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    about = "export encoders as C, CUDA or Verilog tables, and the vectors as arrays"
    example = (
        "mxref export table --format e4m3 --as c -o e4m3.h\n"
        "  mxref export vectors --op encode --format e4m3 --as npy -o arrays"
    )
    exits = ("written; with --check: DIR is as it would be", "with --check: DIR differs")
    parser = new_parser(verbs, "export", _check, about, example, formats="vectors", exits=exits)
    about = "exit 1 if `export vectors` would change DIR"
    parser.add_argument("--check", type=Path, metavar="DIR", help=about)
    _add_vectors(parser)
    what = parser.add_subparsers(title="what", metavar="WHAT")
    _add_table(what)
    about = "write the golden vectors as arrays, with an index.json"
    example = "mxref export vectors --op encode --format e4m3 --as readmemh -o hex"
    vectors = new_parser(
        what, "vectors", _vectors, about, example, formats="vectors", exits=("written",)
    )
    add_name_options(vectors)
    about = "only this column; may be given again"
    vectors.add_argument("--column", action="append", default=[], metavar="POLICY", help=about)
    _add_as(vectors, "npy, bin, readmemh, c or safetensors")
    _add_out(vectors, "DIR", "folder to write")
    _add_vectors(vectors)


def _add_table(what: Verbs) -> None:
    about = "write the complete encoder of a policy as a table and its lookup"
    example = (
        "mxref export table --format e2m1 --policy ocp+rounding=toward_zero --as verilog -o fp4.v"
    )
    exits = ("the table was written",)
    table = new_parser(what, "table", _table, about, example, formats="tables", exits=exits)
    table.add_argument("--format", required=True, metavar="FORMAT", help="element format")
    table.add_argument("--policy", default="ocp", metavar="POLICY", help="policy (default: ocp)")
    about = "f32, bf16, f16 or f64 (default: f32)"
    table.add_argument("--float", default="f32", metavar="FLOAT", help=about)
    _add_as(table, "c, cuda, verilog (and a ROM FILE.hex beside it), npy, bin or readmemh")
    _add_out(table, "FILE", "file to write")


def _add_as(parser: argparse.ArgumentParser, help: str) -> None:
    parser.add_argument("--as", dest="kind", required=True, metavar="KIND", help=help)


def _add_out(parser: argparse.ArgumentParser, name: str, help: str) -> None:
    parser.add_argument("-o", "--out", type=Path, required=True, metavar=name, help=help)


def _add_vectors(parser: argparse.ArgumentParser) -> None:
    add_vectors_argument(parser, default=argparse.SUPPRESS)  # allowed before or after WHAT


def _source(options: argparse.Namespace) -> Path:
    folder: Path = getattr(options, "vectors", None) or vectors_folder()
    return folder


def _table(options: argparse.Namespace) -> int:
    from mxref.golden.export import encode_table
    from mxref.support.whole_file import write_file

    _refuse_check(options)
    table = encode_table(options.format, options.policy, options.float)
    for name, data in table.files(options.kind, options.out.name).items():
        write_file(options.out.parent / name, data)
    print(table.about())
    return 0


def _vectors(options: argparse.Namespace) -> int:
    from mxref.golden import export

    _refuse_check(options)
    selection = {name: getattr(options, name) for name in ("op", "format", "float", "column")}
    made = export.files(_source(options), options.kind, selection)
    export.write(options.out, made)
    print(f"{len(made)} files, {sum(map(len, made.values())) / 1e6:.1f} MB in {options.out}")
    print("index.json says of each array what its rows hold")
    return 0


def _check(options: argparse.Namespace) -> int:
    from mxref.golden import export

    if options.check is None:
        raise ValueError("export must be given table, vectors or --check DIR: see --help")
    if not options.check.is_dir():
        raise ValueError(f"--check must be a folder, {options.check} is none")
    problems = export.check(options.check, _source(options))
    for problem in problems:
        print(problem)
    print(f"{options.check} {'differs from' if problems else 'is'} what would be exported now")
    return 1 if problems else 0


def _refuse_check(options: argparse.Namespace) -> None:
    if options.check is not None:
        raise ValueError("--check must be given alone, without table or vectors")
