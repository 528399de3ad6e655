"""``mxref formats``: the properties of every format, and the values of one."""

from __future__ import annotations

import argparse
import itertools
import json
import math
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from mxref.cli.explanation import WIDTH
from mxref.cli.format_names import FORMATS_OF, formats_of, typed_format
from mxref.cli.own_names import add_formats_argument
from mxref.cli.screen import Verbs, add_json_argument, new_parser, print_table
from mxref.formats.catalog import (
    BLOCK_FORMATS,
    ELEMENT_FORMATS,
    OTHER_BLOCK_FORMATS,
    OTHER_FORMATS,
    SCALE_FORMATS,
    BlockFormat,
    CodeFormat,
    ElementFormat,
    Specials,
)
from mxref.support.text import hex_float, unknown_name

#: The most binades of which each ulp is printed.
_BINADES = 8
_NOTES = """\
columns:
  bits            of a code; s/e/m: of its sign, exponent and mantissa
  bias            what is subtracted from the exponent field
  emax            exponent of the largest number, a power of two
  max, min        numbers that codes stand for, without a unit
  inf, nan        codes in hexadecimal, a-b from a to b
  block size      elements that share a scale
  bits per block  of all elements and the scale, without any padding
  stored bits     the same with the scale in whole bytes
  tensor scale    whether a float32 multiplies all blocks of a tensor"""


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    about = "print the properties of the formats"
    parser = new_parser(
        verbs,
        "formats",
        _run,
        about,
        "mxref formats e2m1\n  mxref formats --of fuzz\n"
        "  mxref formats tiles_128x4 --shape 128 256",
        formats="all",
        exits=("the format was printed",),
        notes=_NOTES,
    )
    about = "one format: its codes with their values; or one scale layout, such as tiles_128x4"
    parser.add_argument("name", nargs="?", metavar="NAME", help=about)
    parser.add_argument("--all", action="store_true", help="all codes of an 8-bit format as well")
    add_formats_argument(parser)
    about = "only the names that a verb takes, such as fuzz"
    parser.add_argument("--of", choices=[*FORMATS_OF], metavar="KIND", help=about)
    about = "with a scale layout: rows and columns of a matrix, with blocks along its rows"
    add = parser.add_argument
    add("--shape", type=int, nargs=2, metavar=("ROWS", "COLUMNS"), help=about)
    add("--block", type=int, default=32, metavar="N", help="with --shape: elements in a block (32)")
    add_json_argument(parser)


def _coded() -> dict[str, CodeFormat]:
    """The formats of codes, and the float types as formats."""
    from mxref.bits.floats import LAYOUTS

    floats = {
        name: ElementFormat(name, one.exponent_bits, one.mantissa_bits, one.bias, Specials.IEEE)
        for name, one in LAYOUTS.items()
    }
    return {**ELEMENT_FORMATS, **SCALE_FORMATS, **OTHER_FORMATS, **floats}


def _blocks() -> dict[str, BlockFormat]:
    return {**BLOCK_FORMATS, **OTHER_BLOCK_FORMATS}


def _run(options: argparse.Namespace) -> int:
    if options.of is not None:
        if options.name is not None or options.all:
            raise ValueError("--of must be given without NAME and --all: it lists names")
        lines = list(map(list, formats_of(options.of)))
        names = [name for line in lines for name in line]
        if options.json:
            print(json.dumps(names))
        else:
            for line in lines:
                print(textwrap.fill(" ".join(line), WIDTH, break_on_hyphens=False))
    elif options.name is None and options.shape is None:
        _print_all(as_json=options.json)
    elif options.shape is not None or not explain_format(
        options.name, every=options.all, as_json=options.json
    ):
        _print_scale_layout(options)
    return 0


def _print_scale_layout(options: argparse.Namespace) -> None:
    """Print where the scales of a matrix lie, if the name is that of a scale layout."""
    from mxref.cli.scale_layout_facts import SCALE_LAYOUTS, print_scale_layout

    if options.name in SCALE_LAYOUTS:
        print_scale_layout(options.name, options.shape, options.block, as_json=options.json)
    elif options.shape is not None:
        layouts = dict.fromkeys(SCALE_LAYOUTS)
        raise ValueError(unknown_name("NAME with --shape", options.name, layouts))
    else:
        raise ValueError(unknown_name("format", options.name, {**_coded(), **_blocks()}))


