"""What tests share: facts, a reader of the vectors of their own, the slow twin put to a case.

Import it as `from helpers import ...`: `pythonpath` in pyproject.toml names this folder.
"""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from needs import absent

from mxref import exact
from mxref.golden import VectorFile, read_vectors

ROOT = Path(__file__).resolve().parents[2]
VECTORS = ROOT / "vectors"
#: Seconds until what must happen is taken for what never happens: no machine is so busy.
PATIENCE = 3600
#: Every vector file, without its ending.
FILES = sorted(
    path.relative_to(VECTORS).as_posix().removesuffix(".jsonl") for path in VECTORS.rglob("*.jsonl")
)
ELEMENT = {
    "mxfp8_e5m2": "e5m2",
    "mxfp8_e4m3": "e4m3",
    "mxfp6_e3m2": "e3m2",
    "mxfp6_e2m3": "e2m3",
    "mxfp4_e2m1": "e2m1",
    "mxint8": "int8",
}
ROUNDINGS = (
    *("ties_to_even", "ties_to_away", "ties_to_zero"),
    *("toward_zero", "toward_positive", "toward_negative", "to_odd"),
)
SOURCES: dict[str, Any] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
}
WIDTH = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
INFINITY = {"f16": 0x7C00, "bf16": 0x7F80, "f32": 0x7F800000, "f64": 0x7FF0000000000000}
QUIET_NAN = {"f16": 0x7E00, "bf16": 0x7FC0, "f32": 0x7FC00000, "f64": 0x7FF8000000000000}
SMALL_FLOATS: dict[str, Any] = {
    "e5m2": ml_dtypes.float8_e5m2,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e3m2": ml_dtypes.float6_e3m2fn,
    "e2m3": ml_dtypes.float6_e2m3fn,
    "e2m1": ml_dtypes.float4_e2m1fn,
    "e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "e3m4": ml_dtypes.float8_e3m4,
    "e4m3_ieee": ml_dtypes.float8_e4m3,
}

Record = dict[str, Any]


def parsed(lines: list[str]) -> tuple[Record, list[Record]]:
    """Header and cases, each with its `id`, one output a column as `outs`, and its `rule`."""
    header, *cases = map(json.loads, lines)
    prefix = f"{header['op']}.{header['format']}.{header['float']}."
    for case in cases:
        case["id"] = prefix + case.get("name", case["in"])
        case.setdefault("rule", header["rule"])
        case["outs"] = [case["out"]] * len(header["columns"])
        if "by" in case:
            case["outs"] = [case["out"][int(digit, 36)] for digit in case["by"]]
    return header, cases


@functools.cache
def records(stem: str) -> tuple[Record, list[Record]]:
    """The same of a committed file."""
    return parsed((VECTORS / f"{stem}.jsonl").read_text("ascii").splitlines())


def case_of(id: str) -> tuple[Record, Record]:
    """The header and the case of an id."""
    op, format, float, _ = id.split(".")
    header, cases = records(f"{op}/{format}.{float}")
    (case,) = [case for case in cases if case["id"] == id]
    return header, case


def table(name: str) -> Record:
    """A table of tests/helpers/data."""
    return tomllib.loads((Path(__file__).parent / "data" / f"{name}.toml").read_text("utf-8"))


def words(text: str) -> list[int]:
    return [int(word, 16) for word in text.split(" ")]


def choices_of(column: str) -> dict[str, str]:
    profile, *parts = column.split("+")
    assert profile == "ocp"
    return dict(part.split("=") for part in parts)


def exact_words(op: str, format: str, float: str, inputs: list[int], column: str) -> list[int]:
    """The output words of a case under a column, by the slow twin."""
    choices = choices_of(column)
    if "scale_rule" in choices:
        choices["rule"] = choices.pop("scale_rule")
    if "scale_rounding" in choices:
        choices["rounding"] = choices.pop("scale_rounding")
    first, *rest = inputs
    arguments = {
        "encode": (float, format),
        "decode": (format, float),
        "encode_scale": (float,),
        "decode_scale": (float,),
        "shared_scale": (float, format),
    }
    if op in arguments:
        return [getattr(exact, op)(first, *arguments[op], **choices)]
    if op == "encode_stochastic":
        drawn = {"random_bits": rest[0], "random_width": rest[1]}
        return [exact.encode(first, float, format, **drawn, **choices)]
    if op == "quantize":
        scale, codes = exact.quantize(inputs, float, ELEMENT[format], **choices)
        return [scale, *codes]
    assert op == "dequantize"
    return [exact.dequantize(first, code, ELEMENT[format], float, **choices) for code in rest]


@functools.cache
def all_files() -> list[VectorFile]:
    """All files of the vectors, which take seconds to read, once for each process."""
    return read_vectors(VECTORS)


@functools.cache
def ocp_files(op: str, format: str) -> list[VectorFile]:
    """The files of an operation and format; of packed bytes those in the layout of `ocp`."""
    slots = (*SOURCES, "bytes", "lsb_first", "low_nibble_first")
    stems = {f"{op}/{format}.{slot}" for slot in slots}
    return read_vectors(VECTORS, lambda stem: stem in stems)


@functools.cache
def vector_file(stem: str) -> VectorFile:
    """A file of the vectors."""
    (file,) = read_vectors(VECTORS, lambda found: found == stem)
    return file


def copy_vectors(folder: Path, *files: str) -> Path:
    """A folder with copies of a few files of `vectors/`, and a manifest of them."""
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(VECTORS / file, folder / file)
    manifest = json.loads((VECTORS / "manifest.json").read_bytes())
    manifest["files"] = [entry for entry in manifest["files"] if entry["file"] in files]
    assert len(manifest["files"]) == len(files)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def sentence(kind: type[Exception], call: Callable[[], object]) -> str:
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


def steps(function: Callable[[int], int], low: int, high: int) -> list[int]:
    """Every t in (low, high] with function(t - 1) != function(t), of a function of steps."""
    found: list[int] = []
    spans = [(low, function(low), high, function(high))]
    while spans:
        a, at_a, b, at_b = spans.pop()
        if at_a == at_b:
            continue
        if b - a == 1:
            found.append(b)
            continue
        middle = (a + b) // 2
        at_middle = function(middle)
        spans += [(a, at_a, middle, at_middle), (middle, at_middle, b, at_b)]
    return found


def tool(name: str) -> str:
    """A program that a test needs."""
    return shutil.which(name) or absent(f"{name} must be installed")


def run(*command: object, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=PATIENCE, **options
    )


def built(*command: object) -> None:
    result = run(*command)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def table_steps(format: str, float: str, rounding: str) -> list[int]:
    """The steps of the published thresholds, saturating, with their signs."""
    found = []
    for table in json.loads((VECTORS / "thresholds" / f"{format}.json").read_bytes())["tables"]:
        if (table["float"], table["rounding"]) == (float, rounding):
            sign = (1 << (WIDTH[float] - 1)) * (table["sign"] == "-")
            found += [int(word, 16) | sign for word in table["from"].split()[1:]]
    return found


def drawn(strategy: st.SearchStrategy[Any], count: int = 300) -> list[Any]:
    """Some examples, the same ones every time."""
    found: list[Any] = []

    @settings(max_examples=count, database=None, suppress_health_check=list(HealthCheck))
    @given(strategy)
    def collect(value: Any) -> None:
        found.append(value)

    collect()
    return found
