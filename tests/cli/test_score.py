"""``mxref score`` and ``mxref explain``: what they print, and with which exit status."""

from __future__ import annotations

import functools
import json
import re
import sys
from collections.abc import Callable

import pytest
from helpers import ROOT, run

from mxref import golden
from mxref.cli import main
from mxref.mutants import MUTANTS

VECTORS = ROOT / "vectors"
read_once = functools.cache(golden.read_vectors)
Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    """The command in this process, with the vectors read once: status, output and errors."""
    monkeypatch.setattr(golden, "read_vectors", read_once)

    def in_process(*arguments: str) -> tuple[int, str, str]:
        status = main([*arguments, "--vectors", str(VECTORS)])
        return status, *capsys.readouterr()

    return in_process


@pytest.mark.sampled(6)
def test_a_pass(call: Call) -> None:
    status, out, err = call("score", "--set", "decode_scale")
    assert (status, err) == (0, "")
    assert re.search(r"^ok +E1 +scale_00_is_zero +2 +2/2 +- +-$", out, re.M)
    assert re.search(r"^decode_scale +10 +10/10 +0$", out, re.M)
    assert out.splitlines()[-1].startswith("PASS 10 mutants, 10 of 10 killed")


@pytest.mark.sampled(3)
def test_one_file_and_one_mutant(call: Call) -> None:
    status, out, _ = call("score", "--set", "encode/e2m1.f32", "--class", "B10b")
    assert status == 0
    assert re.search(r"^ok +B10 +saturated_before_rounding +1 +0/0 +1 +-$", out, re.M)


def test_a_survivor(call: Call) -> None:
    arguments = ("score", "--set", "encode", "--class", "A17", "--without", "M14")
    status, out, _ = call(*arguments)
    assert status == 1
    assert re.search(r"^FAIL +A17 ", out, re.M)
    survivors = re.findall(r"^survived: (\w+) \w+, (\S+)$", out, re.M)
    assert {id for id, _ in survivors} == {"A17a", "A17b", "A17d"}
    origin, last = out.splitlines()[-2:]
    assert last.startswith("FAIL 4 mutants, ")
    seen = sum(bool(m.seen) for m in MUTANTS if (m.group, m.op) == ("A17", "encode"))
    assert origin.startswith(f"4 bugs, {seen} of which say where they were seen, and 0 wrong enco")
    status, out, _ = call(*arguments, "--json")
    assert status == 1
    found = json.loads(out)
    assert found["applicable"] - found["killed"] == len(survivors)
    left = [(c["mutant"], c["file"]) for c in found["cells"] if c["verdict"] == "survived"]
    assert left == survivors
    assert all("M14" not in cell["killers"] for cell in found["cells"])


@pytest.mark.sampled(6)
def test_products_wait_no_more(call: Call) -> None:
    status, out, _ = call("score", "--class", "H3")
    assert status == 0
    assert out.splitlines()[-1].startswith("PASS 2 mutants, 17 of 17 killed")
    assert out.splitlines()[-1].endswith("0 mutants waiting")


@pytest.mark.sampled(6)
def test_the_models(call: Call) -> None:
    arguments = ("score", "--set", "encode", "--class", "A", "--models")
    status, out, _ = call(*arguments)
    assert status == 0
    rows = {line.split()[0]: line.split()[1:] for line in out.splitlines()[1:]}
    assert list(rows) == ["M1", "M4", "M5", "M6", "M7", "M14", "M23"]
    assert rows["M14"][3:] == ["A17d", "A17a", "A17b"]
    assert rows["M6"][3:] == ["A10c"]
    status, out, _ = call(*arguments, "--json")
    found = {row["model"]: row for row in json.loads(out)}
    cases = sum(len(file.cases) for file in read_once(VECTORS) if file.op == "encode")
    assert sum(row["cases"] for row in found.values()) == cases
    assert found["M14"]["mutants"] == ["A17d", "A17a", "A17b"]
    assert 0 < found["M14"]["alone"] < found["M14"]["kills"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--class", "Z"], "--class must be one of A, A1"),
        (["--set", "encod"], "--set must be one of level1, encode"),
        (["--without", "M99"], "--without must be one of M1, "),
        (["--class", "E1", "--set", "encode"], "no mutant of --class E1 has a file in --set"),
    ],
)
def test_misuse(call: Call, arguments: list[str], reason: str) -> None:
    status, out, err = call("score", *arguments)
    assert (status, out) == (2, "")
    assert reason in err


@pytest.mark.sampled(6)
def test_explain(call: Call) -> None:
    status, out, err = call("explain", "A7")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("A7 ties_lost_in_subnormals (encode): ")
    assert "  formats: e5m2, e4m3, e3m2, e2m3, e2m1, int8; from or to f32, f16, bf16, f64" in lines
    assert "  seen: https://github.com/triton-lang/triton/issues/11897" in lines
    # The first tie of two subnormal numbers with an even one below: 2**-17, half the smallest.
    case = "encode.e5m2.f32.37000000: in 37000000 = 0x1p-17 = 7.6293945e-06, want 00 = 0 (0 0"
    assert any(line.startswith(f"  caught by {case}") for line in lines)
    # All mutants of the class, and one of them by its name.
    assert re.findall(r"^A7\w*", out, re.M) == ["A7", "A7b"]
    assert "  the same inside blocks: A7n, A7q, A7t, A7v" in lines
    assert call("explain", "ties_lost_in_subnormals")[1] + call("explain", "A7b")[1] == out


@pytest.mark.sampled(12)
def test_explain_a_class_and_a_name(call: Call) -> None:
    _, out, _ = call("explain", "A17")
    assert re.findall(r"^A17\w", out, re.M) == ["A17a", "A17b", "A17c", "A17d"]
    assert "  equivalent (e5m2, f16): From float16 to E5M2" in out
    assert call("explain", "float64_high_word") == call("explain", "A14b")
    # Four addresses of several, as many as are said to be left out, and all of them as JSON.
    lines = call("explain", "ties_away")[1].splitlines()
    seen = json.loads(call("explain", "A1", "--json")[1])["answers"][0]["mutants"][0]["seen"]
    assert len(seen) > 4
    assert [line for line in lines if "  seen" in line] == [
        *(f"  seen: {address}" for address in seen[:4]),
        f"  seen in {len(seen) - 4} more: `mxref explain A1 --json`",
    ]
    _, out, _ = call("explain", "B5c")
    assert "  means to follow: ocp+overflow=nonsaturating\n" in out
    _, out, _ = call("explain", "A7q")
    assert out.startswith("A7q ties_lost_in_subnormals_in_blocks (quantize): rounds a tie of two")
    assert "  caught by quantize.mxfp8_e5m2.f32." in out
    _, out, _ = call("explain", "H2")
    assert "  caught by matmul.mxfp8_e5m2-mxfp8_e5m2.f32." in out
    _, out, _ = call("explain", "B10b")
    assert "  equivalent (everywhere): " in out
    assert "caught" not in out
    status, out, err = call("explain", "A7z")
    assert (status, out) == (2, "")
    assert "got 'A7z'" in err


@pytest.mark.sampled(0)
def test_from_outside() -> None:
    done = run(sys.executable, "-W", "error", "-m", "mxref", "score", "--class", "F5")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1].startswith("PASS 3 mutants, 10 of 10 killed")
