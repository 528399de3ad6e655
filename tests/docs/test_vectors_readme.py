"""vectors/README.md, the contract with readers of the vectors, says what the files are."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
from helpers import FILES, INFINITY, ROOT, SMALL_FLOATS, SOURCES, VECTORS, built, records, run, tool
from pages import blocks

TEXT = (VECTORS / "README.md").read_text("utf-8")
COLUMNS = json.loads((VECTORS / "manifest.json").read_bytes())["columns"]
CONTRACT = " ".join(TEXT.split())


def keys(heading: str) -> list[str]:
    """The keys of the table that follows some words, in order."""
    table = TEXT[TEXT.index(heading) :].split("\n\n")[1]
    if table.startswith("```"):
        table = TEXT[TEXT.index(heading) :].split("\n\n")[2]
    first_cells = [line.split("|")[1] for line in table.splitlines()[2:]]
    return [key for cell in first_cells for key in re.findall(r"`(\w+)`", cell)]


def test_the_version() -> None:
    manifest = json.loads((VECTORS / "manifest.json").read_bytes())
    assert f"now **{manifest['mxref_vectors']}**" in TEXT
    assert re.findall(r"vectors (\d+\.\d+\.\d+)", TEXT) == [manifest["mxref_vectors"]]


def test_the_keys_are_those_of_the_schema() -> None:
    definitions = json.loads((VECTORS / "schema.json").read_bytes())["$defs"]
    assert keys("The first line is a header object") == list(definitions["header"]["properties"])
    assert keys("Each further line is a case") == list(definitions["case"]["properties"])
    manifest = definitions["manifest"]["properties"]
    listed = keys("is one JSON object with these keys")
    assert listed == list(manifest)
    table = TEXT[TEXT.index("is one JSON object") :].split("\n\n")[1]
    for inner in ("files", "level2"):
        assert all(f"`{key}`" in table for key in manifest[inner]["items"]["properties"])


def test_the_example_is_a_line() -> None:
    (line,) = re.findall(r"```json\n(.*)\n```", TEXT)
    assert line in (VECTORS / "encode/e4m3.f32.jsonl").read_text("ascii").splitlines()
    case = json.loads(line)
    columns = records("encode/e4m3.f32")[0]["columns"]
    others = [column for column, digit in zip(columns, case["by"], strict=True) if digit == "1"]
    assert f"a `1` for the columns `{'` and `'.join(others)}`: they answer `7f`" in CONTRACT
    assert f"encode.e4m3.f32.{case['in']}" in TEXT


def test_the_operations() -> None:
    tables = re.findall(
        r"^\| operation \| input words .*\n\|[-|]+\n((?:\|.*\n)+)", TEXT, re.MULTILINE
    )
    cells = [row.split("|")[1] for table in tables for row in table.splitlines()]
    listed = [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]
    assert listed == list(dict.fromkeys(listed))
    assert set(listed) == {stem.partition("/")[0] for stem in FILES}


def test_the_columns_of_the_plain_files() -> None:
    assert sorted(COLUMNS) == [f"plain/{stem}.txt" for stem in FILES]
    table = TEXT[TEXT.index("| files | columns |") :].split("\n\n")[0].splitlines()[2:]
    cells = (row.split("|")[1:3] for row in table)
    rows = [(files, re.findall(r"`([^`]+)`", columns)) for files, columns in cells]
    for stem in FILES:
        header, _ = records(stem)
        found = [
            columns
            for files, columns in rows
            for start in re.findall(r"`([^`]+)\*`", files)
            if f"{stem}.".startswith(start)
        ]
        want = (found[0] if found else dict(rows)[" all others "]) or header["columns"]
        assert header["columns"][: header["plain"]] == want == COLUMNS[f"plain/{stem}.txt"]


#: What ml_dtypes and NumPy have for the types of the vectors; UE4M3 is E4M3 without a sign.
TYPES = {
    **SOURCES,
    **{name: SMALL_FLOATS[name] for name in ("e5m2", "e4m3", "e3m2", "e2m3", "e2m1")},
    "e8m0": ml_dtypes.float8_e8m0fnu,
    "int8": np.int8,
}


def test_the_nan_class_in_c(tmp_path: Path) -> None:
    (block,) = [one for one in blocks(VECTORS / "README.md") if one.title == "mx_nan.h"]
    (tmp_path / block.title).write_text(block.text)
    source = Path(__file__).parent / "data" / "is_nan.c"
    strict = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{tmp_path}")
    built(tool("gcc"), *strict, source, "-o", tmp_path / "main")
    lines, want = [], []
    for name, kind in TYPES.items():
        bits = 8 * np.dtype(kind).itemsize
        near = [INFINITY.get(name, 0) + more for more in range(-2, 3)]
        words = [*near, *(word + (1 << (bits - 1)) for word in near)]
        if bits <= 16:  # every word; an FP4 or FP6 word has zeros above
            words = [*range(1 << {"e2m1": 4, "e3m2": 6, "e2m3": 6}.get(name, bits))]
        values = np.array(words, f"u{bits // 8}").view(kind)
        lines += [f"{name} {word:x}" for word in words]
        with np.errstate(invalid="ignore"):  # signalling NaNs
            want += np.isnan(values).tolist()
    lines += [f"ue4m3 {word:x}" for word in range(128)]
    want += [word == 127 for word in range(128)]
    done = run(tmp_path / "main", input="\n".join(lines))
    assert [digit == "1" for digit in done.stdout] == want


def test_the_tool_that_is_named_exists() -> None:
    for path in re.findall(r"`(tools/[\w.]+)`", TEXT):
        assert (ROOT / path).is_file()


def test_the_first_screen_is_a_reader(tmp_path: Path) -> None:
    """What a stranger reads first runs as it stands, from the folder that has the vectors."""
    (block,) = [
        block for block in blocks(VECTORS / "README.md") if block.title == "read_vectors.py"
    ]
    assert TEXT.index(block.text) < len("x" * 120) * 30
    (tmp_path / "read_vectors.py").write_text(block.text)
    (tmp_path / "vectors").symlink_to(VECTORS)
    (tmp_path / "my_kernel.py").write_text(
        "import numpy as np, mxref\n"
        "def encode(bits):\n"
        "    return int(mxref.encode(np.uint32([bits]).view('f4'), 'e4m3', rounding=ROUNDING)[0])\n"
    )
    # Both kernels have one size and one second: the first one's bytecode would be taken for both.
    env = {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    for rounding, want in (("ties_to_even", "0 failed"), ("ties_to_away", "126 failed")):
        kernel = (tmp_path / "my_kernel.py").read_text().partition("ROUNDING =")[0]
        (tmp_path / "my_kernel.py").write_text(f"{kernel}ROUNDING = {rounding!r}\n")
        done = run(sys.executable, "read_vectors.py", cwd=tmp_path, env=env)
        assert done.stdout == f"{want}\n"
