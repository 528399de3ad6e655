"""Make the golden vectors; both references must agree on every case."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from mxref._version import VECTORS_VERSION
from mxref.bits.floats import LAYOUTS
from mxref.cases.answers import fast_answers
from mxref.cases.integer_answers import fast_integers
from mxref.cases.linear_answers import fast_layer
from mxref.cases.product_answers import fast_products
from mxref.cases.records import SPEC, VectorFile, padded, same_width, stripped
from mxref.cases.words import DOT_OPERATIONS, INTEGER_OPERATIONS, LAYER_OPERATIONS
from mxref.formats.catalog import ELEMENT_FORMATS, element_format
from mxref.golden.schema import schema_lines
from mxref.golden.store import check, manifest_bytes, write
from mxref.golden.thresholds import missing_sides, table_header, table_lines
from mxref.golden.vector_cases import file_tasks
from mxref.policy.policy import Policy
from mxref.support.workers import in_order

__all__ = ["build", "check", "write"]


def build(jobs: int = 1) -> dict[str, bytes]:
    """Every file of `vectors/` by path, the manifest last; independent of the number of jobs.

    Args:
        jobs: number of processes. With more than one the calling script must be importable
            without effects (``if __name__ == "__main__"``).

    Raises:
        RuntimeError: the fast path and the slow twin disagree on a case.
        ValueError: jobs below 1.
    """
    every = list(in_order(_make, file_tasks(), jobs))
    texts: dict[str, bytes] = {}
    entries: list[dict[str, object]] = []

    def add(path: str, data: bytes, cases: int) -> None:
        texts[path] = data
        digest = hashlib.sha256(data).hexdigest()
        entries.append({"file": path, "sha256": digest, "cases": cases})

    add("schema.json", _text(schema_lines()), 0)
    for fmt in ELEMENT_FORMATS.values():
        tables = [line for made in every for line in made.tables if made.format == fmt.name]
        add(f"thresholds/{fmt.name}.json", _text([table_header(fmt), *tables]), 0)
    for made in every:
        add(f"{made.stem}.jsonl", made.lines, made.cases)
        add(f"plain/{made.stem}.txt", made.plain, made.cases)
    header = [line for made in every for line in made.c_array]
    cases = sum("{0x" in line for line in header)
    add("plain/encode.h", _text(_c_header(header)), cases)
    manifest = {
        "mxref_vectors": VECTORS_VERSION,
        "spec": SPEC,
        "files": entries,
        "columns": {f"plain/{made.stem}.txt": made.columns for made in every},
    }
    texts["manifest.json"] = manifest_bytes(manifest)
    return texts


@dataclass(frozen=True, slots=True)
class _Made:
    """The texts of a vector file; of `encode` also threshold tables and, of float32, a C array."""

    stem: str
    format: str
    cases: int
    lines: bytes
    plain: bytes
    columns: list[str]  # of the plain file
    tables: list[str]
    c_array: list[str]


def _make(task: Callable[[], VectorFile]) -> _Made:
    file = task()
    _compare_references(file)
    tables: list[str] = []
    is_standard = file.format in ELEMENT_FORMATS
    if file.op == "encode" and is_standard:
        if missing := missing_sides(file):
            raise RuntimeError(f"{file.stem} lacks {len(missing)} sides of thresholds")
        tables = list(table_lines(element_format(file.format), LAYOUTS[file.float]))
    is_in_header = file.op == "encode" and file.float == "f32" and is_standard
    return _Made(
        stem=file.stem,
        format=file.format,
        cases=len(file.cases),
        lines=_text(file.lines()),
        plain=_text(file.plain_lines()),
        columns=list(file.columns[: file.plain]),
        tables=tables,
        c_array=list(_c_array(file)) if is_in_header else [],
    )


def _text(lines: Iterable[str]) -> bytes:
    return ("\n".join(lines) + "\n").encode("ascii")


def _compare_references(file: VectorFile) -> None:
    inputs = file.input_words()
    for index, column in enumerate(file.columns):
        wanted = file.outputs(index)
        if file.op in INTEGER_OPERATIONS:
            answers = fast_integers(file.op, file.format, inputs, column)
        elif file.op in LAYER_OPERATIONS:
            names = file.op, file.format, file.float
            answers = padded([fast_layer(*names, case.inputs, column) for case in file.cases])
        elif file.op in DOT_OPERATIONS:  # some of whose columns are bounds
            answers = fast_products(file.format, file.float, inputs, column)
        else:
            answers = fast_answers(file.op, file.format, file.float, inputs, Policy.parse(column))
        got, wanted = same_width(answers.astype(np.uint64), wanted)
        wrong = np.flatnonzero((got != wanted).any(axis=-1))
        if wrong.size:
            case = file.cases[wrong[0]]
            raise RuntimeError(
                f"the two references disagree on {case.id} under {column}: "
                f"slow {list(stripped(wanted[wrong[0]]))}, fast {list(stripped(got[wrong[0]]))}"
            )


def _c_header(arrays: list[str]) -> Iterator[str]:
    yield "/* Golden cases of float32 to MX element codes. Generated by `mxref regen`. */"
    yield "#ifndef MXREF_ENCODE_H"
    yield "#define MXREF_ENCODE_H"
    yield "#include <stdint.h>"
    yield "/* float32 bits; the code when saturating; the code when not. */"
    yield "typedef struct { uint32_t in; uint8_t sat, nonsat; } mxref_encode_case;"
    yield from arrays
    yield "#endif"


def _c_array(file: VectorFile) -> Iterator[str]:
    yield f"static const mxref_encode_case mxref_encode_{file.format}[{len(file.cases)}] = {{"
    for case in file.cases:
        sat, nonsat = case.output(0)[0], case.output(file.plain - 1)[0]
        yield f"{{0x{case.inputs[0]:08x}u,0x{sat:02x},0x{nonsat:02x}}},"
    yield "};"
