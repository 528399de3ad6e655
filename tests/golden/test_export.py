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
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import ROOT, built, choices_of, run, steps, tool
from numpy.typing import NDArray

from mxref import encode, exact
from mxref.bits.floats import LAYOUTS, split
from mxref.cli import main
from mxref.formats.catalog import code_format
from mxref.golden.export import encode_table, files, read_npy
from mxref.numbers.element import encode_parts
from mxref.numbers.source import narrowed
from mxref.policy.policy import Policy

VECTORS = ROOT / "vectors"
EXAMPLES = ROOT / "tools" / "examples"
#: Width and fraction bits of the float types. Source: IEEE 754-2019 3.4.
FLOATS = {"f16": (16, 10), "bf16": (16, 7), "f32": (32, 23), "f64": (64, 52)}

#: Float32 tables: every format, and policies that make each choice of an element differ.
TABLES = [
    *((format, "ocp") for format in ("e5m2", "e4m3", "e3m2", "e2m3", "e2m1", "int8")),
    ("e5m2", "ocp+rounding=toward_positive+overflow=nonsaturating+nan=signed_quiet"),
    ("e5m2", "ocp+overflow=propagate+subnormal_inputs=flushed+pre_rounding=bfloat16"),
    ("e4m3", "ocp+rounding=toward_negative+subnormal_inputs=flushed"),
    ("e4m3", "ocp+rounding=ties_to_away+overflow=nonsaturating_ieee+nan=signed"),
    ("e3m2", "ocp+nan_to_finite=opposite_zero+pre_rounding=bfloat16"),
    ("e2m3", "ocp+rounding=ties_to_zero+clamp=before_rounding+underflow_sign=dropped"),
    ("e2m1", "ocp+rounding=to_odd+zero_sign=dropped"),
    ("int8", "ocp+rounding=toward_zero+int8_range=full"),
    ("int8", "ocp+rounding=ties_to_away+pre_rounding=bfloat16"),
]


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    status = main([str(word) for word in arguments])
    return status, *capsys.readouterr()


def plain(stem: str) -> list[list[str]]:
    return [
        line.split() for line in (VECTORS / f"plain/{stem}.txt").read_text("ascii").splitlines()
    ]


def telling_inputs(format: str, float: str, policy: str) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """Inputs at every threshold and 2 ulp to both sides, all of level 1, and their exact codes."""
    width, fraction = FLOATS[float]
    choices = choices_of(policy)

    def code(bits: int) -> int:
        return exact.encode(bits, float, format, **choices)

    inputs = {int(words[0], 16) for words in plain(f"encode/{format}.{float}")}
    sign = 1 << (width - 1)
    infinity = sign - (1 << fraction)
    for start in (0, sign):
        for at in steps(code, start, start + infinity):
            inputs |= {min(max(start, at + step), start + sign - 1) for step in range(-2, 3)}
    ordered = sorted(inputs)
    return np.array(ordered, f"u{width // 8}"), np.array([code(bits) for bits in ordered], np.uint8)


# --- tables ---------------------------------------------------------------------------------------


def compiled(folder: Path, source: str, name: str, bits: int, *flags: str) -> Callable[..., Any]:
    """The lookup of an exported source as a function of arrays."""
    (folder / "table.h").write_text(source, "ascii")
    loop = f"for (i = 0; i < n; ++i) code[i] = {name}(x[i]);"
    link = '#ifdef __cplusplus\nextern "C"\n#endif\n'
    (folder / "loop.c").write_text(
        '#include <stddef.h>\n#include "table.h"\n#include "table.h"\n'
        f"{link}void run(const uint{bits}_t *x, uint8_t *code, size_t n)\n"
        f"{{\n    size_t i;\n    {loop}\n}}\n",
        "ascii",
    )
    warnings = ("-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror")
    library = folder / f"{len(list(folder.glob('*.so')))}.so"
    built(
        tool("gcc"), *(flags or ("-std=c99",)), "-O2", *warnings, "-fPIC", "-shared",
        folder / "loop.c", "-o", library,
    )  # fmt: skip
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
    arguments = ("--format", format, "--policy", policy, "--float", float, "--as", kind, "-o", out)
    assert main(["export", "table", *map(str, arguments)]) == 0
    source = out.read_text("ascii")
    found = re.search(r"uint8_t (mxref_encode_\w+)_table\[", source)
    assert found is not None
    return compiled(folder, source, found[1], FLOATS[float][0], *flags)


@pytest.fixture(scope="module")
def patterns() -> NDArray[np.uint32]:
    """2**24 random float32 patterns."""
    return np.random.Generator(np.random.PCG64(24)).integers(0, 1 << 32, 1 << 24, np.uint32)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("format", "policy"), TABLES)
