"""Exports: tables that are the encoder, run as C, CUDA and Verilog; vectors as arrays; examples.

Expected codes come from `mxref.exact` and from the committed vectors, read here by hand.
"""

from __future__ import annotations

import ctypes
import hashlib
import io
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import helpers
import numpy as np
import pytest
from helpers import INFINITY, VECTORS, WIDTH, built, records, steps, tool, words
from numpy.typing import NDArray
from safetensors import safe_open
from tables import rows

from mxref import exact
from mxref.cli import main
from mxref.golden.contract import holds
from mxref.golden.export import encode_table, files, read_npy, write

DATA = Path(__file__).parent / "data"
Capture, Patch = pytest.CaptureFixture[str], pytest.MonkeyPatch
STRICT = ("-Wall", "-Wextra", "-pedantic", "-Werror")
TABLES = rows("golden", "export", "table")


def export(*words: object) -> int:
    """The exit status of the command."""
    return main(["export", *map(str, words)])


def encoder(format: str, float: str, policy: str) -> Callable[[int], int]:
    """The slow twin."""
    choices = helpers.choices_of(policy)
    return lambda bits: exact.encode(bits, float, format, **choices)


def telling_inputs(format: str, float: str, policy: str) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """Inputs at every threshold and 2 ulp to both sides, all of level 1, and their exact codes."""
    width, code = WIDTH[float], encoder(format, float, policy)
    inputs = {int(case["in"], 16) for case in records(f"encode/{format}.{float}")[1]}
    sign = 1 << (width - 1)
    for start in (0, sign):
        for at in steps(code, start, start + INFINITY[float]):
            inputs |= {min(max(start, at + step), start + sign - 1) for step in range(-2, 3)}
    ordered = sorted(inputs)
    return np.array(ordered, f"u{width // 8}"), np.array([code(bits) for bits in ordered], np.uint8)


# --- tables ---------------------------------------------------------------------------------------


def compiled(folder: Path, source: str, name: str, bits: int, *flags: str) -> Callable[..., Any]:
    """The lookup of an exported source as a function of arrays."""
    (folder / "table.h").write_text(source, "ascii")
    library = folder / f"{len(list(folder.glob('*.so')))}.so"
    more = (f"-DLOOKUP={name}", f"-DWORD=uint{bits}_t", f"-I{folder}", *(flags or ("-std=c99",)))
    strict = (*STRICT, "-Wconversion", "-O2", "-fPIC", "-shared")
    built(tool("gcc"), *more, *strict, DATA / "loop.c", "-o", library)
    function = ctypes.CDLL(str(library)).run
    function.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)

    def codes(x: NDArray[Any]) -> NDArray[np.uint8]:
        assert x.dtype == np.dtype(f"u{bits // 8}")
        assert x.flags.c_contiguous
        out = np.empty(x.size, np.uint8)
        function(x.ctypes.data, out.ctypes.data, x.size)
        return out

    return codes


def c_lookup(
    folder: Path, format: str, policy: str, float: str = "f32", kind: str = "c", *flags: str
) -> Callable[..., Any]:
    out = folder / "table.out"
    wanted = ("--format", format, "--policy", policy, "--float", float)
    assert export("table", *wanted, "--as", kind, "-o", out) == 0
    source = out.read_text("ascii")
    found = re.search(r"uint8_t (mxref_encode_\w+)_table\[", source)
    assert found is not None
    return compiled(folder, source, found[1], WIDTH[float], *flags)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("format", "policy"), TABLES)
def test_the_c_lookup_is_the_encoder(format: str, policy: str, tmp_path: Path) -> None:
    inputs, want = telling_inputs(format, "f32", policy)
    np.testing.assert_array_equal(c_lookup(tmp_path, format, policy)(inputs), want)


KEYS = rows("golden", "export", "key")


