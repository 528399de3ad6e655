"""Checking an implementation: what passes, what fails, and in which words.

Targets are written here, planted bugs and all; the answers that they give and those that are wanted
are worked out by hand from the standard.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from helpers import ROOT, VECTORS, copy_vectors
from shares import Share

from mxref import golden
from mxref.cases import words as golden_words
from mxref.cli import main
from mxref.conformance import (
    Report,
    TargetError,
    XfailError,
    load_target,
    read_xfail,
    target_of,
    verify,
    write_xfail,
)
from mxref.conformance.compare.compare import Failure
from mxref.conformance.compare.failure_text import describe
from mxref.golden import VectorFile
from mxref.profiles import profile
from mxref.targets import asked as asked_module

ADAPTERS = ROOT / "tools" / "adapters"
OPERATIONS = (
    "encode",
    "decode",
    "encode_scale",
    "decode_scale",
    "shared_scale",
    "quantize",
    "dequantize",
)

#: A target that does everything right.
RIGHT = """\
import numpy as np
import mxref

def encode(values, format):
    return mxref.encode(values, format)

def decode(codes, format):
    return mxref.decode(codes, format)

def encode_scale(values):
    return mxref.encode_scale(values)

def decode_scale(codes):
    return mxref.decode_scale(codes)

def shared_scale(amax, format):
    return mxref.shared_scale(amax, format)

def quantize(values, format):
    blocks = mxref.quantize(values, format)
    return blocks.scale_codes, blocks.codes

def dequantize(scales, codes, format, dtype):
    fmt = mxref.formats.block_format(format)
    return mxref.dequantize(mxref.Blocks(codes, scales[:, None], fmt, 1, codes.shape), dtype)
"""
#: One operation that is right, for targets of little.
ENCODE = "import mxref\n\ndef encode(values, format):\n    return mxref.encode(values, format)\n"

UNNAMED = ": no clause forbids it, but no known policy gives it"


def target_file(folder: Path, text: str, name: str = "target.py") -> str:
    path = folder / name
    path.write_text(text, "utf-8")
    return str(path)


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Makes folders of copies of a few vector files, for questions that need no more."""
    made: dict[tuple[str, ...], str] = {}

    def make(*stems: str) -> str:
        if stems not in made:
            folder = tmp_path_factory.mktemp("vectors")
            copy_vectors(folder, *(f"{stem}.jsonl" for stem in stems))
            made[stems] = str(folder)
        return made[stems]

    return make


@pytest.fixture(scope="module")
def everything() -> list[VectorFile]:
    return golden.read_vectors(VECTORS)


@dataclasses.dataclass(frozen=True)
class Run:
    """What a command line printed, and its exit status."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        record: dict[str, Any] = json.loads(self.out, parse_constant=_no_constant)
        return record

    @property
    def last_line(self) -> str:
        return self.out.splitlines()[-1]


def _no_constant(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


Verify = Callable[..., Run]


@pytest.fixture
def run_verify(capsys: pytest.CaptureFixture[str]) -> Verify:
    def run(*arguments: object) -> Run:
        status = main(["verify", *map(str, arguments)])
        out, err = capsys.readouterr()
        return Run(status, out, err)

    return run


def assert_sentence(text: str) -> None:
    assert "\n" not in text
    assert "Traceback" not in text
    assert 10 < len(text) < 1200  # some name every choice or profile


# --- targets --------------------------------------------------------------------------------------

#: name -> text of the file, what the sentence says
BAD_FILES = {
    "syntax error": ("def encode(values, format) return 0\n", r"has a syntax error in line 1: \S"),
    "exit while importing": ("raise SystemExit(0)\n", "cannot be imported: SystemExit: 0"),
    "error while importing": ("1 / 0\n", "cannot be imported: ZeroDivisionError"),
    "import of nothing": ("import no_such_library\n", "cannot be imported: ModuleNotFoundError"),
    "empty": ("", "must have at least one of: encode, decode, .*dequantize"),
    "no operation": ("def encoder(values): return values\n", "must have at least one of: encode"),
    "operation no function": ("encode = 3\n", "must have at least one of: encode"),
    "unknown policy": (
        ENCODE + "POLICY = 'ocq'\n",
        r"unknown POLICY: policy must be ocp, or ocp\+choice=value\+\.\.\., got 'ocq'",
    ),
    "unknown choice": (ENCODE + "POLICY = 'ocp+round=up'\n", "unknown POLICY: .*'round'"),
    "unknown value": (ENCODE + "POLICY = 'ocp+rounding=up'\n", "unknown POLICY: .*'up'"),
    "choice twice": (
        ENCODE + "POLICY = 'ocp+rounding=to_odd+rounding=to_odd'\n",
        "unknown POLICY: .*twice",
    ),
    "policy a number": (ENCODE + "POLICY = 3\n", "unknown POLICY: .*int"),
    "policy bytes": (ENCODE + "POLICY = b'ocp'\n", "unknown POLICY: .*bytes"),
    "unknown profile": (
        ENCODE + "PROFILE = 'ml_dtype'\n",
        r"PROFILE must be .* and \d+ others, got 'ml_dtype' \(did you mean 'ml_dtypes'",
    ),
    "profile None": (ENCODE + "PROFILE = None\n", "PROFILE must be one of .*, got None"),
    "policy None": (ENCODE + "POLICY = None\n", "unknown POLICY: .*NoneType"),
    "format a list": (ENCODE + "FORMATS = [['e2m1']]\n", r"FORMATS must be one .*\['e2m1'\]"),
    "formats bytes": (ENCODE + "FORMATS = b'e4m3'\n", "FORMATS must be one of .*got 101"),
    "float a dict": (ENCODE + "FLOATS = [{}]\n", r"FLOATS must be one of .*got \{\}"),
    "unknown format": (
        ENCODE + "FORMATS = ['e4m3', 'e4m4']\n",
        r"FORMATS must be one of .*got 'e4m4' \(did you mean 'e4m3'\?\)",
    ),
    "formats no list": (ENCODE + "FORMATS = 'e4m3'\n", "list of names in FORMATS, got 'e4m3'"),
    "formats a number": (ENCODE + "FORMATS = 3\n", "list of names in FORMATS, got 3"),
    "unknown float": (ENCODE + "FLOATS = ['f31']\n", "FLOATS must be one of .*got 'f31'"),
    "floats no list": (ENCODE + "FLOATS = 'f32'\n", "list of names in FLOATS, got 'f32'"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_target_that_cannot_be_used_is_refused_in_one_sentence(
    tmp_path: Path, run_verify: Verify, vectors: Callable[..., str], name: str
) -> None:
    text, reason = BAD_FILES[name]
    spec = target_file(tmp_path, text)
    with pytest.raises(TargetError, match=reason) as caught:
        load_target(spec)
    assert str(caught.value).startswith(f"target {spec}")
    assert_sentence(str(caught.value))
    run = run_verify(spec, "--vectors", vectors("decode/e2m1.f32"))
    assert (run.status, run.out) == (2, "")
    assert run.err == f"mxref: error: {caught.value}\n"


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("no_such_file.py", "a Python file (NAME.py) or a module name: there is no such file"),
        ("no/such/folder/target.py", "or a module name: there is no such file"),
        ("no_such_module", "No module named 'no_such_module'"),
        ("no.such.module", "No module named 'no'"),
        ("json", "must have at least one of: encode"),
        ("..relative", "must be a Python file (NAME.py) or a module name"),
        (".", "must be a Python file (NAME.py) or a module name"),
    ],
)
def test_a_target_that_is_not_there_is_refused_in_one_sentence(spec: str, reason: str) -> None:
    with pytest.raises(TargetError, match=re.escape(reason)) as caught:
        load_target(spec)
    assert_sentence(str(caught.value))


def test_a_file_that_is_no_python_is_refused(tmp_path: Path) -> None:
    spec = target_file(tmp_path, ENCODE, "target.txt")
    reason = "must be a Python file (NAME.py) or a module name: a program is run by `mxref verify"
    with pytest.raises(TargetError, match=re.escape(reason)):
        load_target(spec)


@pytest.mark.parametrize("name", ["my_kernel", "my_kernel.c"])
def test_a_program_is_no_module(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(b"\x7fELF")
    with pytest.raises(TargetError, match=r"a program is run by `mxref verify --cmd`$"):
        load_target(name)


def test_a_target_imports_its_neighbours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    target_file(tmp_path, ENCODE, "its_neighbour.py")
    target = load_target(target_file(tmp_path, "from its_neighbour import encode\n"))
    assert set(target.operations) == {"encode"}


@pytest.mark.parametrize("function", ["raise SystemExit(0)", "import sys; sys.exit()"])
def test_a_target_that_exits_while_it_works_does_not_pass(
    tmp_path: Path, run_verify: Verify, vectors: Callable[..., str], function: str
) -> None:
    spec = target_file(tmp_path, RIGHT + f"def encode(v, f): {function}\n")
    run = run_verify(spec, "--vectors", vectors("encode/e2m1.f16"))
    assert run.status == 1
    assert run.last_line.endswith(": fails with errors")
    assert re.search(r": SystemExit: .*\(target\.py:\d+\); ", run.out)


def test_a_target_claims_what_it_covers(tmp_path: Path) -> None:
    claims = "POLICY = 'ocp+overflow=nonsaturating'\nFORMATS = {'e4m3'}\nFLOATS = ('f16',)\n"
    target = load_target(target_file(tmp_path, ENCODE + claims))
    assert str(target.policy) == "ocp+overflow=nonsaturating"
    assert set(target.operations) == {"encode"}
    assert target.covers("encode", "e4m3", "f16")
    assert not target.covers("encode", "e4m3", "f32")
    assert not target.covers("encode", "e5m2", "f16")
    assert not target.covers("decode", "e4m3", "f16")


def test_a_claimed_profile_brings_its_policy_unless_there_is_one(tmp_path: Path) -> None:
    claim = "PROFILE = 'ml_dtypes'\n"
    target = load_target(target_file(tmp_path, ENCODE + claim))
    assert target.profile is profile("ml_dtypes")
    assert target.policy.choices()["nan_to_finite"] == "opposite_zero"
    both = load_target(target_file(tmp_path, ENCODE + claim + "POLICY = 'ocp'\n", "both.py"))
    assert both.profile is profile("ml_dtypes")
    assert str(both.policy) == "ocp"
    assert load_target(target_file(tmp_path, ENCODE, "none.py")).profile is None


def test_a_target_without_claims_covers_everything_it_has(tmp_path: Path) -> None:
    target = load_target(target_file(tmp_path, ENCODE))
    assert str(target.policy) == "ocp"
    for format in ("e5m2", "e4m3", "e3m2", "e2m3", "e2m1", "int8"):
        for float in ("f16", "bf16", "f32", "f64"):
            assert target.covers("encode", format, float)


def test_a_module_is_a_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target_file(tmp_path, ENCODE, "a_module_with_a_target.py")
    monkeypatch.syspath_prepend(str(tmp_path))
    target = load_target("a_module_with_a_target")
    assert target.name == "a_module_with_a_target"
    assert set(target.operations) == {"encode"}


def test_an_object_is_a_target(everything: list[VectorFile]) -> None:
    class Implementation:
        FORMATS = ("e8m0",)

        def decode_scale(self, codes: Any) -> Any:
            return codes.astype("f4")  # 0.0, 1.0, 2.0 ...: wrong

    report = verify(target_of(Implementation(), "mine"), everything)
    assert report.target.name == "mine"
    assert report.compared == 256
    # n for 2**(n - 127): no code agrees.
    assert len(report.failures) == 256
    assert not report.passed


# --- what passes ----------------------------------------------------------------------------------


def test_a_right_target_conforms(
    tmp_path: Path,
    run_verify: Verify,
    everything: list[VectorFile],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Path] = []

    def read(path: Path, wanted: Callable[[str], bool]) -> list[VectorFile]:
        asked.append(path)  # they take a second to read, and have been read
        return [file for file in everything if wanted(file.stem)]

    monkeypatch.setattr(asked_module, "read_vectors", read)
    run = run_verify(target_file(tmp_path, RIGHT), "--json")
    assert run.status == 0
    assert asked == [VECTORS]
    report = run.json
    assert report["verdict"] == "conforms"
    assert report["passed"] is True
    assert report["policy"] == "ocp"
    assert (report["failures"], report["stale"]) == ([], [])
    # It has the seven operations on numbers and blocks of the MX formats, and no others.
    others = golden_words.OPERATIONS[len(OPERATIONS) :]
    assert {line.split(" ")[0] for line in report["not_covered"]} == {
        *others,
        "quantize",
        "dequantize",
    }
    assert {row["op"] for row in report["rows"]} == set(OPERATIONS)
    assert report["compared"] == sum(row["compared"] for row in report["rows"])
    # Every case of every committed file of these was put to it.
    lines = [
        path.read_bytes().count(b"\n") - 1
        for path in VECTORS.rglob("*.jsonl")
        if path.parent.name not in others and not path.name.startswith(("nvfp4", "fp4_"))
    ]
    assert report["compared"] == sum(lines) > 0


def test_a_right_target_conforms_in_words(
    tmp_path: Path, run_verify: Verify, vectors: Callable[..., str]
) -> None:
    spec = target_file(tmp_path, RIGHT)
    folder = vectors("decode/e2m1.f32", "decode_scale/e8m0.f32")
    run = run_verify(spec, "--vectors", folder)
    assert run.status == 0
    assert run.err == ""
    header, *rows, last = run.out.splitlines()
    assert header.split() == ["op", "format", "policy", "cases", "failed", "known"]
    assert [row.split() for row in rows] == [
        ["ok", "decode", "e2m1", "ocp", "16", "0", "0"],
        ["ok", "decode_scale", "e8m0", "ocp", "256", "0", "0"],
    ]
    assert last == f"PASS {spec}: 272 cases, 0 failed: conforms"


def test_what_a_target_prints_is_no_part_of_the_report(
    tmp_path: Path, run_verify: Verify, vectors: Callable[..., str]
) -> None:
    body = """
