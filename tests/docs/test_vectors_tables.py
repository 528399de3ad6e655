"""The tables of vectors/README.md say what the files of calls hold, and how far adders are off."""

from __future__ import annotations

import math
import re
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
import pytest
from helpers import FILES, INFINITY, ROOT, VECTORS, built, records, run, tool
from pages import blocks

from mxref.operands.fields import Field, parts_of
from mxref.operations.registry import CALL_OPERATIONS

TEXT = (VECTORS / "README.md").read_text("utf-8")
CALLS = [stem for stem in FILES if stem.partition("/")[0] in CALL_OPERATIONS]


def table(head: str) -> dict[str, str]:
    """The second cell of each row below a head, by the patterns of files in the first one."""
    rows = TEXT[TEXT.index(head) :].split("\n\n")[0].splitlines()[2:]
    cells = (row.split("|")[1:3] for row in rows)
    return {files: said.strip() for some, said in cells for files in re.findall(r"`(.+?)`", some)}


def row_of(found: dict[str, str], stem: str) -> str:
    """The row of a file: the one of the longest pattern that fits."""
    return found[max((one for one in found if fnmatch(f"{stem}.", one)), key=len)]


LAYOUTS = table("| files | input words, in this order |")
TYPES = table("| files | output words |")


def lengths_said(shape: str, sizes: dict[str, int]) -> tuple[int, ...]:
    """The lengths in a cell, such as `n,ceil(k/2)`, for some sizes."""
    found = eval(f"[{shape}]", {"ceil": math.ceil}, dict(sizes))
    return tuple(map(int, found))


def fields_said(cell: str) -> list[tuple[str, str]]:
    """Names and shapes; "" is one word."""
    words = cell.strip("`").split()
    return [(word.partition("(")[0], word.partition("(")[2][:-1]) for word in words]


def fits(field: Field, shape: str, sizes: dict[str, int]) -> bool:
    """Whether a field has the shape that the table says."""
    if shape == "…":
        return callable(field.shape)
    if "*" in shape.split(","):
        return not callable(field.shape) and shape == ",".join(map(str, field.shape))
    return field.lengths(sizes) == lengths_said(shape, sizes)


@pytest.mark.parametrize("stem", CALLS)
def test_the_words_of_a_call(stem: str) -> None:
    op, format = stem.partition(".")[0].split("/")
    said, fields = fields_said(row_of(LAYOUTS, stem)), CALL_OPERATIONS[op].fields(format)
    assert [name for name, _ in said] == [field.name for field in fields]
    for case in records(stem)[1]:
        words = [int(word, 16) for word in case["in"].split()]
        parts = parts_of(fields, words)
        sizes = {name: int(part) for name, part in parts.items() if part.shape == ()}
        sizes["bits"] = int((re.findall(r"\d+", format) or ["0"])[0])
        for field, (_, shape) in zip(fields, said, strict=True):
            assert fits(field, shape, sizes), field.name


def test_no_row_is_of_no_file() -> None:
    for found in (LAYOUTS, TYPES):
        used = {row_of(found, stem) for stem in (FILES if found is TYPES else CALLS)}
        assert used == {*found.values()}


@pytest.mark.parametrize("stem", CALLS)
def test_the_types_of_answers_of_calls(stem: str) -> None:
    op, format, float_type = re.split(r"[/.]", stem)
    case = records(stem)[1][0]
    call = CALL_OPERATIONS[op].call(format, [int(word, 16) for word in case["in"].split()])
    floats = {"f32": "float32", "bf16": "bfloat16", "f16": "float16"}
    kinds = {
        "bytes": "uint8",
        "floats of the type in the name": floats.get(float_type),
        "integers of the type that the format begins with; of `int4` int8": {"int4": "int8"}.get(
            format, re.split("[_-]", format)[0]
        ),
        "integers of the second type of the format": re.split("[_-]", f"{format}-")[1],
    }
    said = row_of(TYPES, stem)
    assert np.dtype(call.dtype).name == kinds.get(said, said)