def test_the_c_lookup_is_the_encoder(
    format: str, policy: str, tmp_path: Path, patterns: NDArray[np.uint32]
) -> None:
    codes = c_lookup(tmp_path, format, policy)
    inputs, want = telling_inputs(format, "f32", policy)
    np.testing.assert_array_equal(codes(inputs), want)
    if "pre_rounding" in policy:  # which takes a hundred times as long
        patterns = patterns[: 1 << 17]
    np.testing.assert_array_equal(
        codes(patterns), encode(patterns.view(np.float32), format, policy)
    )


@pytest.mark.parametrize(("format", "policy"), TABLES)
def test_all_floats_of_a_key_have_one_code(format: str, policy: str) -> None:
    """Both ends of each key's interval, by the integer path without a table.

    Codes are monotone in the magnitude, so this is every float32.
    """
    table, layout = encode_table(format, policy), LAYOUTS["f32"]
    keys = np.arange(table.codes.size, dtype=np.uint64)
    odd = (keys & np.uint64(1)).astype(bool)
    element = Policy.parse(policy).element
    for low, high in ((0, 0), (-(1 << table.drop) + 1, (1 << table.drop) - 1)):
        for step in (low, high):
            ends = (keys << np.uint64(table.drop)).astype(np.int64) + np.where(odd, step, 0)
            bits, to = narrowed(ends.astype(np.uint32), layout, element.pre_rounding)
            if "subnormal_inputs=flushed" in policy:
                sign = to.uint.type(to.sign_bit)
                tiny = bits & to.uint.type(to.sign_bit - 1) < to.uint.type(1 << to.mantissa_bits)
                bits = np.where(tiny, bits & sign, bits)
            codes = encode_parts(split(bits, to), code_format(format), element)
            np.testing.assert_array_equal(codes, table.codes)


def test_a_table_of_2_mib_is_the_encoder() -> None:
    """Rounding to float16 first needs 12 fraction bits; too large to be compiled in a test."""
    policy = "ocp+overflow=propagate+subnormal_inputs=flushed+pre_rounding=float16"
    inputs, want = telling_inputs("e5m2", "f32", policy)
    table = encode_table("e5m2", policy)
    assert (table.codes.size, table.drop) == (1 << 21, 11)
    keys = (inputs | ((inputs & np.uint32(0x7FF)) + np.uint32(0x7FF))) >> np.uint32(11)
    np.testing.assert_array_equal(table.codes[keys], want)


@pytest.mark.parametrize("wrong", ["0x3fffeu", "0x1ffffu", "0u"])
def test_a_lookup_that_loses_a_sticky_bit_is_found(wrong: str, tmp_path: Path) -> None:
    out = tmp_path / "e4m3.h"
    assert main(["export", "table", "--format", "e4m3", "--as", "c", "-o", str(out)]) == 0
    source = out.read_text("ascii")
    assert source.count("+ 0x3ffffu") == 1
    planted = source.replace("+ 0x3ffffu", f"+ {wrong}")
    codes = compiled(tmp_path, planted, "mxref_encode_e4m3_f32", 32)
    inputs, want = telling_inputs("e4m3", "f32", "ocp")
    assert (codes(inputs) != want).any()


@pytest.mark.sampled(6)
@pytest.mark.parametrize("format", ["e5m2", "e4m3", "int8"])
@pytest.mark.parametrize("float", ["bf16", "f16"])
def test_the_c_lookup_of_16_bits_is_right_on_all_of_them(
    float: str, format: str, tmp_path: Path
) -> None:
    policy = "ocp+rounding=toward_positive"
    want = [exact.encode(x, float, format, rounding="toward_positive") for x in range(1 << 16)]
    codes = c_lookup(tmp_path, format, policy, float)
    np.testing.assert_array_equal(codes(np.arange(1 << 16, dtype=np.uint16)), want)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("format", ["e4m3", "int8"])
def test_the_c_lookup_of_float64(format: str, tmp_path: Path) -> None:
    codes = c_lookup(tmp_path, format, "ocp", "f64")
    inputs, want = telling_inputs(format, "f64", "ocp")
    np.testing.assert_array_equal(codes(inputs), want)


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


@pytest.mark.parametrize(
    ("format", "float", "policy", "key"),
    [
        ("e5m2", "f32", "ocp", 13),
        ("e4m3", "f32", "ocp", 14),
        ("e2m1", "f32", "ocp", 12),
        ("int8", "f32", "ocp", 17),
        ("e4m3", "f64", "ocp", 17),
        ("int8", "bf16", "ocp", 16),
        ("e4m3", "f32", "ocp+pre_rounding=bfloat16", 18),
    ],
)
def test_a_key_has_two_bits_more_than_the_precision(
    format: str, float: str, policy: str, key: int
) -> None:
    """Sign, exponent, fraction of the format (or of what is rounded to first) and two bits."""
    assert encode_table(format, policy, float).codes.size == 1 << key