print("loading")
right = decode
def decode(codes, format):
    print("decoding")
    return right(codes, format)
"""
    spec = target_file(tmp_path, RIGHT + body)
    options = ["--vectors", vectors("decode/e2m1.f32")]
    run = run_verify(spec, *options, "--json")
    assert (run.status, run.json["passed"]) == (0, True)
    assert run.err == "loading\ndecoding\n"
    run = run_verify(spec, *options)
    assert run.out.splitlines()[0].split()[0] == "op"
    assert run.err == "loading\ndecoding\n"


AWAY = """
def encode(values, format):
    return mxref.encode(values, format, rounding="ties_to_away")

def quantize(values, format):
    blocks = mxref.quantize(values, format, rounding="ties_to_away")
    return blocks.scale_codes, blocks.codes
"""


@pytest.mark.parametrize(
    ("policy", "body"),
    [
        ("ocp+rounding=ties_to_away", AWAY),
        (
            "ocp+overflow=nonsaturating",
            'def encode(v, f): return mxref.encode(v, f, overflow="nonsaturating")\n'
            'def quantize(v, f): return mxref.quantize(v, f, overflow="nonsaturating")\n',
        ),
    ],
)
@pytest.mark.parametrize("claimed", [True, False], ids=["claimed", "asked for"])
def test_a_target_conforms_under_another_policy(
    tmp_path: Path,
    run_verify: Verify,
    vectors: Callable[..., str],
    policy: str,
    body: str,
    *,
    claimed: bool,
) -> None:
    folder = vectors("encode/e4m3.f32", "quantize/mxfp4_e2m1.f32", "decode/e4m3.f32")
    claim = f"POLICY = {policy!r}\n" if claimed else ""
    options = [] if claimed else ["--policy", policy]
    spec = target_file(tmp_path, RIGHT + body + claim)
    run = run_verify(spec, "--vectors", folder, "--json", *options)
    assert run.status == 0
    assert run.json["verdict"] == f"conforms under {policy}"
    assert run.json["policy"] == policy
    # An operation is compared under the choices that it reads.
    assert {row["op"]: row["policy"] for row in run.json["rows"]} == {
        "encode": policy,
        "quantize": policy,
        "decode": "ocp",
    }


def test_the_default_does_not_pass_under_another_policy(
    tmp_path: Path, run_verify: Verify, vectors: Callable[..., str]
) -> None:
    folder = vectors("encode/e2m1.f32")
    options = ["--policy", "ocp+rounding=toward_zero", "--vectors", folder]
    run = run_verify(target_file(tmp_path, RIGHT), *options)
    assert run.status == 1
    assert "your output equals ocp on" in run.out


def test_ties_away_is_named(
    tmp_path: Path, run_verify: Verify, vectors: Callable[..., str]
) -> None:
    folder = vectors("encode/e2m1.f32", "quantize/mxfp4_e2m1.f32", "decode/e2m1.f32")
    spec = target_file(tmp_path, RIGHT + AWAY)
    run = run_verify(spec, "--vectors", folder)
    assert run.status == 1
    assert run.last_line.startswith(f"FAIL {spec}: ")
    conforms = "conforms under ocp+rounding=ties_to_away"
    assert run.last_line.endswith(
        f" failed: {conforms}; rounding=ties_to_even must be offered as well"
    )
    for op, format in (("encode", "e2m1"), ("quantize", "mxfp4_e2m1")):
        (cases,) = re.findall(rf"^FAIL +{op} +{format} +ocp +(\d+) +\d+ +0$", run.out, re.MULTILINE)
        equals = "your output equals ocp+rounding=ties_to_away"
        assert f"{op} {format}: {equals} on {cases} of {cases} cases\n" in run.out
    assert re.search(r"^ok +decode", run.out, re.MULTILINE)
    assert "decode e2m1: your output" not in run.out
    # The policy that it names is one under which it passes.
    options = ["--policy", "ocp+rounding=ties_to_away", "--vectors", folder]
    assert run_verify(spec, *options).status == 0


def test_a_target_that_overflows_to_nan_conforms_under_that_policy(
    tmp_path: Path, run_verify: Verify, vectors: Callable[..., str]
) -> None:
    body = 'def encode(v, f): return mxref.encode(v, f, overflow="nonsaturating")\n'
    run = run_verify(target_file(tmp_path, RIGHT + body), "--vectors", vectors("encode/e4m3.f32"))
    assert run.status == 1
    conforms = "conforms under ocp+overflow=nonsaturating"
    assert run.last_line.endswith(f" failed: {conforms}; overflow=saturate must be offered as well")
    assert "your output equals ocp+overflow=nonsaturating on " in run.out


BY_FORMAT = """
def encode(v, f):
    return mxref.encode(v, f, overflow="nonsaturating" if f == "e4m3" else "saturate")
"""


def test_one_policy_for_some_formats_is_not_one_policy(
    tmp_path: Path, run_verify: Verify, vectors: Callable[..., str]
) -> None:
    run = run_verify(
        target_file(tmp_path, RIGHT + BY_FORMAT),
        *("--vectors", vectors("encode/e4m3.f32", "encode/e5m2.f32")),
    )
    assert run.status == 1
    # Each of the two answers is one of Table 3, but no policy gives both.
    assert run.last_line.endswith(f" failed: legal but unnamed{UNNAMED}")
    assert "encode e4m3: your output equals ocp+overflow=nonsaturating on " in run.out
    assert "encode e5m2: your output" not in run.out


def test_one_policy_may_explain_rows_of_different_choices(
    tmp_path: Path, run_verify: Verify, vectors: Callable[..., str]
) -> None:
    body = """
def encode(v, f): return mxref.encode(v, f, overflow="nonsaturating")
def decode(c, f): return mxref.decode(c, f) + np.float32(0)
"""
    spec = target_file(tmp_path, RIGHT + body)
    options = ["--vectors", vectors("encode/e4m3.f32", "decode/e4m3.f32", "decode/int8.f32")]
    run = run_verify(spec, *options)
    assert run.status == 1
    besides = "; overflow=saturate must be offered as well"
    policy = run.last_line.partition(" failed: conforms under ")[2].removesuffix(besides)
    assert set(policy.split("+")) == {"ocp", "overflow=nonsaturating", "decoded_zero=dropped"}
    run = run_verify(spec, *options, "--policy", policy)
    assert run.status == 0
    assert run.last_line.endswith(f" 0 failed: conforms under {policy}{besides}")


def test_the_nearest_policy_is_named(
    tmp_path: Path, run_verify: Verify, vectors: Callable[..., str]
) -> None:
    body = """