@pytest.mark.parametrize(("format", "policy"), [*TABLES, KEYS[-1][::3]])
def test_the_table_has_the_code_of_every_float(format: str, policy: str) -> None:
    """At both ends of each key's interval: the codes are those of the steps of the slow twin."""
    code, infinity = encoder(format, "f32", policy), INFINITY["f32"]
    starts = [
        at
        for sign in (0, 1 << 31)
        for at in (sign, *sorted(steps(code, sign, sign + infinity)), sign + infinity + 1)
    ]
    codes = np.array([code(at) for at in starts], np.uint8)
    table = encode_table(format, policy)
    keys = np.arange(table.codes.size, dtype=np.int64)
    reach = np.where(keys & 1, (1 << table.drop) - 1, 0)
    for ends in ((keys << table.drop) - reach, (keys << table.drop) + reach):
        places = np.searchsorted(starts, ends, "right") - 1
        np.testing.assert_array_equal(codes[places], table.codes)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("format", ["e5m2", "e4m3", "int8"])
@pytest.mark.parametrize("float", ["bf16", "f16", "f64"])
def test_the_c_lookup_of_another_type(float: str, format: str, tmp_path: Path) -> None:
    """All numbers of 16 bits, and those of float64 that tell."""
    policy = "ocp+rounding=toward_positive"
    inputs, want = telling_inputs(format, float, policy)
    if float != "f64":
        inputs = np.arange(1 << 16, dtype=np.uint16)
        codes = [exact.encode(x, float, format, "toward_positive") for x in range(1 << 16)]
        want = np.array(codes, np.uint8)
    np.testing.assert_array_equal(c_lookup(tmp_path, format, policy, float)(inputs), want)


@pytest.mark.parametrize("format", ["e2m1", "int8"])
def test_the_cuda_lookup_as_cpp(format: str, tmp_path: Path) -> None:
    """What CUDA adds to C++ is defined away."""
    stub = ("-D__device__=", "-D__forceinline__=inline", "-D__ldg(p)=(*(p))")
    codes = c_lookup(tmp_path, format, "ocp", "f32", "cuda", "-x", "c++", "-std=c++14", *stub)
    inputs, want = telling_inputs(format, "f32", "ocp")
    np.testing.assert_array_equal(codes(inputs), want)
    text = (tmp_path / "table.out").read_text("ascii")
    assert "static __device__ const uint8_t" in text
    assert "static __device__ __forceinline__ uint8_t" in text
    assert "__ldg(&" in text


@pytest.mark.parametrize(("format", "float", "key", "policy"), KEYS)
def test_how_many_bits_a_key_has(format: str, float: str, key: str, policy: str) -> None:
    assert encode_table(format, policy, float).codes.size == 1 << int(key)


def test_the_same_table_as_npy_bin_and_readmemh(tmp_path: Path) -> None:
    want = encode_table("e2m1").codes
    for kind in ("npy", "bin", "readmemh"):
        assert export("table", "--format", "e2m1", "--as", kind, "-o", tmp_path / kind) == 0
    assert (tmp_path / "bin").read_bytes() == want.tobytes()
    loaded = np.load(tmp_path / "npy", allow_pickle=False)
    assert loaded.dtype == np.uint8
    np.testing.assert_array_equal(loaded, want)
    comment, *words = (tmp_path / "readmemh").read_text("ascii").splitlines()
    assert comment.startswith("// mxref ")
    assert "table[(x | ((x & 0xfffff) + 0xfffff)) >> 20]" in comment
    assert f"sha256 {hashlib.sha256(want.tobytes()).hexdigest()}" in comment
    assert all(re.fullmatch("[0-9a-f]", word) for word in words)
    np.testing.assert_array_equal([int(word, 16) for word in words], want)


def test_a_policy_without_nan_codes_is_no_matter_where_the_format_has_nan() -> None:
    np.testing.assert_array_equal(
        encode_table("e4m3", "ocp+nan_to_finite=error").codes, encode_table("e4m3").codes
    )