def key(word: int, bits: int) -> int:
    """A number of float steps from 0."""
    magnitude = word & ((1 << (bits - 1)) - 1)
    return -magnitude if word >> (bits - 1) else magnitude


def outside(stem: str, column: str) -> list[int]:
    """In how many steps answers of a column lie outside of `lo` and `hi`; 0 for overflow."""
    header, cases = records(stem)
    names = ("lo", "hi", "overflow", f"ocp+accumulation={column}")
    if names[-1] not in header["columns"]:
        return []
    found, infinity = [], INFINITY[header["float"]]
    for case in cases:
        out, by = case["out"], case.get("by")
        words = [
            out if by is None else out[int(by[header["columns"].index(one)], 36)] for one in names
        ]
        low, high, overflow, got = (key(int(word, 16), 4 * len(words[0])) for word in words)
        if abs(low) > infinity or got == overflow or low <= got <= high:
            continue
        ends = infinity in map(abs, (low, high, got))
        found.append(0 if ends else max(low - got, got - high))
    return found


def test_how_far_adders_are_outside() -> None:
    """The figures of the table; 0.25 is 3e800000."""
    products = [stem for stem in FILES if re.match(r"matmul/mx.*\.f32", stem)]
    rows = table("| column | outside |")
    later = {stem: outside(stem, "aligned_25") for stem in products}
    assert {stem: len(some) for stem, some in later.items() if some} == {
        "matmul/mxfp8_e5m2-mxfp6_e2m3.f32": 2
    }
    assert rows["aligned_25"].startswith("2 cases of `mxfp8_e5m2-mxfp6_e2m3`")
    assert f"| {max(max(some) for some in later.values() if some)} at most |" in TEXT
    cut = sorted(step for stem in products for step in outside(stem, "aligned_13"))
    quarter = 0x3E800000
    assert cut[-4:] == [quarter] * 4
    assert rows["aligned_13"].startswith(f"{len(cut)} cases of E4M3 and E5M2")
    assert f"| {cut[0]} to {cut[-5]:,}; in four cases 0 in place of 0.25 |" in TEXT
    last = [len(some) for stem in products if (some := outside(stem, "scales_last"))]
    assert (len(last), min(last), max(last)) == (9, 3, 11)
    assert rows["scales_last"].startswith("3 to 11 cases of each of nine pairs")


def test_the_first_columns() -> None:
    """No file begins with another column than the page says."""
    rows = table("| files | first column |")
    for stem in FILES:
        op, first = stem.partition("/")[0], records(stem)[0]["columns"][0]
        said = [text for files, text in rows.items() if fnmatch(f"{stem}.", files)]
        if op.startswith("unpack") and op != "unpack_blocks" and op not in CALL_OPERATIONS:
            assert first == "ocp" or first.endswith(f"={stem.rpartition('.')[2]}")
        elif op in CALL_OPERATIONS:
            assert first in ("default", "nan=zero")
        else:
            assert first == (said[0].split("`")[1] if said else "ocp")


@pytest.mark.parametrize("more", ["", " 00 7f 7f"])
def test_the_reader_in_c(more: str, tmp_path: Path) -> None:
    """It reads what it needs, also where a line has more columns than today."""
    (block,) = [one for one in blocks(VECTORS / "README.md") if one.title == "read_vectors.c"]
    (tmp_path / block.title).write_text(block.text)
    lines = (VECTORS / "plain/encode/e4m3.f32.txt").read_text("ascii").splitlines()
    folder = tmp_path / "vectors/plain/encode"
    folder.mkdir(parents=True)
    (folder / "e4m3.f32.txt").write_text("".join(f"{line}{more}\n" for line in lines))
    kernel = (ROOT / "tests/golden/data/encode.c").read_text("ascii")
    (tmp_path / "kernel.c").write_text(kernel)
    strict = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")
    built(tool("gcc"), *strict, tmp_path / block.title, tmp_path / "kernel.c", "-o", tmp_path / "m")
    done = run(tmp_path / "m", cwd=tmp_path)
    assert done.stdout == f"0 of {len(lines)} failed\n"