def test_the_same_table_as_npy_bin_and_readmemh(tmp_path: Path) -> None:
    want = encode_table("e2m1").codes
    base = ["export", "table", "--format", "e2m1"]
    for kind in ("npy", "bin", "readmemh"):
        assert main([*base, "--as", kind, "-o", str(tmp_path / kind)]) == 0
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


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--policy", "ocp+rounding=stochastic_a"), "must be deterministic .*stochastic_a"),
        (("--policy", "ocp+nan_to_finite=error"), "must have a code for NaN .* e2m1"),
        (("--policy", "ocp+scale_rule=ceil"), "encode does not read the choice 'scale_rule'"),
        (("--policy", "ocp+pre_rounding=float32", "--float", "f64"), r"needs 2\*\*37"),
        (("--format", "mxfp4_e2m1"), "use 'e2m1'"),
        (("--format", "e8m0"), "must have a zero"),
        (("--float", "f8"), "float must be one of"),
        (("--as", "rust"), "--as must be one of c, cuda, verilog, npy, bin, readmemh"),
        (("--as", "verilog", "-o", 'a"b.v'), "--out must be a name of letters"),
    ],
)
def test_what_cannot_be_a_table_is_refused_in_one_sentence(
    arguments: tuple[str, ...], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    options = {"--format": "e2m1", "--as": "c", "-o": "t.h"}
    options |= dict(zip(arguments[::2], arguments[1::2], strict=True))
    words = (word for option in options.items() for word in option)
    status, out, err = call(capsys, "export", "table", *words)
    assert (status, out) == (2, "")
    assert re.fullmatch(rf"mxref: error: [^\n]*{reason}[^\n]*\n", err), err
    assert not list(tmp_path.iterdir())


def test_a_policy_without_nan_codes_is_no_matter_where_the_format_has_nan() -> None:
    np.testing.assert_array_equal(
        encode_table("e4m3", "ocp+nan_to_finite=error").codes, encode_table("e4m3").codes
    )


# --- Verilog --------------------------------------------------------------------------------------

PRINT = """module print;
    reg [{top}:0] in [0:{last}];
    reg [{top}:0] x;
    wire [{code}:0] code;
    integer i;
    {name} dut (.x(x), .code(code));
    initial begin
        $readmemh("in.hex", in);
        for (i = 0; i <= {last}; i = i + 1) begin
            x = in[i];
            #1 $display("%h", code);
        end
    end
endmodule
"""


@pytest.mark.parametrize(
    ("format", "float", "policy", "bits"),
    [
        ("e2m1", "f32", "ocp+rounding=to_odd", 4),
        ("e3m2", "f16", "ocp", 6),
        ("int8", "bf16", "ocp", 8),  # whose key is the whole pattern
        ("int8", "f32", "ocp", 8),
    ],
)
def test_the_verilog_module_is_the_encoder(
    format: str, float: str, policy: str, bits: int, tmp_path: Path
) -> None:
    inputs, want = telling_inputs(format, float, policy)
    assert 700 < inputs.size < 10000
    width = FLOATS[float][0]
    lines = "\n".join(f"{bits:0{width // 4}x}" for bits in inputs.tolist())
    (tmp_path / "in.hex").write_text(f"{lines}\n", "ascii")
    table = encode_table(format, policy, float)
    for name, data in table.files("verilog", "dut.v").items():
        (tmp_path / name).write_bytes(data)
    text = PRINT.format(top=width - 1, last=inputs.size - 1, code=bits - 1, name=table.name)
    (tmp_path / "print.v").write_text(text, "ascii")
    # Verilog of 2001: nothing newer is needed.
    built(tool("iverilog"), "-g2001", "-Wall", "-o", tmp_path / "sim", tmp_path / "dut.v",
          tmp_path / "print.v")  # fmt: skip
    result = run(tool("vvp"), tmp_path / "sim", cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    np.testing.assert_array_equal([int(word, 16) for word in result.stdout.split()], want)


@pytest.fixture(scope="module")
def testbench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the example, as its comment makes them."""
    folder = tmp_path_factory.mktemp("testbench")
    arguments = ("--format", "e4m3", "--as", "verilog", "-o", folder / "e4m3.v")
    assert main(["export", "table", *map(str, arguments)]) == 0
    arguments = ("--op", "encode", "--format", "e4m3", "--float", "f32", "--as", "readmemh",
                 "-o", folder / "hex")  # fmt: skip
    assert main(["export", "vectors", *map(str, arguments)]) == 0
    return folder


@pytest.mark.parametrize(
    ("planted", "status", "verdict"),
    [
        ("nothing", 0, "3104 cases, 0 wrong\n"),
        ("rom", 1, r"case \d+: in [0-9a-f]{8}, want 3c, got 3d\n3104 cases, \d wrong\n"),
        ("sticky", 1, r"case \d+: .*\n3104 cases, \d+ wrong\n"),
        ("cut", 1, r"case 3103: in ffffffff, want xx, got 7f\n3104 cases, 1 wrong\n"),
    ],
)
def test_the_testbench(
    planted: str, status: int, verdict: str, testbench: Path, tmp_path: Path
) -> None:
    shutil.copytree(testbench, tmp_path, dirs_exist_ok=True)
    if planted == "rom":
        words = (tmp_path / "e4m3.hex").read_text("ascii").splitlines()
        wrong = words.index("3c")  # the code of 1.5
        words[wrong : words.index("3d")] = ["3d"] * (words.index("3d") - wrong)
        (tmp_path / "e4m3.hex").write_text("\n".join(words) + "\n", "ascii")
    if planted == "sticky":
        module = (tmp_path / "e4m3.v").read_text("ascii")
        assert module.count("|x[18:0]") == 1
        (tmp_path / "e4m3.v").write_text(module.replace("|x[18:0]", "|x[18:1]"), "ascii")
    want = tmp_path / "hex/encode/e4m3.f32/ocp.hex"
    if planted == "cut":
        want.write_text("".join(want.read_text("ascii").splitlines(keepends=True)[:-1]), "ascii")
    built(tool("iverilog"), "-g2012", "-Wall", "-o", tmp_path / "tb", tmp_path / "e4m3.v",
          EXAMPLES / "encode_tb.v")  # fmt: skip
    words = ("+cases=3104", "+in=hex/encode/e4m3.f32/in.hex", "+want=hex/encode/e4m3.f32/ocp.hex")
    result = run(tool("vvp"), tmp_path / "tb", *words, cwd=tmp_path)
    assert result.returncode == status
    printed = re.sub(r"(WARNING|FATAL|  +Time):? .*\n", "", result.stdout)
    assert re.fullmatch(verdict, printed), result.stdout


# --- consumers ------------------------------------------------------------------------------------

#: Float32 to E4M3, saturating, by scaling: written for this test from OCP MX v1.0 5.3.1.
ENCODER = """#include <stdint.h>
uint8_t encode(uint32_t bits)
{
    uint32_t sign = bits >> 31 << 7, mag = bits & 0x7fffffffu;
    uint32_t drop, whole, rest, half;
    if (mag > 0x7f800000u) return 0x7f;
    if (mag >= 0x43e80000u) return (uint8_t)(sign | 0x7e);
    if (mag < 0x3a800000u) return (uint8_t)sign;
    drop = mag >= 0x3c800000u ? 20 : 20 + 121 - (mag >> 23);
    whole = mag >= 0x3c800000u ? mag - (120u << 23) : (mag & 0x7fffffu) | 0x800000u;
    half = 1u << (drop - 1);
    rest = whole & (2 * half - 1);
    whole >>= drop;
    return (uint8_t)(sign | (whole + (rest > half || (rest == half && (whole & 1)))));
}
"""


@pytest.mark.parametrize(
    ("right", "planted", "status"),
    [
        ("", "", 0),
        ("return 0x7f;", "return 0xff;", 0),  # another NaN: one class
        ("&& (whole & 1)", "&& 1", 1),  # ties away
        ("rest == half", "0", 1),  # ties down
        ("sign | 0x7e", "sign | 0x7f", 1),  # overflow to NaN
        ("20 + 121", "19 + 121", 1),  # subnormals are twice as large
        ("return (uint8_t)sign;", "return 0;", 1),  # sign of underflow
        ("mag >= 0x43e80000u", "mag > 0x43e80000u", 0),  # equivalent: the tie goes to the even 7e
    ],
)
def test_the_c_consumer(right: str, planted: str, status: int, tmp_path: Path) -> None:
    assert right == "" or ENCODER.count(right) == 1
    (tmp_path / "mine.c").write_text(ENCODER.replace(right, planted), "ascii")
    warnings = ("-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror")
    consumer = EXAMPLES / "check_encode.c"
    built(tool("gcc"), *warnings, consumer, tmp_path / "mine.c", "-o", tmp_path / "check")
    result = run(tmp_path / "check", VECTORS / "plain/encode/e4m3.f32.txt")
    assert (result.returncode, result.stderr) == (status, "")
    *first, summary = result.stdout.splitlines()
    assert re.fullmatch(r"3104 cases, (0|[1-9]\d*) wrong", summary)
    assert len(first) == status
    assert bool(status) != summary.endswith(" 0 wrong")
    if first:
        match = re.fullmatch(r".*:(\d+): in (\w{8}), want (\w\w), got (\w\w)", first[0])
        assert match is not None
        assert plain("encode/e4m3.f32")[int(match[1]) - 1][:2] == [match[2], match[3]]


@pytest.mark.parametrize("content", ["", "{}\n", "3f800000\n", None])
def test_the_c_consumer_wants_a_file_of_cases(content: str | None, tmp_path: Path) -> None:
    (tmp_path / "mine.c").write_text(ENCODER, "ascii")
    built(tool("gcc"), EXAMPLES / "check_encode.c", tmp_path / "mine.c", "-o", tmp_path / "check")
    if content is not None:
        (tmp_path / "cases.txt").write_text(content, "ascii")
    assert run(tmp_path / "check", tmp_path / "cases.txt").returncode == 2


#: The nearest of the 127 magnitudes of E4M3 (OCP MX v1.0 5.3.1), in units of the smallest.
PYTHON_ENCODER = """
import struct
VALUES = [m if e == 0 else (8 + m) << (e - 1) for e in range(16) for m in range(8)][:127]
def encode(bits):
    x = struct.unpack(">f", bits.to_bytes(4, "big"))[0]
    if x != x:
        return 0x7F
    sign = bits >> 31 << 7
    x = min(abs(x), 1e9) * 512  # differences from the two nearest are exact in float64
    return sign | min(range(127), key=lambda code: (abs(VALUES[code] - x), code % 2))
"""


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("right", "planted", "policy", "status"),
    [
        ("", "", "ocp", 0),
        ("0x7F", "0xFF", "ocp", 0),
        ("code % 2", "1 - code % 2", "ocp", 1),
        ("sign | ", "", "ocp", 1),
        ("", "", "ocp+overflow=nonsaturating", 1),
        ("code % 2", "-code", "ocp", 1),
        ("code % 2", "-code", "ocp+rounding=ties_to_away", 0),
    ],
)
def test_the_python_consumer(
    right: str, planted: str, policy: str, status: int, tmp_path: Path
) -> None:
    mine = tmp_path / "mine.py"
    assert right == "" or PYTHON_ENCODER.count(right) == 1
    mine.write_text(PYTHON_ENCODER.replace(right, planted))
    command = (sys.executable, "-I", EXAMPLES / "check_encode.py", mine, policy)
    with (VECTORS / "encode/e4m3.f32.jsonl").open() as cases:
        result = run(*command, stdin=cases)
    assert (result.returncode, result.stderr) == (status, "")
    assert re.search(rf"(?m)^3104 cases, {'[1-9]' if status else '0 '}", result.stdout)
    assert ("want" in result.stdout) == bool(status)


def test_the_python_consumer_wants_all_cases(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(PYTHON_ENCODER)
    lines = (VECTORS / "encode/e4m3.f32.jsonl").read_text("ascii").splitlines(keepends=True)
    command = (sys.executable, "-I", EXAMPLES / "check_encode.py", tmp_path / "mine.py")
    assert run(*command, input="".join(lines[:20])).returncode == 1
    assert "mxref" not in (EXAMPLES / "check_encode.py").read_text()


def test_the_consumers_are_small() -> None:
    for name, most in (("check_encode.c", 40), ("check_encode.py", 20), ("encode_tb.v", 40)):
        assert len((EXAMPLES / name).read_text("ascii").splitlines()) <= most


# --- vectors --------------------------------------------------------------------------------------

SOME = [
    ("encode", "e4m3", "f32", "ocp+rounding=to_odd"),
    ("encode", "int8", "f64", "ocp+int8_range=full"),
    ("decode", "e2m1", "f32", "ocp+decoded_zero=dropped"),
    ("shared_scale", "e4m3", "f32", "ocp+scale_rule=rceil"),
    ("quantize", "mxfp4_e2m1", "bf16", "ocp+zero_block=nan"),
    ("dequantize", "mxint8", "bf16", "ocp+scale_00=zero"),
]


def source(op: str, format: str, float: str) -> tuple[str, str]:
    """Path of a canonical file, and its digest as computed here."""
    path = f"{op}/{format}.{float}.jsonl"
    return path, hashlib.sha256((VECTORS / path).read_bytes()).hexdigest()


def hand_read(op: str, format: str, float: str, column: str) -> dict[str, list[list[int]]]:
    """Inputs and one column of a canonical file, word by word."""
    path, _ = source(op, format, float)
    header, *cases = map(json.loads, (VECTORS / path).read_text("ascii").splitlines())
    index = header["columns"].index(column)
    outs = [
        case["out"] if "by" not in case else case["out"][int(case["by"][index], 36)]
        for case in cases
    ]
    return {
        "in": [[int(word, 16) for word in case["in"].split()] for case in cases],
        column: [[int(word, 16) for word in out.split()] for out in outs],
    }


def exported(
    folder: Path, kind: str, op: str, format: str, float: str, *columns: str
) -> list[dict[str, Any]]:
    """Export some vectors; the entries of the index."""
    chosen = [word for column in columns for word in ("--column", column)]
    arguments = ["--op", op, "--format", format, "--float", float, *chosen, "--as", kind]
    assert main(["export", "vectors", *arguments, "-o", str(folder)]) == 0
    entries: list[dict[str, Any]] = json.loads((folder / "index.json").read_bytes())["arrays"]
    return entries


@pytest.mark.sampled(6)
@pytest.mark.parametrize("kind", ["npy", "bin", "readmemh", "c", "safetensors"])
@pytest.mark.parametrize(("op", "format", "float", "column"), SOME)
def test_exported_words_are_those_of_the_canonical_file(
    op: str, format: str, float: str, column: str, kind: str, tmp_path: Path
) -> None:
    want = hand_read(op, format, float, column)
    path, digest = source(op, format, float)
    entries = exported(tmp_path, kind, op, format, float, column)
    assert [entry["column"] for entry in entries] == ["in", column]
    for entry in entries:
        words = want[entry["column"]]
        file = tmp_path / entry["file"]
        data = file.read_bytes()
        assert entry["source"] == path
        assert entry["source_sha256"] == digest
        assert entry["sha256"] == hashlib.sha256(data).hexdigest()
        assert (entry["op"], entry["format"], entry["float"]) == (op, format, float)
        several = len(words[0]) > 1
        assert entry["shape"] == [len(words), *([len(words[0])] if several else [])]
        digits = entry["digits"]
        dtype = np.dtype(f"<u{digits // 2}")
        if kind == "npy":
            got = np.load(file, allow_pickle=False)
            assert got.dtype == dtype
            assert got.shape == tuple(entry["shape"])
            np.testing.assert_array_equal(read_npy(file, got.shape), got, strict=True)
        elif kind == "bin":
            got = np.fromfile(file, dtype)
        elif kind == "readmemh":
            comment, *lines = data.decode("ascii").splitlines()
            assert comment == f"// {path} sha256 {digest} {entry['column']}"
            assert all(re.fullmatch(f"[0-9a-f]{{{digits}}}", line) for line in lines)
            got = np.array([int(line, 16) for line in lines], np.uint64)
        elif kind == "c":
            got = compiled_array(tmp_path, entry, dtype, digest)
        else:
            got = loaded_tensor(file, entry["column"], path, digest)
            assert got.dtype == dtype
            assert got.shape == tuple(entry["shape"])
        np.testing.assert_array_equal(got.reshape(-1), np.array(words, np.uint64).reshape(-1))


def compiled_array(
    folder: Path, entry: dict[str, Any], dtype: np.dtype[Any], digest: str
) -> NDArray[Any]:
    file = folder / entry["file"]
    assert f"/* {entry['source']} sha256 {digest} */\n" in file.read_text("ascii")
    name = "_".join([entry["op"], entry["format"], entry["float"], entry["column"]])
    symbol = f"mxref_{re.sub(r'[^a-z0-9_]', '_', name)}"
    main = folder / "main.c"
    main.write_text(
        f'#include <stdio.h>\n#include "{file}"\n#include "{file}"\n'
        f"int main(void) {{ return fwrite({symbol}, sizeof {symbol}, 1, stdout) != 1; }}\n"
    )
    # Every array of the header but one is unused.
    built(tool("gcc"), "-std=c99", "-Wall", "-pedantic", "-Werror", main, "-o", folder / "dump")
    data = subprocess.run([folder / "dump"], capture_output=True, check=True).stdout
    return np.frombuffer(data, dtype.newbyteorder("="))


def loaded_tensor(file: Path, column: str, path: str, digest: str) -> NDArray[Any]:
    from safetensors import safe_open

    with safe_open(file, "numpy") as tensors:
        about = json.loads(tensors.metadata()["mxref"])
        assert about == {"source": path, "source_sha256": digest}
        got: NDArray[Any] = tensors.get_tensor(column)
    return got


@pytest.mark.sampled(0)
def test_without_a_selection_everything_is_exported(tmp_path: Path) -> None:
    assert main(["export", "vectors", "--as", "bin", "-o", str(tmp_path / "all")]) == 0
    index = json.loads((tmp_path / "all/index.json").read_bytes())
    got = {(array["source"], array["column"]) for array in index["arrays"]}
    want = set()
    for path in VECTORS.rglob("*.jsonl"):
        with path.open() as file:
            columns = json.loads(file.readline())["columns"]
        want |= {(path.relative_to(VECTORS).as_posix(), name) for name in ("in", *columns)}
    assert got == want
    files = {p.relative_to(tmp_path / "all").as_posix() for p in (tmp_path / "all").rglob("*.bin")}
    assert files == {array["file"] for array in index["arrays"]}
    shutil.rmtree(tmp_path / "all")


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


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--op", "encod"), "--op must be one of .* 'encode'"),
        (("--format", "mxfp5"), "--format must be one of"),
        (("--float", "f8"), "--float must be one of"),
        (("--column", "ocp+rounding=odd"), "--column must be one of"),
        (("--op", "decode", "--float", "bf16"), "--float must be one of f32, got 'bf16'"),
        (("--as", "parquet"), "--as must be one of npy, bin, readmemh, c, safetensors"),
        (("--vectors", "/nowhere"), "no vectors in /nowhere: pass --vectors"),
        (("-o", "file"), "--out must be a folder, file is a file"),
        (("-o", "full"), "full holds other.txt: remove it"),
    ],
)
def test_what_cannot_be_exported_is_refused_in_one_sentence(
    arguments: tuple[str, ...], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "full").mkdir()
    (tmp_path / "full/other.txt").touch()
    base = {"--as": "npy", "-o": "out"}
    few = {} if {"--op", "--format"} & {*arguments} else {"--op": "decode"}
    options = base | few | dict(zip(arguments[::2], arguments[1::2], strict=True))
    words = (word for option in options.items() for word in option)
    status, out, err = call(capsys, "export", "vectors", *words)
    assert (status, out) == (2, "")
    assert re.fullmatch(rf"mxref: error: [^\n]*{reason}[^\n]*\n", err), err
    assert not (tmp_path / "out").exists()


def test_without_the_safetensors_package(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    arguments = ("--op", "decode", "--as", "safetensors", "-o", tmp_path / "out")
    status, _, err = call(capsys, "export", "vectors", *arguments)
    assert status == 2
    assert err == (
        "mxref: error: --as safetensors needs the package safetensors: "
        "in a checkout of mxref, pip install -e '.[io]', elsewhere pip install safetensors\n"
    )
    assert not (tmp_path / "out").exists()


# --- checking a folder ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    exported(folder, "npy", "quantize", "mxfp4_e2m1", "bf16", "ocp")
    return folder


@pytest.fixture
def export(whole: Path, tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "export"
    shutil.copytree(whole, folder)
    yield folder
    shutil.rmtree(folder)


OUT = "quantize/mxfp4_e2m1.bf16/ocp.npy"


class Planted:
    """What a pickle would run."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (os.mkdir, ("planted",))


def version_2(array: NDArray[Any]) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, (2, 0))
    return file.getvalue()


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def edit_index(folder: Path, **changes: Any) -> None:
    index = json.loads((folder / "index.json").read_bytes())
    (folder / "index.json").write_text(json.dumps({**index, **changes}))


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "cut in the data": (
        lambda f: (f / OUT).write_bytes((f / OUT).read_bytes()[:-1]),
        rf"{OUT} must have \d+ bytes of data for the shape \(\d+, 33\), got \d+",
    ),
    "cut in the header": (
        lambda f: (f / OUT).write_bytes((f / OUT).read_bytes()[:100]),
        f"{OUT} is cut off in its header, after 100 bytes",
    ),
    "cut in the magic": (
        lambda f: (f / OUT).write_bytes((f / OUT).read_bytes()[:4]),
        f"{OUT} must be a .npy file of format 1.0, it does not begin as one",
    ),
    "empty": (lambda f: (f / OUT).write_bytes(b""), "it does not begin as one"),
    "longer": (
        lambda f: (f / OUT).write_bytes((f / OUT).read_bytes() + b"\0"),
        rf"{OUT} must have \d+ bytes",
    ),
    "pickled": (
        lambda f: np.save(f / OUT, np.array([Planted()], object), allow_pickle=True),
        f"{OUT} must hold numbers, it holds pickled Python objects",
    ),
    "a bare pickle": (
        lambda f: (f / OUT).write_bytes(pickle.dumps(Planted())),
        "it does not begin as one",
    ),
    "another shape": (
        lambda f: np.save(f / OUT, np.load(f / OUT)[:-1]),
        rf"{OUT} must have the shape \(\d+, 33\), got \(\d+, 33\)",
    ),
    "another order": (
        lambda f: np.save(f / OUT, np.asfortranarray(np.load(f / OUT))),
        "in C order, got '|u1', fortran_order True",
    ),
    "another type": (
        lambda f: np.save(f / OUT, np.load(f / OUT).astype(np.float32)),
        "must hold little-endian unsigned integers",
    ),
    "several fields": (
        lambda f: np.save(
            f / OUT, np.zeros((66, 33), [("a", "u1"), ("b", "O")]), allow_pickle=True
        ),
        "must have a header of descr, fortran_order and shape alone",
    ),
    "another byte": (lambda f: flip(f / OUT, 2000), f"{OUT} differs, first at byte 2000"),
    "another header of the same array": (
        lambda f: (f / OUT).write_bytes(version_2(np.load(f / OUT))),
        "must be a .npy file of format 1.0",
    ),
    "gone": (lambda f: (f / OUT).unlink(), f"{OUT} cannot be read: No such file"),
    "a folder": (
        lambda f: ((f / OUT).unlink(), (f / OUT).mkdir()),
        f"{OUT} cannot be read: Is a directory",
    ),
    "one more": (lambda f: (f / "a.npy").touch(), "a.npy is no file of this export"),
    "no index": (lambda f: (f / "index.json").unlink(), "index.json cannot be read: No such file"),
    "half an index": (
        lambda f: (f / "index.json").write_bytes((f / "index.json").read_bytes()[:100]),
        "index.json is no index of an export",
    ),
    "a list as index": (
        lambda f: (f / "index.json").write_text("[]"),
        "index.json is no index of an export",
    ),
    "deep index": (
        lambda f: (f / "index.json").write_text("[" * 100000),
        "index.json is no index of an export",
    ),
    "binary index": (
        lambda f: (f / "index.json").write_bytes(b"\xff\xfe\x00"),
        "index.json is no index of an export",
    ),
    "index of another kind": (lambda f: edit_index(f, **{"as": "bin"}), "in.bin cannot be read"),
    "index of no kind": (
        lambda f: edit_index(f, **{"as": ["npy"]}),
        "index.json is no index of an export",
    ),
    "index of an unknown kind": (
        lambda f: edit_index(f, **{"as": "pickle"}),
        "index.json asks for what there is not: --as must be one of",
    ),
    "index of an unknown column": (
        lambda f: edit_index(f, column=["ocp+rounding=odd"]),
        "index.json asks for what there is not: --column must be one of",
    ),
    "index of fewer arrays": (lambda f: edit_index(f, arrays=[]), "index.json differs"),
}