def explain_format(
    typed: str,
    *,
    every: bool = False,
    as_json: bool = False,
    whole: int = 64,
    print_rows: Callable[[Sequence[str], Sequence[Sequence[str]]], None] = print_table,
) -> bool:
    """Print a format; False if there is none of that name.

    Args:
        typed: the format's name as users type it.
        every: whether all codes of an 8-bit format are printed.
        as_json: whether to print JSON.
        whole: formats of at most this many codes are printed whole.
        print_rows: prints the table of codes.
    """
    name = typed_format("format", typed)
    if name in _blocks():
        _print_block(_blocks()[name], as_json=as_json)
        return True
    if name not in _coded():
        return False
    fmt = _coded()[name]
    codes = _codes(fmt, every=every, whole=whole)
    if as_json:
        print(json.dumps({**_properties(fmt), **precision_of(fmt), "codes": codes}, indent=1))
        return True
    for key, value in {**_properties(fmt), **precision_of(fmt)}.items():
        print(f"{key:14} {_text(value)}")
    print()
    header = ("code", "bits", "value", "hex value", "note")
    print_rows(header, [[str(code[key]) for key in header] for code in codes])
    if fmt.code_count > whole and not every and fmt.bits <= 8:
        print(f"(the notable codes; all {fmt.code_count} with `mxref formats {name} --all`)")
    return True


def format_data(typed: str) -> dict[str, Any] | None:
    """The facts that `explain_format` prints, as JSON values; None if no format has that name."""
    name = typed_format("format", typed)
    if name in _blocks():
        return _block(_blocks()[name])
    if name not in _coded():
        return None
    fmt = _coded()[name]
    return {**_properties(fmt), **precision_of(fmt), "codes": _codes(fmt, every=True)}


def _properties(fmt: CodeFormat) -> dict[str, Any]:
    digits = (fmt.bits + 3) // 4
    fields = {
        "format": fmt.name,
        "bits": fmt.bits,
        "s/e/m": f"{int(fmt.signed)}/{fmt.exponent_bits}/{fmt.mantissa_bits}",
        "bias": fmt.bias,
        "emax": fmt.emax,
        "max normal": fmt.max_normal,
        "min normal": fmt.min_normal,
        "max subnormal": fmt.max_subnormal,
        "min subnormal": fmt.min_subnormal,
        "inf": "-" if fmt.inf_code is None else _spans([fmt.inf_code], digits, fmt),
        "nan": "-" if fmt.nan_code is None else _nan_spans(fmt, digits),
    }
    if _is_integer(fmt):  # the step is 2**-6 throughout: no exponent, no subnormals
        fields["s/e/m"] = "n/64"
        fields |= dict.fromkeys(("bias", "min normal", "max subnormal", "min subnormal"))
    return fields


def precision_of(fmt: CodeFormat) -> dict[str, Any]:
    """The largest relative error of a normal number, to nearest, and the ulp of each binade."""
    if _is_integer(fmt):
        return {"ulp": f"2^-{fmt.mantissa_bits} throughout"}
    if not fmt.subnormals and not fmt.mantissa_bits:
        return {"largest error": "1/3 of a number, to nearest"}
    first, last = 1 - fmt.bias, math.frexp(fmt.max_normal)[1] - 1
    ulps = [f"2^{e - fmt.mantissa_bits} from 2^{e}" for e in range(first, last + 1)]
    if fmt.subnormals:
        ulps[0] = f"2^{first - fmt.mantissa_bits} from 0"
    if len(ulps) > _BINADES:
        ulps = [*ulps[:2], "...", ulps[-1]]
    error = (1 << fmt.mantissa_bits + 1) + 1
    return {
        "largest error": f"1/{error} of a normal number, to nearest: {100 / error:.3g} %",
        "ulp": ", ".join(ulps),
    }


def _is_integer(fmt: CodeFormat) -> bool:
    return isinstance(fmt, ElementFormat) and fmt.twos_complement


def _nan_spans(fmt: CodeFormat, digits: int) -> str:
    if fmt.nan_code == fmt.sign_bit:
        return f"{fmt.nan_code:0{digits}x}"
    last = fmt.nan_code or 0
    first = fmt.max_code + (1 if fmt.inf_code is None else 2)
    return _spans([first, last], digits, fmt)


