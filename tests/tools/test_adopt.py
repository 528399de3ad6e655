"""The kits of tools/adopt: each passes on a right implementation, and fails on a planted bug."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from archive_helpers import archives_made, unpacked
from helpers import ROOT, built, run, tool

from mxref.cli import main

ADOPT = ROOT / "tools" / "adopt"
CUDA = ROOT / "tools" / "fastpath" / "cuda"
#: A kernel of the CUDA header, on the host.
KERNEL = """\
#include "mx_fastpath.cuh"
static uint8_t my_encode(uint32_t x) { return uint8_t(mx::encode<mx::E2M1>(x)); }
static void my_quantize(const uint32_t *x, uint8_t *out)
{
    uint32_t amax = 0;
    for (int i = 0; i < 32; ++i)
        amax = (x[i] & 0x7fffffff) > amax ? x[i] & 0x7fffffff : amax;
    const bool finite = amax < 0x7f800000;
    out[0] = finite ? mx::shared_scale<mx::E2M1>(amax, mx::Rule::floor) : 0xff;
    for (int i = 0; i < 32; ++i)
        out[1 + i] = finite ? uint8_t(mx::encode<mx::E2M1>(x[i], out[0])) : 0;
}
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return archives_made(tmp_path_factory)


@pytest.mark.parametrize(
    "name", ["check_mxfp4.cpp", "test_e4m3_casts.py", "test_mx_blocks.py", "mxfp8.rs"]
)
def test_a_kit_names_its_archive(name: str) -> None:
    text = (ADOPT / name).read_text("utf-8")
    assert len(re.findall(r"Archive: mxref-vectors-VERSION-\w+\.zip", text)) == 1


@pytest.mark.parametrize(
    "planted", [("", ""), ("Rule::floor", "Rule::ceil"), ("x[i], ", "x[i] | 1, ")]
)
def test_the_kit_in_cpp(planted: tuple[str, str], made: Path, tmp_path: Path) -> None:
    """The CUDA header on the host."""
    assert KERNEL.count(planted[0]) == 1 or planted == ("", "")
    kernel = KERNEL.replace(*planted) if planted[0] else KERNEL
    (tmp_path / "kernel.h").write_text(kernel, "ascii")
    strict = ("-std=c++14", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{CUDA}", f"-I{tmp_path}")
    built(
        tool("g++"),
        *strict,
        '-DKERNEL="kernel.h"',
        ADOPT / "check_mxfp4.cpp",
        "-o",
        tmp_path / "check",
    )
    result = run(tmp_path / "check", unpacked(made, "mxfp4"))
    wrong = re.search(r"(\d+) cases, (\d+) wrong\n$", result.stdout)
    assert wrong is not None
    assert int(wrong[1]) == 1764 + 330
    assert (int(wrong[2]) > 0, result.returncode) == (bool(planted[0]), int(bool(planted[0])))
    assert run(tmp_path / "check", tmp_path).returncode == 2


@pytest.mark.parametrize("planted", ["", "dtype", "profile"])
def test_the_kit_in_pytest(planted: str, made: Path, tmp_path: Path) -> None:
    """ml_dtypes as it is installed; a bug is another format, or the promise of another library."""
    text = (ADOPT / "test_e4m3_casts.py").read_text("utf-8")
    replaced = {
        "": ("", ""),
        "dtype": ("ml_dtypes.float8_e4m3fn", "ml_dtypes.float8_e4m3fnuz"),
        "profile": ('profile: str = "ml_dtypes"', 'profile: str = "ocp"'),
    }[planted]
    assert text.count(replaced[0]) == 1 or not planted
    (tmp_path / "test_casts.py").write_text(text.replace(*replaced) if planted else text, "utf-8")
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path)
    environment = {**os.environ, "MXREF_VECTORS": str(unpacked(made, "mxfp8_e4m3"))}
    result = run(sys.executable, *words, tmp_path / "test_casts.py", cwd=tmp_path, env=environment)
    failed = {"": 0, "dtype": 5, "profile": 4}[planted]
    assert result.returncode == bool(planted), result.stdout
    assert f"{failed} failed" in result.stdout if planted else "5 passed" in result.stdout


@pytest.mark.parametrize(
    ("right", "wrong", "failed"),
    [("", "", 0), (".max(-6)", "", 2), ("- 8).max(-127)", "- 7).max(-127)", 1)],
)
def test_the_kit_in_rust(right: str, wrong: str, failed: int, made: Path, tmp_path: Path) -> None:
    """The small encoder of the examples."""
    text = (ROOT / "tools/examples/consumers/kernel.rs").read_text("utf-8")
    assert text.count(right) == 1 or not right
    (tmp_path / "kernel.rs").write_text(text.replace(right, wrong) if right else text, "utf-8")
    shutil.copy(ADOPT / "mxfp8.rs", tmp_path)
    built(tool("rustc"), "--edition", "2021", "--test", tmp_path / "mxfp8.rs", "-o", tmp_path / "t")
    environment = {**os.environ, "MXREF_VECTORS": str(unpacked(made, "mxfp8_e4m3"))}
    result = run(tmp_path / "t", env=environment)
    assert f"{2 - failed} passed; {failed} failed" in result.stdout
    assert (result.returncode != 0) == bool(failed)


@pytest.mark.parametrize("planted", [False, True])
def test_the_kit_in_systemverilog(planted: bool, made: Path, tmp_path: Path) -> None:
    """The exported table in Verilog, or one with a code that is one too large."""
    table = ("table", "--format", "e2m1", "--as", "verilog", "-o", str(tmp_path / "e2m1.v"))
    assert main(["export", *table]) == 0
    if planted:
        words = (tmp_path / "e2m1.hex").read_text("ascii").splitlines()
        words[words.index("3")] = "4"
        (tmp_path / "e2m1.hex").write_text("\n".join(words) + "\n", "ascii")
    sources = (tmp_path / "e2m1.v", ADOPT / "encode_e2m1.sv")
    built(tool("iverilog"), "-g2012", "-Wall", "-o", tmp_path / "tb", *sources)
    result = run(tool("vvp"), tmp_path / "tb", f"+vectors={unpacked(made, 'mxfp4')}", cwd=tmp_path)
    wrong = re.search(r"1764 cases, (\d+) wrong", result.stdout)
    assert wrong is not None, result.stdout
    assert ((int(wrong[1]) > 0), result.returncode) == (planted, int(planted))