def encode(values, format):
    codes = mxref.encode(values, format, rounding="ties_to_away")
    return np.where(values == 6, 6, codes).astype(np.uint8)
"""
    run = run_verify(target_file(tmp_path, RIGHT + body), "--vectors", vectors("encode/e2m1.f32"))
    (cases,) = re.findall(r"^FAIL +encode +e2m1 +ocp +(\d+) +\d+ +0$", run.out, re.MULTILINE)
    nearest = "encode e2m1: your output is nearest to ocp+rounding=ties_to_away"
    assert f"{nearest} on {int(cases) - 1} of {cases} cases\n" in run.out
    assert run.last_line.endswith(" failed: violates MX-5.3.3")


def test_a_policy_that_contradicts_the_standard_is_named_but_is_no_conformance(
    tmp_path: Path, run_verify: Verify, vectors: Callable[..., str]
) -> None:
    body = 'def decode_scale(c): return mxref.decode_scale(c, scale_00="zero")\n'
    spec = target_file(tmp_path, RIGHT + body)
    run = run_verify(spec, "--vectors", vectors("decode_scale/e8m0.f32"))
    assert run.status == 1
    equals = "decode_scale e8m0: your output equals ocp+scale_00=zero on 256 of 256 cases\n"
    assert equals in run.out
    assert run.last_line == f"FAIL {spec}: 256 cases, 1 failed: violates N22"


# --- bits are compared, classes where the standard leaves the bits open ---------------------------

#: name -> vector files, body of a target that is right all the same
ALSO_RIGHT = {
    "NaN with sign and payload": (
        ("decode/e4m3.f32", "decode_scale/e8m0.f32", "dequantize/mxfp8_e5m2.f32"),
        """
def strange(result):
    bits = result.view(np.uint32).copy()
    bits[np.isnan(result)] = 0xFF80BEEF
    return bits.view(np.float32)
def decode(codes, format):
    return strange(mxref.decode(codes, format))
def decode_scale(codes):
    return strange(mxref.decode_scale(codes))
right = dequantize
def dequantize(*arguments):
    return strange(right(*arguments))
""",
    ),
    "another NaN code of E5M2": (
        ("encode/e5m2.f32",),
        "def encode(v, f): return np.where(np.isnan(v), 0xFD, mxref.encode(v, f)).astype('u1')\n",
    ),
    "the other NaN code of E4M3": (
        ("encode/e4m3.f32",),
        "def encode(v, f): return np.where(np.isnan(v), 0xFF, mxref.encode(v, f)).astype('u1')\n",
    ),
    "any codes under a NaN scale": (
        ("quantize/mxfp4_e2m1.f32",),
        """
def quantize(values, format):
    blocks = mxref.quantize(values, format)
    codes = blocks.codes.copy()
    codes[blocks.scale_codes[:, 0] == 0xFF] = 5
    return blocks.scale_codes[:, 0], codes
""",
    ),
    "the scales as a vector": (
        ("quantize/mxfp4_e2m1.f32",),
        """
def quantize(values, format):
    blocks = mxref.quantize(values, format)
    return blocks.scale_codes[:, 0], blocks.codes
""",
    ),
    "a Blocks": (
        ("quantize/mxint8.f32",),
        "def quantize(values, format): return mxref.quantize(values, format)\n",
    ),
    "arrays of ml_dtypes": (
        ("quantize/mxfp4_e2m1.f32", "encode/e4m3.f32"),
        """
import ml_dtypes
def encode(values, format):
    return mxref.encode(values, format).view(ml_dtypes.float8_e4m3fn)
def quantize(values, format):
    blocks = mxref.quantize(values, format)
    return blocks.scales, blocks.elements
""",
    ),
    "codes as int64": (
        ("encode/e2m1.f32",),
        "def encode(v, f): return mxref.encode(v, f).astype('i8')\n",
    ),
    "arguments overwritten": (
        ("encode/e2m1.f32", "quantize/mxfp4_e2m1.f32", "decode/e2m1.f32"),
        """
def spoil(function):
    def spoiled(values, format):
        result = function(values, format)
        values[...] = 0
        return result
    return spoiled
encode, decode, quantize = spoil(encode), spoil(decode), spoil(quantize)
""",
    ),
    "one case at a time": (
        ("encode/e2m1.f16",),
        """
def encode(values, format):
    if len(values) > 1:
        raise ValueError("only one")
    return mxref.encode(values, format)
""",
    ),
}


@pytest.mark.parametrize("name", ALSO_RIGHT)
def test_what_the_standard_leaves_open_passes(
    tmp_path: Path, run_verify: Verify, vectors: Callable[..., str], name: str
) -> None:
    stems, body = ALSO_RIGHT[name]
    run = run_verify(target_file(tmp_path, RIGHT + body), "--vectors", vectors(*stems))
    assert run.status == 0, run.out
    assert run.last_line.endswith(" 0 failed: conforms")


def test_nan_elements_of_blocks_are_one_class(
    tmp_path: Path, run_verify: Verify, vectors: Callable[..., str]
) -> None:
    body = """
def quantize(values, format):
    blocks = mxref.quantize(values, format, block_nan="ignore")
    codes = blocks.codes.copy()
    assert (codes == 0x7F).any()
    codes[codes == 0x7F] = 0xFF
    return blocks.scale_codes, codes
"""
    folder = vectors("quantize/mxfp8_e4m3.f32")
    options = ["--policy", "ocp+block_nan=ignore", "--vectors", folder]
    run = run_verify(target_file(tmp_path, RIGHT + body), *options)
    assert run.status == 0
    assert run.last_line.endswith(" 0 failed: conforms under ocp+block_nan=ignore")


def failed_ids(run: Run) -> set[str]:
    return {failure["id"] for failure in run.json["failures"]}


def test_zeros_are_told_apart_by_their_sign(
    tmp_path: Path, run_verify: Verify, vectors: Callable[..., str]
) -> None:
    body = "def decode(codes, format): return mxref.decode(codes, format) + np.float32(0)\n"
    stems = [f"decode/{format}.f32" for format in ("e5m2", "e4m3", "e3m2", "e2m1", "int8")]
    spec = target_file(tmp_path, RIGHT + body)
    run = run_verify(spec, "--vectors", vectors(*stems), "--json")
    assert run.status == 1
    assert failed_ids(run) == {  # -0 + 0 is +0; INT8 has no -0
        "decode.e5m2.f32.80",
        "decode.e4m3.f32.80",
        "decode.e3m2.f32.20",
        "decode.e2m1.f32.08",
    }


# --- planted bugs ---------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Bug:
    """A wrong target, and one case that it gets wrong.

    Args:
        stem: vector file that finds it.
        body: what is appended to the right target.
        id: the case.
        want: the word that is right; got: what comes back, or a pattern of the error.
        rule: the clause.
        verdict: the verdict on the target.
        word: which word of the output differs first.
    """

    stem: str
    body: str
    id: str
    want: int
    got: int | str
    rule: str
    verdict: str
    word: int = 0


BUGS = {
    "ties away among subnormals only": Bug(
        "encode/e2m1.f32",
        """
def encode(values, format):
    away = mxref.encode(values, format, rounding="ties_to_away")
    return np.where(np.abs(values) < 1, away, mxref.encode(values, format))
""",
        "encode.e2m1.f32.3e800000",  # 0.25, the tie of 0 and 0.5
        want=0x00,
        got=0x01,
        rule="MX-5.3.3",
        verdict="violates MX-5.3.3",
    ),
    "sign of zero lost": Bug(
        "encode/e4m3.f32",
        """
def encode(values, format):
    codes = mxref.encode(values, format)
    return np.where(codes == 0x80, 0, codes).astype(np.uint8)
""",
        "encode.e4m3.f32.80000000",
        want=0x80,
        got=0x00,
        rule="N25",
        verdict="violates N25",
    ),
    "NaN to the largest number": Bug(
        "encode/e4m3.f32",
        "def encode(v, f): return np.where(np.isnan(v), 0x7E, mxref.encode(v, f))\n",
        "encode.e4m3.f32.7fc00000",
        want=0x7F,
        got=0x7E,
        rule="N13",
        verdict="violates N13",
    ),
    "saturates to one code lower": Bug(
        "encode/e2m1.f32",
        """
def encode(values, format):
    codes = mxref.encode(values, format)
    return codes - (np.abs(values) > 6).astype(np.uint8)
""",
        "encode.e2m1.f32.ff800000",  # -Inf
        want=0x0F,
        got=0x0E,
        rule="MX-5.3.3",
        verdict="violates MX-5.3.3",
    ),
    "overflow in FP8 to one code lower": Bug(
        "encode/e4m3.f32",
        """
def encode(values, format):  # 416 for all that overflows
    return mxref.encode(values, format) - (np.abs(values) > 464).astype(np.uint8)
