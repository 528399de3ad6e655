"""The worked case of a member for `mxref explain`: input, answer of ocp, answer of the member."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from mxref.bits.floats import LAYOUTS
from mxref.cases.records import VectorFile
from mxref.cli.explanation import print_part
from mxref.formats.catalog import BLOCK_FORMATS, OTHER_BLOCK_FORMATS, block_format

#: Elements and characters of words that are shown.
_SHOWN, _LONGEST = 4, 80


def worked_case(
    folder: Path, choice: str, member: str, format: str | None, *, integer: bool = False
) -> dict[str, Any]:
    """The simplest case of the vectors that a member changes, as JSON values.

    Without one it is a computed example, or the reason why there is none.
    """
    from mxref.golden.witnesses import witness

    made = None if integer else _COMPUTED.get(f"{choice}={member}")
    if made is not None:
        return made()
    found = witness(folder, choice, member, format, integer=integer)
    if found is None and format in (blocks := {**BLOCK_FORMATS, **OTHER_BLOCK_FORMATS}):
        found = witness(folder, choice, member, blocks[format].element.name, integer=integer)
    if found is None and integer and choice == "nan":
        return {"no_case": "files with a NaN have no column of the default, which refuses a NaN"}
    if found is None:
        of = "" if format is None else f" of {format}"
        return {"no_case": f"no case{of} in the vectors has another answer"}
    file, words = found.file, found.case.inputs
    data = {
        "file": file.stem,
        "cases": len(file.cases),
        "differing": found.count,
        "flags": dict(found.flags),
        "case": found.case.id,
        "under": found.under,
    }
    both = {"first": found.first, "other": found.other}
    if file.row.blocks == "numbers" and not block_format(file.format).tensor_scale:
        changed = {i for i, (a, b) in enumerate(zip(*both.values(), strict=True), -1) if a != b}
        first = [i for i in range(len(words)) if i in changed]  # where the answers differ
        zeros = (0, LAYOUTS[file.float].sign_bit)
        first += [i for i, word in enumerate(words) if word not in zeros and i not in changed]
        some = sorted(first[:_SHOWN]) or [0]
        data["in"] = _elements(file, words, some)
        return data | {name: _block(file, answer, some) for name, answer in both.items()}
    data["in"] = _words(file, words, given=True)
    return data | {name: _words(file, answer, given=False) for name, answer in both.items()}


def show_worked(data: dict[str, Any]) -> None:
    """Print a worked case."""
    if "no_case" in data:
        print_part("no case", data["no_case"])
    else:
        _show_file(data)
    for label, key in (("in", "in"), ("default", "first"), ("it gives", "other")):
        print_part(label, data.get(key, ""))


def _show_file(data: dict[str, Any]) -> None:
    """Print how often a member shows in a vector file, and the simplest case."""
    op, _, rest = data["file"].partition("/")
    flags = ", ".join(f"{flag} {count}" for flag, count in [*data["flags"].items()][:5])
    of = f"; of these {flags}" if flags else ""
    where = f"{op} {rest.replace('.', ' ')}"
    under = "" if data["under"] in ("ocp", "default") else f" under {data['under']}"
    text = f"in {data['differing']} of {data['cases']} cases of {where} in the vectors{under}{of}"
    print_part("differs", text)
    print_part("such as", f"{data['case']} (`mxref explain {data['case']}`)")


def _same_as_toward_zero() -> dict[str, Any]:
    about = (
        "the same as ocp's toward_zero for every number: E8M0 has no negative numbers, and "
        "encode_scale drops the sign, or answers by scale_of_negative, before it rounds"
    )
    return {"no_case": about}


def _short_block() -> dict[str, Any]:
    """One element alone: `tail=refused` takes whole blocks only."""
    from mxref.blocks.quantization import quantize

    values = np.ones(1, np.float32)
    blocks = quantize(values, "mxfp4_e2m1")
    try:
        quantize(values, "mxfp4_e2m1", tail="refused")
    except ValueError as error:
        refused = str(error)
    return {
        "no_case": "the vectors have whole blocks only; computed for an array shorter than one",
        "in": "an array of one element, 1, to mxfp4_e2m1",
        "first": f"scale {blocks.scale_codes[0]:02x}, code {blocks.codes[0]:02x}",
        "other": f"an error: {refused}",
    }


def _scale_among_elements() -> dict[str, Any]:
    """A block whose bytes differ: scale 80 (2^1), first element 1, others 0."""
    from mxref.packing.elements import pack, pack_blocks

    codes = np.zeros(32, np.uint8)
    codes[0] = 2
    alone = pack(codes, "e2m1").tobytes()
    stored = pack_blocks([0x80], codes, "mxfp4_e2m1", scale_place="before").tobytes()
    return {
        "no_case": "pack_blocks has no answer under ocp, which stores no scale among the elements",
        "in": "a block of mxfp4_e2m1: scale 80, code 02 and 31 codes 00",
        "first": f"80 in an array of scales, and {len(alone)} bytes: {alone[:4].hex(' ')}...",
        "other": f"{len(stored)} bytes: {stored[:5].hex(' ')}...",
    }


#: Examples of members that change no case of the vectors.
_COMPUTED: dict[str, Callable[[], dict[str, Any]]] = {
    "scale_rounding=toward_negative": _same_as_toward_zero,
    "tail=refused": _short_block,
    "scale_place=before": _scale_among_elements,
}


def _elements(file: VectorFile, words: tuple[int, ...], some: list[int]) -> str:
    """Some elements of a block, each with its number: `1.75 at 31`."""
    from mxref.operands.shown import show_float

    layout = LAYOUTS[file.float]
    texts = [f"{show_float(words[i], layout).split(' = ')[-1]} at {i}" for i in some]
    zeros = (0, layout.sign_bit)
    left = sum(word not in zeros for i, word in enumerate(words) if i not in some)
    more = f", and {left} more" if left else ""
    rest = "" if left or len(some) == len(words) else ", all else 0"
    return f"{', '.join(texts)}{more}{rest}"


def _block(file: VectorFile, answer: tuple[int, ...], some: list[int]) -> str:
    """A block's scale and some of its elements, with their codes and values."""
    from mxref.operands.shown import show_code

    if not answer:
        return "an error"
    fmt = block_format(file.format)
    scale, *codes = answer
    size = fmt.scale.value(scale)
    texts = [f"{codes[i]:02x} = {fmt.element.value(codes[i]) * size:.6g}" for i in some]
    return f"scale {show_code(scale, fmt.scale)}; {', '.join(texts)}"


def _words(file: VectorFile, words: tuple[int, ...], *, given: bool) -> str:
    """Words in hexadecimal; one alone has its value, and a long list is cut."""
    from mxref.cases.records import words as spelled
    from mxref.cases.shown import show_input, show_output

    if not words:
        return "an error"
    if len(words) == 1 and not file.row.own_choices:
        return show_input(file, words[0]) if given else show_output(file, words[0])
    text = spelled(words, file.in_digits if given else file.out_digits)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