# --- Verilog --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("format", "float", "bits", "policy"), rows("golden", "export", "module"))
def test_the_verilog_module_is_the_encoder(
    format: str, float: str, bits: str, policy: str, tmp_path: Path
) -> None:
    inputs, want = telling_inputs(format, float, policy)
    assert 700 < inputs.size < 10000
    width = WIDTH[float]
    lines = "\n".join(f"{one:0{width // 4}x}" for one in inputs.tolist())
    (tmp_path / "in.hex").write_text(f"{lines}\n", "ascii")
    table = encode_table(format, policy, float)
    for name, data in table.files("verilog", "dut.v").items():
        (tmp_path / name).write_bytes(data)
    sizes = {"TOP": width - 1, "LAST": inputs.size - 1, "CODE": int(bits) - 1, "NAME": table.name}
    macros = [f"-D{name}={value}" for name, value in sizes.items()]
    sources = (tmp_path / "dut.v", DATA / "print.v")
    # Verilog of 2001: nothing newer is needed.
    built(tool("iverilog"), "-g2001", "-Wall", *macros, "-o", tmp_path / "sim", *sources)
    result = helpers.run(tool("vvp"), tmp_path / "sim", cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    np.testing.assert_array_equal([int(word, 16) for word in result.stdout.split()], want)


# --- vectors --------------------------------------------------------------------------------------


def exported(
    folder: Path, kind: str, op: str, format: str, float: str, *columns: str
) -> list[dict[str, Any]]:
    """Export some vectors; the entries of the index."""
    chosen = [word for column in columns for word in ("--column", column)]
    selected = ("--op", op, "--format", format, "--float", float, *chosen)
    assert export("vectors", *selected, "--as", kind, "-o", folder) == 0
    entries: list[dict[str, Any]] = json.loads((folder / "index.json").read_bytes())["arrays"]
    return entries


@pytest.mark.sampled(6)
@pytest.mark.parametrize("kind", ["npy", "bin", "readmemh", "c", "safetensors"])
@pytest.mark.parametrize(("op", "format", "float", "column"), rows("golden", "export", "vectors"))
def test_exported_words_are_those_of_the_canonical_file(
    op: str, format: str, float: str, column: str, kind: str, tmp_path: Path
) -> None:
    stem = f"{op}/{format}.{float}"
    header, cases = records(stem)
    index = header["columns"].index(column)
    want = {"in": [case["in"] for case in cases], column: [case["outs"][index] for case in cases]}
    digest = hashlib.sha256((VECTORS / f"{stem}.jsonl").read_bytes()).hexdigest()
    entries = exported(tmp_path, kind, op, format, float, column)
    assert [entry["column"] for entry in entries] == ["in", column]
    for entry in entries:
        numbers = [words(text) for text in want[entry["column"]]]
        file = tmp_path / entry["file"]
        assert (entry["source"], entry["source_sha256"]) == (f"{stem}.jsonl", digest)
        assert entry["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
        assert (entry["op"], entry["format"], entry["float"]) == (op, format, float)
        width = len(numbers[0])
        assert entry["shape"] == [len(numbers), *([width] if width > 1 else [])]
        got = read_back(tmp_path, entry, kind)
        if kind in ("npy", "safetensors"):
            assert got.shape == tuple(entry["shape"])
        np.testing.assert_array_equal(got.reshape(-1), np.array(numbers, got.dtype).reshape(-1))


def read_back(folder: Path, entry: dict[str, Any], kind: str) -> NDArray[Any]:
    """The array of an index entry, by readers that are not mxref's."""
    file, digits = folder / entry["file"], entry["digits"]
    dtype = np.dtype(f"<u{digits // 2}")
    about = f"{entry['source']} sha256 {entry['source_sha256']}"
    if kind == "npy":
        found: NDArray[Any] = np.load(file, allow_pickle=False)
        np.testing.assert_array_equal(read_npy(file, found.shape), found, strict=True)
    elif kind == "bin":
        found = np.fromfile(file, dtype)
    elif kind == "readmemh":
        comment, *lines = file.read_text("ascii").splitlines()
        assert comment == f"// {about} {entry['column']}"
        assert all(re.fullmatch(f"[0-9a-f]{{{digits}}}", line) for line in lines)
        found = np.array([int(line, 16) for line in lines], dtype)
    elif kind == "c":
        assert f"/* {about} */\n" in file.read_text("ascii")
        found = np.frombuffer(compiled_array(folder, entry), dtype.newbyteorder("="))
    else:
        with safe_open(file, "numpy") as tensors:
            said = {"source": entry["source"], "source_sha256": entry["source_sha256"]}
            assert json.loads(tensors.metadata()["mxref"]) == said
            found = tensors.get_tensor(entry["column"])
    assert found.dtype == dtype
    return found


def compiled_array(folder: Path, entry: dict[str, Any]) -> bytes:
    file = folder / entry["file"]
    name = "_".join([entry["op"], entry["format"], entry["float"], entry["column"]])
    symbol = f"mxref_{re.sub(r'[^a-z0-9_]', '_', name)}"
    main = folder / "main.c"
    main.write_text(
        f'#include <stdio.h>\n#include "{file}"\n#include "{file}"\n'
        f"int main(void) {{ return fwrite({symbol}, sizeof {symbol}, 1, stdout) != 1; }}\n"
    )
    # Every array of the header but one is unused.
    built(tool("gcc"), "-std=c99", "-Wall", "-pedantic", "-Werror", main, "-o", folder / "dump")
    return subprocess.run([folder / "dump"], capture_output=True, check=True).stdout


def words_in(text: str) -> int:
    """How many words a text such as `E8M0 code, then 32 element codes` says."""
    parts = [part.removeprefix("then ").split() for part in text.split(", ")]
    return sum(int(part[0]) if part[0].isdecimal() else 1 for part in parts)


def test_the_index_says_what_rows_hold(tmp_path: Path) -> None:
    """Of blocks of any size, as many words as there are, and of every operation something."""
    for number, op in enumerate(("quantize", "dequantize", "encode", "shared_scale")):
        selected = ("--op", op, "--float", "f32", "--column", "ocp")
        folder = tmp_path / str(number)
        assert export("vectors", *selected, "--as", "npy", "-o", folder) == 0
        index = json.loads((folder / "index.json").read_bytes())
        assert "each row of an array is a case" in index["rows"]
        for entry in index["arrays"]:
            text = "float" if "a float" in entry["holds"] else entry["holds"]
            assert words_in(text) == (entry["shape"] + [1])[1], entry
    formats = {stem.split("/")[0]: stem.split("/")[1].split(".")[0] for stem in helpers.FILES}
    assert all(holds(op, formats[op], column) for op in formats for column in ("in", "ocp"))
    assert holds("matmul", "nvfp4-nvfp4", "lo").startswith("the lowest right number")
    assert "tensor's float32 scale first" in holds("matmul", "nvfp4-nvfp4", "in")


@pytest.mark.sampled(0)
def test_without_a_selection_everything_is_exported(tmp_path: Path) -> None:
    folder = tmp_path / "all"
    assert export("vectors", "--as", "bin", "-o", folder) == 0
    arrays = json.loads((folder / "index.json").read_bytes())["arrays"]
    want = {
        (f"{s}.jsonl", name) for s in helpers.FILES for name in ("in", *records(s)[0]["columns"])
    }
    assert {(array["source"], array["column"]) for array in arrays} == want
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*.bin")}
    assert found == {array["file"] for array in arrays}
    shutil.rmtree(folder)


def test_the_bytes_of_a_npy_file(tmp_path: Path) -> None:
    """Source: the NumPy enhancement proposal 1, format version 1.0."""
    exported(tmp_path, "npy", "decode", "e2m1", "f32", "ocp")
    data = (tmp_path / "decode/e2m1.f32/ocp.npy").read_bytes()
    header = b"{'descr': '<u4', 'fortran_order': False, 'shape': (16,), }"
    assert data[:128] == b"\x93NUMPY\x01\x00\x76\x00" + header.ljust(117) + b"\n"
    values = [0, 0.5, 1, 1.5, 2, 3, 4, 6]
    assert data[128:] == np.array([*values, *np.negative(values)], "<f4").tobytes()


def test_safetensors_are_the_same_bytes_each_time() -> None:
    """The package keeps metadata in a map of random order: one entry has only one."""
    selection = {"op": ["encode"], "format": ["e2m1"], "float": ["bf16"]}
    texts = [files(VECTORS, "safetensors", selection) for _ in range(8)]
    assert all(text == texts[0] for text in texts)


def test_without_safetensors(tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    assert export("vectors", "--op", "decode", "--as", "safetensors", "-o", tmp_path / "out") == 2
    assert capsys.readouterr().err == (
        "mxref: error: --as safetensors needs the package safetensors: "
        "in a checkout of mxref, pip install -e '.[io]', elsewhere pip install safetensors\n"
    )
    assert not (tmp_path / "out").exists()


# --- checking a folder ----------------------------------------------------------------------------


class Planted:
    """What a pickle would run."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (os.mkdir, ("planted",))


def saved(array: NDArray[Any], version: tuple[int, int] = (1, 0)) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version)
    return file.getvalue()


OUT = "quantize/mxfp4_e2m1.bf16/ocp.npy"
SELECTED = {"op": ["quantize"], "format": ["mxfp4_e2m1"], "float": ["bf16"], "column": ["ocp"]}
MADE = files(VECTORS, "npy", SELECTED)
WHOLE, INDEX = MADE[OUT], MADE["index.json"]
ARRAY = np.load(io.BytesIO(WHOLE))
#: What stands in place of the array, or nothing.
ARRAYS: dict[str, bytes | None] = {
    "cut in the data": WHOLE[:-1],
    "cut in the header": WHOLE[:100],
    "longer": WHOLE + b"\0",
    "pickled": saved(np.array([Planted()], object)),
    "another shape": saved(ARRAY[:-1]),
    "another order": saved(np.asfortranarray(ARRAY)),
    "another type": saved(ARRAY.astype(np.float32)),
    "fields": saved(np.zeros(9, [("a", "u1"), ("b", "O")])),
    "another byte": WHOLE[:2000] + bytes([WHOLE[2000] ^ 1]) + WHOLE[2001:],
    "gone": None,
    "cut in the magic": WHOLE[:4],
    "empty": b"",
    "a bare pickle": pickle.dumps(Planted()),
    "another header of the same array": saved(ARRAY, (2, 0)),
}


def index(**changes: Any) -> bytes:
    return json.dumps(json.loads(INDEX) | changes).encode()


INDICES: dict[str, bytes | None] = {
    "no index": None,
    "another kind": index(**{"as": "bin"}),
    "an unknown kind": index(**{"as": "pickle"}),
    "an unknown column": index(column=["ocp+odd"]),
    "fewer arrays": index(arrays=[]),
    "no kind": index(**{"as": ["npy"]}),
    "half an index": INDEX[:100],
    "a list": b"[]",
    "deep": b"[" * 100000,
    "binary": b"\xff\xfe\x00",
}
DAMAGES = [
    *((OUT, ARRAYS[name], f"{OUT}.* {said}") for name, said in rows("golden", "export", "array")),
    *(("index.json", INDICES[name], said) for name, said in rows("golden", "export", "index")),
    ("a.npy", b"", "a.npy is no file of this export"),
]


def test_a_folder_as_exported_passes(tmp_path: Path, capsys: Capture) -> None:
    write(tmp_path, MADE)
    assert export("--check", tmp_path) == 0
    assert capsys.readouterr() == (f"{tmp_path} is what would be exported now\n", "")


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("name", "content", "reason"), DAMAGES)
def test_a_damaged_folder_fails(
    name: str,
    content: bytes | None,
    reason: str,
    tmp_path: Path,
    capsys: Capture,
    monkeypatch: Patch,
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "export"
    write(folder, MADE)
    (folder / name).unlink(missing_ok=True)
    if content is not None:
        (folder / name).write_bytes(content)
    assert export("--check", folder) == 1
    out, err = capsys.readouterr()
    first, *_, last = out.splitlines()
    assert re.search(reason, first), out
    assert (last, err) == (f"{folder} differs from what would be exported now", "")
    assert not Path("planted").exists()


def test_a_damaged_source_is_refused(tmp_path: Path, capsys: Capture) -> None:
    path = "quantize/mxfp4_e2m1.bf16.jsonl"
    vectors, folder = helpers.copy_vectors(tmp_path / "vectors", path), tmp_path / "export"
    write(folder, MADE)
    assert export("--check", folder, "--vectors", vectors) == 0
    capsys.readouterr()
    text = (vectors / path).read_text("ascii")
    (vectors / path).write_text(text.replace('"8000 8000', '"8001 8000', 1), "ascii")
    assert export("--check", folder, "--vectors", vectors) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.search(r"quantize/mxfp4_e2m1\.bf16\.jsonl does not have the sha256", err)