""",
        "encode.e4m3.f32.43e80001",  # just above 464
        want=0x7E,
        got=0x7D,
        rule="MX-5.3.1-T3",
        verdict="violates MX-5.3.1-T3",
    ),
    "NaN to three": Bug(
        "encode/e2m1.f32",
        "def encode(v, f): return np.where(np.isnan(v), 5, mxref.encode(v, f)).astype('u1')\n",
        "encode.e2m1.f32.7fc00000",
        want=0x07,
        got=0x05,
        rule="N14",
        verdict="legal but unnamed",
    ),
    "one answer for many cases": Bug(
        "encode/e2m1.f32",
        "def encode(v, f): return mxref.encode(v, f)[:1]\n",
        "encode.e2m1.f32.40c00000",
        want=0x07,
        got=r"the result must have shape \(\d+,\), got \(1,\)",
        rule="MX-5.3.3",
        verdict="fails with errors",
    ),
    "codes below zero": Bug(
        "encode/int8.f32",
        "def encode(v, f): return mxref.encode(v, f).astype('i2') - 1\n",
        "encode.int8.f32.00000000",
        want=0x00,
        got="codes must not be negative, got -1: return them as uint8",
        rule="MX-5.3.4",
        verdict="fails with errors",
    ),
    "truncates": Bug(
        "encode/e3m2.f32",
        'def encode(v, f): return mxref.encode(v, f, rounding="toward_zero")\n',
        "encode.e3m2.f32.41dfffff",  # just below 28, the largest
        want=0x1F,
        got=0x1E,
        rule="MX-5.3.2",
        verdict="conforms under ocp+rounding=toward_zero",
    ),
    "shift count wraps at 32": Bug(
        "encode/e2m1.f32",
        """
def encode(values, format):
    tiny = (np.abs(values) >= 2.0**-40) & (np.abs(values) < 2.0**-31)
    wrapped = np.where(tiny, values * np.float32(2.0**32), values).astype(values.dtype)
    return mxref.encode(wrapped, format)
""",
        "encode.e2m1.f32.2f800000",  # 2**-32
        want=0x00,
        got=0x02,
        rule="MX-5.3.3",
        verdict="violates MX-5.3.3",
    ),
    "INT8 uses -128": Bug(
        "encode/int8.f32",
        """
def encode(values, format):
    codes = mxref.encode(values, format)
    return np.where(values <= -127.5 / 64, 0x80, codes).astype(np.uint8)
""",
        "encode.int8.f32.c0000000",  # -2
        want=0x81,
        got=0x80,
        rule="N15",
        verdict="conforms under ocp+int8_range=full",
    ),
    "float64 through float32": Bug(
        "encode/e4m3.f64",
        "def encode(v, f): return mxref.encode(v.astype(np.float32), f)\n",
        "encode.e4m3.f64.3f50000000000001",  # just above 2**-10, the tie of 0 and 2**-9
        want=0x01,
        got=0x00,
        rule="N36",
        verdict="conforms under ocp+pre_rounding=float32",
    ),
    "raises on NaN": Bug(
        "encode/e4m3.f32",
        """
def encode(values, format):
    if np.isnan(values).any():
        raise ValueError("no NaN here")
    return mxref.encode(values, format)
""",
        "encode.e4m3.f32.7fc00000",
        want=0x7F,
        got=r"ValueError: no NaN here \(target\.py:\d+\)",
        rule="N13",
        verdict="fails with errors",
    ),
    "packed codes": Bug(
        "quantize/mxfp4_e2m1.f32",
        """
def quantize(v, f):
    blocks = mxref.quantize(v, f)
    return blocks.scale_codes, mxref.pack(blocks.codes, "e2m1")
""",
        "quantize.mxfp4_e2m1.f32.zeros",
        want=0x00,
        got=r"the result must have shape \((\d+), 32\), got \(\1, 16\): one code to a byte, "
        r"unpack it first",
        rule="N6",
        verdict="fails with errors",
    ),
    "wrong shape": Bug(
        "encode/e2m1.f32",
        "def encode(v, f): return mxref.encode(v, f)[:, None]\n",
        "encode.e2m1.f32.00000000",
        want=0x00,
        got=r"the result must have shape \((\d+),\), got \(\1, 1\)",
        rule="MX-5.3.3",
        verdict="fails with errors",
    ),
    "floats instead of codes": Bug(
        "encode/e2m1.f32",
        "def encode(v, f): return mxref.decode(mxref.encode(v, f), f)\n",
        "encode.e2m1.f32.40c00000",
        want=0x07,
        got="codes must come back as integers, got float32",
        rule="MX-5.3.3",
        verdict="fails with errors",
    ),
    "nothing comes back": Bug(
        "encode/e2m1.f32",
        "def encode(v, f): pass\n",
        "encode.e2m1.f32.40c00000",
        want=0x07,
        got="codes must come back as integers, got object",
        rule="MX-5.3.3",
        verdict="fails with errors",
    ),
    "float64 comes back": Bug(
        "decode/e2m1.f32",
        "def decode(c, f): return mxref.decode(c, f, np.float64)\n",
        "decode.e2m1.f32.01",
        want=0x3F000000,
        got="numbers must come back as float32, got float64",
        rule="MX-5.3.3",
        verdict="fails with errors",
    ),
    "a code beyond the format": Bug(
        "encode/e2m1.f32",
        "def encode(v, f): return mxref.encode(v, f) | np.uint8(0x10)\n",
        "encode.e2m1.f32.40c00000",  # 6
        want=0x07,
        got=0x17,
        rule="MX-5.3.3",
        verdict="violates MX-5.3.3",
    ),
    "sign of zero lost on decode": Bug(
        "decode/e4m3.f32",
        "def decode(c, f): return mxref.decode(c, f) + np.float32(0)\n",
        "decode.e4m3.f32.80",
        want=0x80000000,
        got=0x00000000,
        rule="N25",
        verdict="conforms under ocp+decoded_zero=dropped",
    ),
    "E4M3 has an infinity": Bug(
        "decode/e4m3.f32",
        """
def decode(codes, format):
    return np.where(codes == 0x7F, np.float32(np.inf), mxref.decode(codes, format))
""",
        "decode.e4m3.f32.7f",
        want=0x7FC00000,
        got=0x7F800000,
        rule="MX-5.3.1",
        verdict="violates MX-5.3.1",
    ),
    "INT8 80 as +2": Bug(
        "decode/int8.f32",
        "def decode(c, f): return np.where(c == 0x80, np.float32(2), mxref.decode(c, f))\n",
        "decode.int8.f32.80",
        want=0xC0000000,
        got=0x40000000,
        rule="N15",
        verdict="violates N15",
    ),
    "negative scales are NaN": Bug(
        "encode_scale/e8m0.f32",
        "def encode_scale(v): return np.where(v < 0, 0xFF, mxref.encode_scale(v))\n",
        "encode_scale.e8m0.f32.ff7fffff",  # the lowest float
        want=0xFE,
        got=0xFF,
        rule="N23",
        verdict="conforms under ocp+scale_of_negative=nan",
    ),
    "scale 00 as zero": Bug(
        "decode_scale/e8m0.f32",
        "def decode_scale(c): return np.where(c == 0, np.float32(0), mxref.decode_scale(c))\n",
        "decode_scale.e8m0.f32.00",
        want=0x00400000,
        got=0x00000000,
        rule="N22",
        verdict="violates N22",
    ),
    "scale FF as infinity": Bug(
        "decode_scale/e8m0.f32",
        "def decode_scale(c): return np.ldexp(np.float32(1), c.astype(int) - 127)\n",
        "decode_scale.e8m0.f32.ff",
        want=0x7FC00000,
        got=0x7F800000,
        rule="N22",
        verdict="violates N22",
    ),
    "scale one too large just below a power of two": Bug(
        "shared_scale/e4m3.f32",
        """
def shared_scale(amax, format):
    below = (amax.view(np.uint32) & 0x7FFFFF == 0x7FFFFF) & np.isfinite(amax) & (amax > 2**-100)
    return mxref.shared_scale(amax, format) + below.astype(np.uint8)
""",
        "shared_scale.e4m3.f32.3f7fffff",  # just below 1: 2**(-1 - 8)
        want=0x76,
        got=0x77,
        rule="N2",
        verdict="legal but unnamed",
    ),
    "sign of one position wrong": Bug(
        "quantize/mxfp4_e2m1.f32",
        """
def quantize(values, format):
    blocks = mxref.quantize(values, format)
    codes = blocks.codes.copy()
    codes[:, 17] ^= 8
    return blocks.scale_codes, codes
""",
        "quantize.mxfp4_e2m1.f32.ones",  # 1 is 4 * 2**-2
        want=0x06,
        got=0x0E,
        rule="MX-6.3",
        verdict="violates MX-6.3",
        word=18,
    ),
    "zero block with scale one": Bug(
        "quantize/mxfp4_e2m1.f32",
        """
def quantize(values, format):
    blocks = mxref.quantize(values, format)
    scales = blocks.scale_codes.copy()
    scales[(values == 0).all(axis=1)] = 0x7F
    return scales, blocks.codes
""",
        "quantize.mxfp4_e2m1.f32.zeros",
        want=0x00,
        got=0x7F,
        rule="N6",
        verdict="conforms under ocp+zero_block=one",
    ),
    "scales of twice the size": Bug(
        "quantize/mxfp4_e2m1.f32",
        """
def quantize(values, format):  # a scale is free, and the elements are right under it
    scales = mxref.quantize(values, format).scale_codes
    scales = np.where(scales < 0xF0, scales + 1, scales).astype(np.uint8)
    wide = np.ldexp(values.astype(np.float64), 127 - scales.astype(int))
    return scales, mxref.encode(wide, "e2m1")
""",
        "quantize.mxfp4_e2m1.f32.ones",
        want=0x7D,
        got=0x7E,
        rule="MX-6.3",
        verdict="legal but unnamed",
    ),
    "NaN block without a reason": Bug(
        "quantize/mxfp4_e2m1.f32",
        """
def quantize(values, format):
    blocks = mxref.quantize(values, format)
    scales = blocks.scale_codes.copy()
    scales[(values == 1).all(axis=1)] = 0xFF
    return scales, blocks.codes
""",
        "quantize.mxfp4_e2m1.f32.ones",
        want=0x7D,
        got=0xFF,
        rule="MX-6.3",
        verdict="violates MX-6.3",
    ),
    "largest element taken with its sign": Bug(
        "quantize/mxfp4_e2m1.f32",
        """
def quantize(values, format):
    blocks = mxref.quantize(values, format)
    scales = mxref.shared_scale(np.maximum(values.max(axis=1), 0), "e2m1")
    return scales, blocks.codes
""",
        "quantize.mxfp4_e2m1.f32.largest_01",  # -11 at 1; the largest of the others is 31/64
        want=0x80,
        got=0x7B,
        rule="MX-6.3",
        verdict="violates MX-6.3",
    ),
    "NaN block with a finite scale": Bug(
        "quantize/mxfp8_e4m3.f32",
        """