def _spans(ends: list[int], digits: int, fmt: CodeFormat) -> str:
    """The codes in a span of magnitudes, for each sign."""
    return " ".join(
        "-".join(f"{sign | end:0{digits}x}" for end in dict.fromkeys(ends))
        for sign in sorted({0, fmt.sign_bit})
    )


def _print_all(*, as_json: bool) -> None:
    rows = [_properties(fmt) for fmt in _coded().values()]
    blocks = [_block(block) for block in _blocks().values()]
    if as_json:
        print(json.dumps({"formats": rows, "block_formats": blocks}, indent=1))
        return
    print_table(list(rows[0]), [list(map(_text, row.values())) for row in rows])
    print()
    print_table(list(blocks[0]), [list(map(_text, row.values())) for row in blocks])


def _print_block(block: BlockFormat, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(_block(block), indent=1))
        return
    for name, value in _block(block).items():
        print(f"{name:14} {_text(value)}")
    element, scale, count = block.element, block.scale, block.elements_per_block
    print(f"\nbits per block: {count} elements of {element.bits} and a scale of {scale.bits} bits")
    if scale.bits < 8:
        print(f"stored bits: {scale.name} codes have no sign, and lie in a byte each")
    elif scale.bits > 8:
        print("stored bits: scales are float32 numbers without sign, in four bytes each")
    if block.tensor_scale:
        print("tensor scale: one float32 for the whole tensor, in neither figure")


def _block(block: BlockFormat) -> dict[str, Any]:
    return {
        "block format": block.name,
        "element": block.element.name,
        "scale": block.scale.name,
        "block size": " x ".join(map(str, block.block_shape))
        if block.is_tiled
        else block.block_size,
        "bits per block": block.bits_per_block,
        "stored bits": block.bits_per_block + -block.scale.bits % 8,
        "tensor scale": block.tensor_scale,
    }


def _codes(fmt: CodeFormat, *, every: bool, whole: int = 64) -> list[dict[str, Any]]:
    """Codes with value and note: all of a small format, else those with a note."""
    notes = notes_of(fmt)
    everything = fmt.code_count <= whole or (every and fmt.bits <= 8)
    rows = []
    for code in range(fmt.code_count) if everything else sorted(notes):
        value = fmt.value(code)
        rows.append(
            {
                "code": f"{code:0{(fmt.bits + 3) // 4}x}",
                "bits": fields_of(code, fmt),
                "value": _text(value),
                "hex value": hex_float(value),
                "note": notes.get(code, ""),
            }
        )
    return rows


def notes_of(fmt: CodeFormat) -> dict[int, str]:
    """Notes on special codes, by code."""
    m = fmt.mantissa_bits
    if _is_integer(fmt):
        return {
            0: "zero",
            1: "smallest step",
            fmt.bias << m: "one",
            fmt.max_code: "max",
            fmt.sign_bit: "read, never written (N15)",
            fmt.code_count - fmt.max_code: "min",
        }
    notes = {0: "min normal", fmt.bias << m: "one"}
    if fmt.subnormals:
        normal = "min normal, one" if fmt.bias == 1 else "min normal"
        notes |= {0: "zero", 1: "min subnormal", (1 << m) - 1: "max subnormal", 1 << m: normal}
    if m == 1:
        notes[1] = "min and max subnormal"
    if fmt.has_negative_zero:
        notes[fmt.sign_bit] = "negative zero"
    for code, text in ((fmt.max_code, "max normal"), (fmt.inf_code, "inf"), (fmt.nan_code, "nan")):
        if code is not None:
            notes[code] = text
    return notes


def fields_of(code: int, fmt: CodeFormat) -> str:
    """The bits of a code, its fields apart."""
    digits = f"{code:0{fmt.bits}b}"
    if _is_integer(fmt):
        return digits
    cuts = (0, int(fmt.signed), int(fmt.signed) + fmt.exponent_bits, fmt.bits)
    fields = (digits[a:b] for a, b in itertools.pairwise(cuts))
    return " ".join(field for field in fields if field)


def _text(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.10g}" if isinstance(value, float) else str(value)