def test_a_folder_as_exported_passes(export: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = call(capsys, "export", "--check", export)
    assert (status, out, err) == (0, f"{export} is what would be exported now\n", "")


@pytest.mark.sampled(6)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_folder_fails(
    damage: str, export: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(export.parent)
    harm, reason = DAMAGES[damage]
    harm(export)
    status, out, err = call(capsys, "export", "--check", export)
    assert (status, err) == (1, "")
    first, *_, last = out.splitlines()
    assert re.search(reason, first), out
    assert last == f"{export} differs from what would be exported now"
    assert not Path("planted").exists()


def test_a_damaged_source_is_refused_with_file_line_and_reason(
    export: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    vectors = tmp_path / "vectors"
    path = "quantize/mxfp4_e2m1.bf16.jsonl"
    (vectors / "quantize").mkdir(parents=True)
    manifest = json.loads((VECTORS / "manifest.json").read_bytes())
    manifest["files"] = [entry for entry in manifest["files"] if entry["file"] == path]
    (vectors / "manifest.json").write_text(json.dumps(manifest))
    text = (VECTORS / path).read_text("ascii")
    (vectors / path).write_text(text, "ascii")
    assert call(capsys, "export", "--check", export, "--vectors", vectors)[0] == 0
    (vectors / path).write_text(text.replace('"8000 8000', '"8001 8000', 1), "ascii")
    status, out, err = call(capsys, "export", "--check", export, "--vectors", vectors)
    assert (status, out) == (2, "")
    assert re.search(r"quantize/mxfp4_e2m1\.bf16\.jsonl does not have the sha256", err)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "table, vectors or --check DIR"),
        (("--check", "/nowhere"), "--check must be a folder, /nowhere is none"),
        (("--check", ".", "table", "--format", "e2m1", "--as", "c", "-o", "t.h"), "given alone"),
        (("--check", ".", "vectors", "--as", "npy", "-o", "out"), "given alone"),
    ],
)
def test_misuse_of_the_verb(
    arguments: tuple[str, ...], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = call(capsys, "export", *arguments)
    assert (status, out) == (2, "")
    assert reason in err


@pytest.mark.parametrize("what", ["table", "vectors"])
def test_help_has_an_example(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = call(capsys, "export", what, "--help")
    assert (status, err) == (0, "")
    assert re.search(rf"^example:\n  mxref export {what} --", out, re.MULTILINE)