def quantize(values, format):
    blocks = mxref.quantize(values, format)
    return np.minimum(blocks.scale_codes, 0xFE), blocks.codes
""",
        "quantize.mxfp8_e4m3.f32.nan_00",
        want=0xFF,
        got=0xFE,
        rule="N4",
        verdict="legal but unnamed",
    ),
    "subnormal products flushed": Bug(
        "dequantize/mxfp4_e2m1.f32",
        """
right = dequantize
def dequantize(*arguments):
    result = right(*arguments)
    return np.where(np.abs(result) < 2.0**-126, np.float32(0), result)
""",
        "dequantize.mxfp4_e2m1.f32.00_00",  # 0.5 * 2**-127
        want=0x00200000,
        got=0x00000000,
        rule="MX-5.1",
        verdict="violates MX-5.1",
        word=1,
    ),
    "products clamped": Bug(
        "dequantize/mxfp8_e4m3.f32",
        """
right = dequantize
def dequantize(*arguments):
    largest = np.float32(np.finfo(np.float32).max)
    return np.clip(right(*arguments), -largest, largest)
""",
        "dequantize.mxfp8_e4m3.f32.fe_40",  # 2 * 2**127
        want=0x7F800000,
        got=0x7F7FFFFF,
        rule="N20",
        verdict="conforms under ocp+product_overflow=saturate",
    ),
    "scale NaN ignored": Bug(
        "dequantize/mxint8.f32",
        """
right = dequantize
def dequantize(scales, *others):
    return right(np.minimum(scales, 0xFE), *others)
""",
        "dequantize.mxint8.f32.ff_00",  # code 00 of a NaN block
        want=0x7FC00000,
        got=0x00000000,
        rule="MX-5.1",
        verdict="violates MX-5.1",
    ),
}

_LINE = re.compile(r"  (?P<id>[a-z]\S+): (?P<what>.*); (?P<rule>\S+)(?: \[(?P<flags>.*)\])?")


@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_is_found(
    tmp_path: Path, run_verify: Verify, vectors: Callable[..., str], name: str
) -> None:
    bug = BUGS[name]
    spec = target_file(tmp_path, RIGHT + bug.body)
    folder = vectors(bug.stem)
    report = verify(load_target(spec), read(folder))
    assert report.verdict == bug.verdict
    assert not report.passed
    failures = {failure.case.id: failure for _, failure in report.failures}
    assert len(failures) == len(report.failures)
    failure = failures[bug.id]
    assert failure.want[bug.word] == bug.want
    assert failure.case.rule == bug.rule
    if isinstance(bug.got, str):
        assert failure.got is None
        assert re.fullmatch(bug.got, failure.error)
    else:
        assert failure.got is not None
        assert failure.got[bug.word] == bug.got
        assert failure.got[: bug.word] == failure.want[: bug.word]
    run = run_verify(spec, "--vectors", folder, "--show", 1000)
    assert_described(run, failures, rule_titles(folder, bug.stem))
    count = len(report.failures)
    verdict = f"FAIL {spec}: {report.compared} cases, {count} failed: {bug.verdict}"
    if bug.verdict == "legal but unnamed":
        verdict += UNNAMED
    besides = "".join(f"; {choice} must be offered as well" for choice in report.besides)
    assert run.last_line == verdict + besides


@functools.cache
def read(folder: str) -> list[VectorFile]:
    return golden.read_vectors(Path(folder))


def rule_titles(folder: str, stem: str) -> dict[str, str]:
    with (Path(folder) / f"{stem}.jsonl").open() as file:
        titles: dict[str, str] = json.loads(file.readline())["rules"]
    return titles


def kind_of(failure: Failure, titles: dict[str, str]) -> str:
    """What is printed of all failures of a kind."""
    if failure.got is None:
        return failure.error
    rule, flags = failure.case.rule, failure.case.flags
    return f"{rule}, {titles[rule]}" + (f" [{' '.join(flags)}]" if flags else "")


def assert_described(run: Run, failures: dict[str, Failure], titles: dict[str, str]) -> None:
    """Every kind of failure is printed once, largest first, by its first case."""
    assert run.status == 1
    kinds = Counter(kind_of(failure, titles) for failure in failures.values())
    first = {kind_of(f, titles): id for id, f in reversed(failures.items())}
    printed = re.findall(r"^\w+ \w+: (\d+) x (.*); the first:\n(.*)$", run.out, re.MULTILINE)
    assert {why: int(count) for count, why, _ in printed} == kinds
    assert len(printed) == len(kinds)
    counts = [int(count) for count, _, _ in printed]
    assert counts == sorted(counts, reverse=True)
    for _, why, text in printed:
        line = _LINE.fullmatch(text)
        assert line is not None
        assert line["id"] == first[why]
        failure = failures[line["id"]]
        assert line["rule"] == failure.case.rule
        assert (line["flags"] or "").split() == list(failure.case.flags)
        if failure.got is None:
            assert line["what"] == failure.error
            continue
        pairs = zip(failure.want, failure.got, strict=True)
        differing = next(pair for pair in pairs if pair[0] != pair[1])
        words = re.search(r"want ([0-9a-f]+) = \S.*, got ([0-9a-f]+) = \S", line["what"])
        assert words is not None
        assert (int(words[1], 16), int(words[2], 16)) == differing
        assert ", 0 codes away" not in line["what"]


def line_of(name: str, text: str) -> int:
    """The line of a target with a bug that has a text."""
    lines = (RIGHT + BUGS[name].body).splitlines()
    (number,) = [number for number, line in enumerate(lines, 1) if text in line]
    return number


@pytest.mark.parametrize(
    ("name", "line"),
    [
        (
            "ties away among subnormals only",
            "encode.e2m1.f32.3e800000: in 3e800000 = 0x1p-2 = 0.25, want 00 = 0 (0 00 0), got "
            "01 = 0.5 (0 00 1), "
            "1 code away; MX-5.3.3 [tie underflow]",
        ),
        (
            "scale 00 as zero",
            "decode_scale.e8m0.f32.00: code 00 = 2^-127, want 00400000 = 0x1p-127 = "
            "5.8774718e-39, got 00000000 = 0x0p+0 = 0; N22 [product_subnormal]",
        ),
        (
            "zero block with scale one",
            "quantize.mxfp4_e2m1.f32.zeros: scale: amax 00000000 = 0x0p+0 = 0, want 00 = "
            "2^-127, got 7f = 2^0, 127 codes away; N6 [zero_block]",
        ),
        (
            "sign of one position wrong",
            "quantize.mxfp4_e2m1.f32.ones: element 17: in 3f800000 = 0x1p+0 = 1, scale 7d = 2^-2, "
            "want 06 = 4 (0 11 0), got 0e = -4 (1 11 0), 12 codes away; MX-6.3 [binade_edge]",
        ),
        (
            "raises on NaN",
            "encode.e4m3.f32.7f800001: ValueError: no NaN here (target.py:"
            f"{line_of('raises on NaN', 'raise ValueError')}); N13 [nan]",
        ),
        (
            "sign of zero lost",  # -0 and +0 are no codes apart
            "encode.e4m3.f32.80000000: in 80000000 = -0x0p+0 = -0, want 80 = -0 (1 0000 000), got "
            "00 = 0 (0 0000 000); "
            "N25 [zero negative_zero]",
        ),
        (
            "NaN to the largest number",
            "encode.e4m3.f32.7f800001: in 7f800001 = nan, want 7f = nan (0 1111 111), got "
            "7e = 448 (0 1111 110); N13 [nan]",
        ),
        (
            "largest element taken with its sign",
            "quantize.mxfp4_e2m1.f32.largest_01: scale: amax c1300000 = -0x1.6p+3 = -11, want 80 "
            "= 2^1, got 7b = 2^-4, 5 codes away; MX-6.3 [position]",
        ),
        (
            "NaN block with a finite scale",
            "quantize.mxfp8_e4m3.f32.nan_00: scale: amax 7fc00000 = nan, want ff = nan, got fe = "
            "2^127; N4 [nan nan_block]",
        ),
    ],
)
def test_a_failure_is_described_in_one_line(
    tmp_path: Path, run_verify: Verify, vectors: Callable[..., str], name: str, line: str
) -> None:
    spec = target_file(tmp_path, RIGHT + BUGS[name].body)
    run = run_verify(spec, "--vectors", vectors(BUGS[name].stem), "--show", 1000)
    assert f"  {line}\n" in run.out


def test_an_element_is_described_with_its_own_input(
    tmp_path: Path, vectors: Callable[..., str]
) -> None:
    bug = BUGS["sign of one position wrong"]
    report = verify(load_target(target_file(tmp_path, RIGHT + bug.body)), read(vectors(bug.stem)))
    lines = [describe(file, failure) for file, failure in report.failures]
    (line,) = [line for line in lines if line.startswith(f"{bug.id[:-4]}alternating: ")]
    assert "element 17: in bf800000 = -0x1p+0 = -1, " in line  # 1, -1, 1 ...: odd ones are -1
    assert "want 0e = -4 (1 11 0), got 06 = 4 (0 11 0), 12 codes away" in line


def test_legal_but_unnamed(tmp_path: Path, run_verify: Verify, vectors: Callable[..., str]) -> None:
    spec = target_file(tmp_path, RIGHT + BUGS["NaN to three"].body)
    run = run_verify(spec, "--vectors", vectors("encode/e2m1.f32"))
    assert run.status == 1
    assert re.search(rf"FAIL .*: \d+ cases, \d+ failed: legal but unnamed{UNNAMED}$", run.last_line)
    assert "your output" not in run.out


def test_several_clauses_are_violated(
    tmp_path: Path, run_verify: Verify, vectors: Callable[..., str]
) -> None:
    body = BUGS["scale 00 as zero"].body + BUGS["E4M3 has an infinity"].body
    folder = vectors("decode/e4m3.f32", "decode_scale/e8m0.f32")
    run = run_verify(target_file(tmp_path, RIGHT + body), "--vectors", folder)
    assert run.status == 1
    assert run.last_line.endswith(": 512 cases, 2 failed: violates MX-5.3.1, N22")


def test_a_permitted_difference_does_not_hide_a_violation(
    tmp_path: Path, run_verify: Verify, vectors: Callable[..., str]
) -> None:
    body = BUGS["INT8 uses -128"].body + BUGS["INT8 80 as +2"].body
    folder = vectors("decode/int8.f32", "encode/int8.f32")
    run = run_verify(target_file(tmp_path, RIGHT + body), "--vectors", folder)
    assert run.last_line.endswith(": violates N15")


def test_show_limits_the_kinds_that_are_printed(
    tmp_path: Path, run_verify: Verify, vectors: Callable[..., str]
) -> None:
    spec = target_file(tmp_path, RIGHT + "def encode(v, f): return np.zeros(v.shape, 'u1')\n")
    options = ["--vectors", vectors("encode/e2m1.f32")]
    everything = run_verify(spec, *options, "--show", 1000).out
    kinds = everything.count("; the first:\n")
    assert kinds > 3
    assert "more kinds of failure" not in everything
    some = run_verify(spec, *options, "--show", 2).out
    assert some.count("; the first:\n") == 2
    assert f"... and {kinds - 2} more kinds of failure" in some


def test_no_format_crowds_out_the_others(
    tmp_path: Path, run_verify: Verify, vectors: Callable[..., str]
) -> None:
    body = "def encode(v, f): return np.zeros(v.shape, 'u1')\n"
    body += BUGS["INT8 80 as +2"].body
    folder = vectors("encode/e2m1.f32", "encode/e3m2.f32", "decode/int8.f32")
    run = run_verify(target_file(tmp_path, RIGHT + body), "--vectors", folder, "--show", 1000)
    kinds = re.findall(r"^(\w+ \w+): (\d+) x .*; the first:$", run.out, re.MULTILINE)
    names = [name for name, _ in kinds]
    assert sorted(names[:5]) == sorted(["encode e2m1", "encode e3m2"] * 2 + ["decode int8"])
    assert "decode int8" not in names[5:]
    for part in (kinds[:5], kinds[5:]):
        counts = [int(count) for _, count in part]
        assert counts == sorted(counts, reverse=True)


def test_identical_errors_are_one_kind_of_one_line(
    tmp_path: Path, run_verify: Verify, vectors: Callable[..., str]
) -> None:
    text = RIGHT + "def encode(v, f): raise ValueError('one\\ntwo')\n"
    run = run_verify(target_file(tmp_path, text), "--vectors", vectors("encode/e2m1.f16"))
    assert run.status == 1
    (cases,) = re.findall(r"^FAIL +encode +e2m1 +ocp +(\d+) +\1 +0$", run.out, re.MULTILINE)
    where = f"(target.py:{text.count(chr(10))})"
    assert run.out.splitlines()[2:] == [
        f"encode e2m1: {cases} x ValueError: one two {where}; the first:",
        f"  encode.e2m1.f16.0000: ValueError: one two {where}; MX-5.3.3 [zero]",
        f"FAIL {tmp_path / 'target.py'}: {cases} cases, {cases} failed: fails with errors",
    ]


# --- what is compared -----------------------------------------------------------------------------


#: One file of every operation, in the order of `OPERATIONS`.
ONE_OF_EACH = (
    "encode/e2m1.f16",
    "decode/e2m1.f32",
    "encode_scale/e8m0.f16",
    "decode_scale/e8m0.f32",
    "shared_scale/e2m1.f32",
    "quantize/mxfp4_e2m1.f32",
    "dequantize/mxfp4_e2m1.f32",
)


def test_nothing_compared_is_a_failure(
    tmp_path: Path, run_verify: Verify, vectors: Callable[..., str]
) -> None:
    spec = target_file(tmp_path, ENCODE + "FORMATS = ['mxfp4_e2m1', 'e8m0']\n")
    options = ["--vectors", vectors(*ONE_OF_EACH)]
    run = run_verify(spec, *options)
    assert run.status == 1
    assert run.last_line == f"FAIL {spec}: 0 cases, 0 failed: nothing compared"
    assert f"not covered: {'; '.join(OPERATIONS)}\n" in run.out
    run = run_verify(spec, *options, "--json")
    assert run.status == 1
    assert (run.json["compared"], run.json["passed"]) == (0, False)
    assert run.json["verdict"] == "nothing compared"


@pytest.mark.parametrize("claim", ["FORMATS = []", "FLOATS = ()"])
def test_an_empty_claim_is_a_failure(
    tmp_path: Path, run_verify: Verify, vectors: Callable[..., str], claim: str
) -> None:
    spec = target_file(tmp_path, ENCODE + claim + "\n")
    run = run_verify(spec, "--vectors", vectors("encode/e2m1.f16"))
    assert run.status == 1
    assert run.last_line.endswith("nothing compared")


def test_a_filter_that_the_target_lacks_is_a_failure(
    tmp_path: Path, run_verify: Verify, vectors: Callable[..., str]
) -> None:
    options = ["--vectors", vectors(*ONE_OF_EACH), "--op", "decode"]
    run = run_verify(target_file(tmp_path, ENCODE), *options)
    assert run.status == 1
    assert run.last_line.endswith("nothing compared")


@pytest.mark.parametrize(
    ("options", "want"),
    [
        (["--op", "decode"], {("decode", f) for f in ("e5m2", "e4m3", "e2m1", "int8")}),
        (["--format", "e2m1"], {("encode", "e2m1"), ("decode", "e2m1"), ("shared_scale", "e2m1")}),
        (["--op", "decode", "--format", "e2m1"], {("decode", "e2m1")}),
        (["--float", "f16"], {("encode", "e2m1"), ("encode", "int8")}),
        (["--float", "f16", "--format", "int8"], {("encode", "int8")}),
        (
            ["--float", "f16", "--float", "f32", "--format", "int8"],
            {("encode", "int8"), ("decode", "int8")},
        ),
        (
            ["--op", "decode", "--op", "encode", "--format", "e2m1", "--format", "int8"],
            {("decode", "e2m1"), ("decode", "int8"), ("encode", "e2m1"), ("encode", "int8")},
        ),
    ],
)
def test_filters(
    tmp_path: Path,
    run_verify: Verify,
    vectors: Callable[..., str],
    options: list[str],
    want: set[tuple[str, str]],
) -> None:
    stems = [f"decode/{format}.f32" for format in ("e5m2", "e4m3", "e2m1", "int8")]
    stems += ["encode/e2m1.f16", "encode/int8.f16", "shared_scale/e2m1.f32"]
    folder = vectors(*stems)
    run = run_verify(target_file(tmp_path, RIGHT), "--vectors", folder, "--json", *options)
    assert run.status == 0
    assert {(row["op"], row["format"]) for row in run.json["rows"]} == want


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--op", "encrypt"], "--op must be one of decode, .*encrypt"),
        (["--format", "e4m4"], "--format must be one of .*e2m1.*e4m4"),
        (["--op", "decode", "--format", "mxint8"], "--format must be one of .*mxint8"),
        (["--float", "f8"], "--float must be one of f16, f32, got 'f8'"),
        (["--op", "decode", "--float", "f16"], "--float must be one of f32, got 'f16'"),
        (["--policy", "ocq"], r"policy must be ocp, or ocp\+choice=value\+\.\.\., got 'ocq'"),
        (["--policy", "ocp+rounding=up"], "rounding must be one of .*'up'"),
        (["--xfail", "no_such_file.json"], "no_such_file.json cannot be read"),
        (
            ["--vectors", "no_such_folder"],
            r"no vectors in /.*/no_such_folder: pass --vectors DIR, or make them there",
        ),
    ],
)
def test_misuse_is_one_sentence(
    tmp_path: Path,
    run_verify: Verify,
    vectors: Callable[..., str],
    options: list[str],
    reason: str,
) -> None:
    if "--vectors" not in options:
        options = ["--vectors", vectors(*ONE_OF_EACH), *options]
    run = run_verify(target_file(tmp_path, ENCODE), *options)
    assert (run.status, run.out) == (2, "")
    assert re.fullmatch(rf"mxref: error: .*{reason}.*\n", run.err)
    assert_sentence(run.err.strip())


def test_damaged_vectors_are_refused(
    tmp_path: Path, run_verify: Verify, vectors: Callable[..., str]
) -> None:
    folder = tmp_path / "damaged"
    shutil.copytree(vectors("decode/e2m1.f32"), folder)
    path = folder / "decode/e2m1.f32.jsonl"
    path.write_bytes(path.read_bytes().replace(b"3f000000", b"3f000001", 1))
    run = run_verify(target_file(tmp_path, RIGHT), "--vectors", folder)
    assert (run.status, run.out) == (2, "")
    assert "does not have the sha256" in run.err


def test_what_is_not_covered_is_reported(
    tmp_path: Path, run_verify: Verify, vectors: Callable[..., str]
) -> None:
    text = RIGHT.replace("def decode_scale", "def other")
    text += "FORMATS = ['e2m1', 'e4m3']\nFLOATS = ['f32']\n"
    stems = ["encode/e2m1.f32", "encode/e2m1.f16", "encode/e4m3.f16", "encode/int8.f32"]
    stems += ["encode_scale/e8m0.f32", "decode_scale/e8m0.f32", "quantize/mxint8.f32"]
    spec = target_file(tmp_path, text)
    run = run_verify(spec, "--vectors", vectors(*stems), "--json")
    assert run.status == 0
    assert {(row["op"], row["format"]) for row in run.json["rows"]} == {
        ("encode", "e2m1"),
        ("encode_scale", "e8m0"),
    }
    assert sorted(run.json["not_covered"]) == [
        "decode_scale",
        "encode e4m3, e2m1 (f16), int8",
        "quantize",
    ]
    text = run_verify(spec, "--vectors", vectors(*stems)).out
    (line,) = [line for line in text.splitlines() if line.startswith("not covered: ")]
    assert sorted(line.removeprefix("not covered: ").split("; ")) == sorted(run.json["not_covered"])


def test_the_json_report_is_consistent(
    tmp_path: Path, run_verify: Verify, vectors: Callable[..., str]
) -> None:
    body = BUGS["INT8 uses -128"].body + BUGS["sign of zero lost on decode"].body
    stems = ["encode/int8.f32", "encode/int8.f64", "decode/e4m3.f32", "decode/int8.f32"]
    run = run_verify(target_file(tmp_path, RIGHT + body), "--vectors", vectors(*stems), "--json")
    report = run.json
    assert report["compared"] == sum(row["compared"] for row in report["rows"])
    for row in report["rows"]:
        prefix = f"{row['op']}.{row['format']}."
        failed = [f for f in report["failures"] if f["id"].startswith(prefix)]
        assert row["failed"] == len(failed) <= row["compared"]
        assert row["known"] == 0
    assert sum(row["failed"] for row in report["rows"]) == len(report["failures"])
    for failure in report["failures"]:
        digits = failure["id"].rpartition(".")[2]
        assert failure["in"] == digits
        assert failure["want"] != failure["got"]
        assert {len(failure[key]) for key in ("want", "got")} == {
            2 if failure["id"].startswith("encode") else 8
        }
        assert failure["text"].startswith(f"{failure['id']}: ")
        assert failure["text"].endswith(f"; {failure['rule']} [{' '.join(failure['flags'])}]")
        assert failure["known"] is None


# --- known divergences ----------------------------------------------------------------------------

LINK = "https://example.org/1"


@pytest.fixture
def diverging(tmp_path: Path, vectors: Callable[..., str]) -> tuple[str, list[str], list[str]]:
    """A target with known divergences, how it is run, and the ids that it fails."""
    spec = target_file(tmp_path, RIGHT + BUGS["INT8 uses -128"].body)
    folder = vectors("encode/int8.f32", "decode/int8.f32")
    report = verify(load_target(spec), golden.read_vectors(Path(folder)))
    ids = [failure.case.id for _, failure in report.failures]
    assert len(ids) > 3
    return spec, ["--vectors", folder], ids


def xfail_file(folder: Path, *groups: Iterable[str], **changed: object) -> Path:
    path = folder / "known.xfail.json"
    records = [
        {"reason": f"reason {i}", "link": LINK, "cases": list(ids), **changed}
        for i, ids in enumerate(groups)
    ]
    path.write_text(json.dumps({"target": "mine", "groups": records}))
    return path


def test_listed_failures_pass(
    tmp_path: Path, run_verify: Verify, diverging: tuple[str, list[str], list[str]]
) -> None:
    spec, options, ids = diverging
    path = xfail_file(tmp_path, ids[:2], ids[2:])
    run = run_verify(spec, *options, "--xfail", path)
    assert run.status == 0
    assert f"known: 2 x reason 0 ({LINK})\n" in run.out
    assert f"known: {len(ids) - 2} x reason 1 ({LINK})\n" in run.out
    assert re.search(rf"^known +encode +int8 +ocp +\d+ +0 +{len(ids)}$", run.out, re.MULTILINE)
    summary = rf"PASS {spec}: \d+ cases, 0 failed, {len(ids)} known to fail"
    assert re.fullmatch(summary + r": conforms under ocp\+int8_range=full", run.last_line)
    report = run_verify(spec, *options, "--xfail", path, "--json").json
    assert report["passed"] is True
    assert report["stale"] == []
    assert {f["known"] for f in report["failures"]} == {f"reason {i} ({LINK})" for i in (0, 1)}
    assert {row["op"]: row["known"] for row in report["rows"]} == {"encode": len(ids), "decode": 0}


def test_a_failure_that_is_not_listed_fails(
    tmp_path: Path, run_verify: Verify, diverging: tuple[str, list[str], list[str]]
) -> None:
    spec, options, ids = diverging
    run = run_verify(spec, *options, "--xfail", xfail_file(tmp_path, ids[1:]))
    assert run.status == 1
    assert f"  {ids[0]}: " in run.out
    numbers = f" cases, 1 failed, {len(ids) - 1} known to fail: "
    assert re.fullmatch(rf"FAIL {spec}: \d+{numbers}.*", run.last_line)


def test_a_listed_case_that_passes_fails(
    tmp_path: Path, run_verify: Verify, diverging: tuple[str, list[str], list[str]]
) -> None:
    spec, options, ids = diverging
    id = "encode.int8.f32.3f800000"
    path = xfail_file(tmp_path, ids, [id])
    run = run_verify(spec, *options, "--xfail", path)
    assert run.status == 1
    assert f"{id}: is listed as a known divergence but passes\n" in run.out
    numbers = f"0 failed, {len(ids)} known to fail, 1 wrongly listed as known"
    assert re.fullmatch(rf"FAIL {spec}: \d+ cases, {numbers}: conforms under .*", run.last_line)
    report = run_verify(spec, *options, "--xfail", path, "--json")
    assert report.status == 1
    assert report.json["stale"] == [id]


def test_a_listed_case_that_is_not_compared_fails(
    tmp_path: Path, run_verify: Verify, vectors: Callable[..., str]
) -> None:
    spec = target_file(tmp_path, RIGHT + "FORMATS = ['int8']\n")
    options = ["--vectors", vectors("decode/int8.f32", "decode/e2m1.f32")]
    path = xfail_file(tmp_path, ["decode.e2m1.f32.00"])
    run = run_verify(spec, *options, "--xfail", path)
    assert run.status == 1
    assert "decode.e2m1.f32.00: is listed as a known divergence but was not compared\n" in run.out
    assert "\nknown: " not in run.out
    numbers = "256 cases, 0 failed, 0 known to fail, 1 wrongly listed as known"
    assert run.last_line == f"FAIL {spec}: {numbers}: conforms"
    # What is not asked cannot fail.
    assert run_verify(spec, *options, "--xfail", path, "--format", "int8").status == 0


@pytest.mark.parametrize("id", ["encode.e2m1.f32.00000000", "encode.int8.f32.nonsense", ""])
def test_a_listed_case_that_does_not_exist_is_refused(
    tmp_path: Path, run_verify: Verify, diverging: tuple[str, list[str], list[str]], id: str
) -> None:
    spec, options, ids = diverging
    path = xfail_file(tmp_path, ids, [id])
    for filters in ([], ["--op", "decode"]):
        run = run_verify(spec, *options, *filters, "--xfail", path)
        message = f"mxref: error: {path}: there is no case {id!r}\n"
        assert (run.status, run.out, run.err) == (2, "", message)


@pytest.mark.parametrize(
    "filters", [["--op", "decode"], ["--format", "e2m1"], ["--float", "f64"], ["--op", "encode"]]
)
def test_known_divergences_outside_the_filter_do_not_count(
    tmp_path: Path,
    run_verify: Verify,
    vectors: Callable[..., str],
    diverging: tuple[str, list[str], list[str]],
    filters: list[str],
) -> None:
    spec, _, ids = diverging
    folder = vectors(
        "encode/int8.f32", "decode/int8.f32", "decode/e2m1.f32", "shared_scale/int8.f64"
    )
    options = ["--vectors", folder, *filters, "--xfail", xfail_file(tmp_path, ids)]
    run = run_verify(spec, *options)
    assert run.status == 0
    inside = filters == ["--op", "encode"]
    assert (f", {len(ids)} known to fail" in run.last_line) == inside
    assert ("known to fail" in run.last_line) == inside
    assert ("known: " in run.out) == inside


def test_a_mended_target_no_longer_passes(
    tmp_path: Path, run_verify: Verify, diverging: tuple[str, list[str], list[str]]
) -> None:
    spec, options, ids = diverging
    path = xfail_file(tmp_path, ids)
    Path(spec).write_text(RIGHT)
    assert run_verify(spec, *options, "--xfail", path).status == 1
    assert run_verify(spec, *options).status == 0


#: name -> changed keys of a group, what the sentence says
BAD_GROUPS: dict[str, tuple[dict[str, object], str]] = {
    "no link": ({"link": ""}, "group 'reason 0' must have an http link, got ''"),
    "link no address": ({"link": "see the wiki"}, "must have an http link, got 'see the wiki'"),
    "no reason": ({"reason": ""}, "every group must have a reason that you have written, got ''"),
    "reason left open": (
        {"reason": "to be explained: encode int8 N15"},
        "a reason that you have written, got 'to be explained: encode int8 N15'",
    ),
    "extra key": ({"note": ""}, "is no xfail file"),
    "reason no string": ({"reason": 3}, "is no xfail file"),
    "cases a string": ({"cases": "abc"}, "is no xfail file"),
    "cases no list": ({"cases": None}, "is no xfail file"),
    "cases no strings": ({"cases": [3]}, "is no xfail file"),
}


@pytest.mark.parametrize("name", BAD_GROUPS)
def test_a_group_that_explains_nothing_is_refused(
    tmp_path: Path,
    run_verify: Verify,
    diverging: tuple[str, list[str], list[str]],
    name: str,
) -> None:
    spec, options, ids = diverging
    changed, reason = BAD_GROUPS[name]
    path = xfail_file(tmp_path, ids, **changed)
    with pytest.raises(XfailError, match=reason) as caught:
        read_xfail(path)
    assert_sentence(str(caught.value))
    assert str(path) in str(caught.value)
    run = run_verify(spec, *options, "--xfail", path)
    assert (run.status, run.out, run.err) == (2, "", f"mxref: error: {caught.value}\n")


def test_a_group_without_a_link_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "known.xfail.json"
    path.write_text(json.dumps({"groups": [{"reason": "x", "cases": []}]}))
    with pytest.raises(XfailError, match="is no xfail file"):
        read_xfail(path)


@pytest.mark.parametrize("groups", [(["a", "b", "a"],), (["a", "b"], ["c", "a"])])
def test_an_id_listed_twice_is_refused(tmp_path: Path, groups: tuple[list[str], ...]) -> None:
    with pytest.raises(XfailError, match="'a' is listed twice"):
        read_xfail(xfail_file(tmp_path, *groups))


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "3", "{}", '{"groups": 3}', '{"groups": [3]}', '{"groups": {"a": 1}}']
)
def test_a_file_that_is_no_xfail_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "known.xfail.json"
    path.write_text(text)
    with pytest.raises(XfailError, match="is no xfail file") as caught:
        read_xfail(path)
    assert_sentence(str(caught.value))


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "known.xfail.json"
    path.write_bytes(b'{"groups": "\xff"}')
    with pytest.raises(XfailError, match="is no xfail file"):
        read_xfail(path)


def test_write_xfail_and_back(
    tmp_path: Path, run_verify: Verify, diverging: tuple[str, list[str], list[str]]
) -> None:
    spec, options, ids = diverging
    path = tmp_path / "known.xfail.json"
    run = run_verify(spec, *options, "--write-xfail", path)
    assert run.status == 0
    assert run.out == f"{path}: {len(ids)} cases, {len(ids)} still without a reason and a link\n"
    again = run_verify(spec, *options, "--write-xfail", path)
    assert again.out == run.out
    # What nobody has explained is not accepted.
    run = run_verify(spec, *options, "--xfail", path)
    assert (run.status, run.out) == (2, "")
    assert "a reason that you have written, got 'to be explained: encode int8 N15" in run.err
    record = json.loads(path.read_text())
    assert record["target"] == spec
    first = {"reason": "uses -2", "link": LINK, "cases": ids[:2]}
    second = {"reason": "also", "link": LINK, "cases": ids[2:]}
    path.write_text(json.dumps({**record, "groups": [first, second]}))
    assert run_verify(spec, *options, "--xfail", path).status == 0
    # A reason without a link is not accepted, nor counted as one.
    path.write_text(json.dumps({**record, "groups": [first, {**second, "link": ""}]}))
    assert run_verify(spec, *options, "--xfail", path).status == 2
    run = run_verify(spec, *options, "--write-xfail", path)
    assert f" {len(ids) - 2} still without a reason and a link\n" in run.out
    # Reasons stay when it is written again; what is new stands apart, what passes goes.
    path.write_text(json.dumps({**record, "groups": [first]}))
    run = run_verify(spec, *options, "--write-xfail", path)
    assert (
        run.out == f"{path}: {len(ids)} cases, {len(ids) - 2} still without a reason and a link\n"
    )
    kept, *groups = json.loads(path.read_text())["groups"]
    assert kept == first
    assert sorted(id for group in groups for id in group["cases"]) == sorted(ids[2:])
    for group in groups:
        assert group["reason"].startswith("to be explained: encode int8 N15")
        assert group["link"] == ""
    Path(spec).write_text(RIGHT)
    assert run_verify(spec, *options, "--write-xfail", path).status == 0
    assert json.loads(path.read_text())["groups"] == []


def test_write_xfail_groups_by_kind(
    tmp_path: Path, run_verify: Verify, vectors: Callable[..., str]
) -> None:
    body = BUGS["raises on NaN"].body + BUGS["INT8 80 as +2"].body
    spec = target_file(tmp_path, RIGHT + body)
    folder = vectors("encode/e4m3.f32", "decode/int8.f32", "decode/e2m1.f32")
    path = tmp_path / "known.xfail.json"
    run = run_verify(spec, "--vectors", folder, "--write-xfail", path)
    nans = ["7f800001", "7fc00000", "7fffffff", "ff800001", "ffc00000", "ffffffff"]
    where = f"target.py:{line_of('raises on NaN', 'raise ValueError')}"
    assert json.loads(path.read_text()) == {
        "target": spec,
        "groups": [
            {
                "reason": f"to be explained: encode e4m3 ValueError: no NaN here ({where})",
                "link": "",
                "cases": [f"encode.e4m3.f32.{nan}" for nan in nans],
            },
            {
                "reason": "to be explained: decode int8 N15",
                "link": "",
                "cases": ["decode.int8.f32.80"],
            },
        ],
    }
    assert run.out == f"{path}: 7 cases, 7 still without a reason and a link\n"


def test_write_xfail_keeps_what_was_not_compared(
    tmp_path: Path, run_verify: Verify, diverging: tuple[str, list[str], list[str]]
) -> None:
    spec, options, ids = diverging
    path = xfail_file(tmp_path, ids[:3], ids[3:])
    before = json.loads(path.read_text())["groups"]
    run = run_verify(spec, *options, "--op", "decode", "--write-xfail", path)
    assert run.status == 0
    assert json.loads(path.read_text())["groups"] == before


def test_write_xfail_starts_from_the_file_that_is_used(
    tmp_path: Path, run_verify: Verify, diverging: tuple[str, list[str], list[str]]
) -> None:
    spec, options, ids = diverging
    path, new = xfail_file(tmp_path, ids), tmp_path / "new.json"
    before = path.read_bytes()
    run = run_verify(spec, *options, "--xfail", path, "--write-xfail", new)
    assert (run.status, run.out) == (
        0,
        f"{new}: {len(ids)} cases, 0 still without a reason and a link\n",
    )
    assert json.loads(new.read_text())["groups"] == json.loads(before)["groups"]
    assert path.read_bytes() == before


def test_write_xfail_of_nothing_compared_is_a_failure(
    tmp_path: Path, run_verify: Verify, vectors: Callable[..., str]
) -> None:
    spec = target_file(tmp_path, ENCODE + "FORMATS = []\n")
    path = tmp_path / "known.xfail.json"
    options = ["--vectors", vectors("encode/e2m1.f16"), "--write-xfail", path]
    assert run_verify(spec, *options).status == 1
    assert not path.exists()


def test_write_xfail_leaves_nothing_when_it_fails(
    tmp_path: Path, diverging: tuple[str, list[str], list[str]]
) -> None:
    spec, (_, folder), _ = diverging
    report = verify(load_target(spec), read(folder))
    path = tmp_path / "folder" / "known.xfail.json"
    path.mkdir(parents=True)
    with pytest.raises(XfailError, match="cannot be read"):
        write_xfail(path, path, report)
    with pytest.raises(OSError, match=r"known\.xfail\.json"):
        write_xfail(path, tmp_path / "no_such_file", report)
    assert list(path.parent.rglob("*")) == [path]


# --- the adapters of real implementations ---------------------------------------------------------


@pytest.fixture(scope="module", params=["ml_dtypes", "gfloat"])
def adapter(
    request: pytest.FixtureRequest, everything: list[VectorFile], share: Share
) -> tuple[str, Report]:
    """A real implementation, compared once with the vectors, with its known divergences.

    gfloat is slow: without --complete it is asked one case in seven, and its divergences.
    """
    name: str = request.param
    pytest.importorskip(name, reason=f"needs {name}: pip install 'mxref[test]'")
    target = load_target(str(ADAPTERS / f"{name}_adapter.py"))
    known = read_xfail(ADAPTERS / f"{name}.xfail.json")
    if name == "gfloat":
        everything = [
            dataclasses.replace(
                file,
                cases=tuple(
                    case
                    for index, case in enumerate(file.cases)
                    if case.id in known or share.takes(index, 7)
                ),
            )
            for file in everything
        ]
    return name, verify(target, everything, target.policy, known)


@pytest.mark.complete
def test_an_adapter_passes_with_its_known_divergences(adapter: tuple[str, Report]) -> None:
    _, report = adapter
    assert report.passed
    assert report.unexplained == []
    assert report.stale == []
    assert len(report.failures) == len(report.known) > 0


def test_an_adapter_fails_without_any_of_them(adapter: tuple[str, Report]) -> None:
    name, report = adapter
    assert not dataclasses.replace(report, known={}).passed
    groups = json.loads((ADAPTERS / f"{name}.xfail.json").read_text())["groups"]
    assert len(groups) > 1
    for dropped in groups:
        known = {id: why for id, why in report.known.items() if id not in set(dropped["cases"])}
        without = dataclasses.replace(report, known=known)
        assert not without.passed
        assert {f.case.id for _, f in without.unexplained} == set(dropped["cases"])


ADAPTER_STEMS = {
    "ml_dtypes": ("encode/e2m1.f64", "encode_scale/e8m0.f32", "decode/e2m1.f32"),
    "gfloat": ("decode/e2m1.f32", "quantize/mxint8.f32"),
}


@pytest.mark.parametrize("name", ADAPTER_STEMS)
def test_the_command_on_an_adapter(
    tmp_path: Path, run_verify: Verify, vectors: Callable[..., str], name: str
) -> None:
    pytest.importorskip(name, reason=f"needs {name}: pip install 'mxref[test]'")
    stems = ADAPTER_STEMS[name]
    prefixes = tuple(stem.replace("/", ".") + "." for stem in stems)
    record = json.loads((ADAPTERS / f"{name}.xfail.json").read_text())
    groups = [
        {**group, "cases": [id for id in group["cases"] if id.startswith(prefixes)]}
        for group in record["groups"]
    ]
    groups = [group for group in groups if group["cases"]]
    assert len(groups) > 1
    adapter = ADAPTERS / f"{name}_adapter.py"
    policy = load_target(str(adapter)).policy  # not the profile, which knows these divergences
    command = [adapter, "--vectors", vectors(*stems), "--policy", policy]
    path = tmp_path / "known.xfail.json"
    path.write_text(json.dumps({**record, "groups": groups}))
    assert run_verify(*command, "--xfail", path).status == 0
    assert run_verify(*command).status == 1
    path.write_text(json.dumps({**record, "groups": groups[1:]}))
    assert run_verify(*command, "--xfail", path).status == 1


@pytest.mark.parametrize(
    ("stem", "call"),
    [
        ("encode/e2m1.f16", "def encode(v, f): return np.ma.array(mxref.encode(v, f), mask=True)"),
        ("decode/e2m1.f32", "def decode(c, f): return np.ma.array(mxref.decode(c, f), mask=True)"),
    ],
)
def test_masked_answers_do_not_pass(
    tmp_path: Path, run_verify: Verify, vectors: Callable[..., str], stem: str, call: str
) -> None:
    run = run_verify(target_file(tmp_path, RIGHT + call + "\n"), "--vectors", vectors(stem))
    assert run.status == 1
    assert "the result must not be masked" in run.out
