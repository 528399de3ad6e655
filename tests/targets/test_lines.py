"""The line protocol: what is asked, how answers are read, and how lines can be wrong."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import FILES, PATIENCE, VECTORS, copy_vectors, records, sentence

from mxref import golden
from mxref.cases.answers import fast_answers
from mxref.cli import main
from mxref.conformance import ResultsTarget, TargetError, read_results, verify
from mxref.golden import VectorFile
from mxref.operations.registry import CALL_OPERATIONS, REGISTRY
from mxref.policy.policy import Policy
from mxref.targets import line_protocol as protocol
from mxref.targets.calls import without_cases
from mxref.targets.line_protocol import Answer, in_order, questions_of
from mxref.targets.results import piped_results, write_prompts

Call = Callable[..., tuple[int, str, str]]
STEM = "decode/e2m1.f32"
#: `decode` of E2M1 to float32 (OCP MX v1.0 5.3.3), written down by hand.
WORDS = [
    *("00000000", "3f000000", "3f800000", "3fc00000", "40000000", "40400000", "40800000"),
    *("40c00000", "80000000", "bf000000", "bf800000", "bfc00000", "c0000000", "c0400000"),
    *("c0800000", "c0c00000"),
]
IDS = [f"decode.e2m1.f32.{code:02x}" for code in range(16)]
LINES = [f"{id} {word}\n" for id, word in zip(IDS, WORDS, strict=True)]


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_vectors(tmp_path_factory.mktemp("few"), f"{STEM}.jsonl", "encode/e2m1.f16.jsonl")


@pytest.fixture(scope="module")
def file(few: Path) -> VectorFile:
    return golden.read_vectors(few, lambda stem: stem == STEM)[0]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    """A command line in this process, with a standard input."""

    def in_process(*arguments: object, stdin: str | bytes = b"") -> tuple[int, str, str]:
        data = stdin.encode("ascii") if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        status = main([str(argument) for argument in arguments])
        return status, *capsys.readouterr()

    return in_process


def errors(lines: Iterable[str | bytes], file: VectorFile) -> dict[str, str]:
    """What `verify` says about lines in the order of a file, by the last part of the id."""
    stream = io.BytesIO(b"".join(x if isinstance(x, bytes) else x.encode() for x in lines))
    report = verify(piped_results(stream, [file], "lines"), [file])
    return {failure.case.name: failure.error for _, failure in report.failures}


# --- questions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "stem",
    [
        *("encode/e4m3.f16", "decode_scale/e8m0.f32", "encode_stochastic/e2m1.bf16"),
        *("quantize/nvfp4.f32", "dequantize/mxint8.bf16", "quantize_tensor/mxfp4_e2m1.bf16"),
        *("unpack/e2m1.halves", "pack_scales/e8m0.bytes"),
    ],
)
def test_gen_prints_the_cases(stem: str, call: Call) -> None:
    header, cases = records(stem)
    op, format, float = header["op"], header["format"], header["float"]
    want = [f"{case['id']} {op} {format} {float} {case['in']}" for case in cases]
    status, out, err = call("gen", op, format, "--float", float)
    assert (status, err) == (0, "")
    assert out.splitlines() == ["# mxref lines 1", *want]
    assert out.endswith("\n")


def test_gen_of_all_float_types_is_in_the_order_of_check(tmp_path: Path, call: Call) -> None:
    stems = [f"encode/e2m1.{float}" for float in ("f32", "f16", "bf16", "f64")]
    options = ("--vectors", copy_vectors(tmp_path, *(f"{stem}.jsonl" for stem in stems)))
    _, out, _ = call("gen", "encode", "e2m1", *options)
    asked = [line.split()[0] for line in out.splitlines()[1:]]
    assert asked == [case["id"] for stem in stems for case in records(stem)[1]]
    answers = "".join(f"{id} unsupported\n" for id in asked)
    status, out, _ = call("check", "encode", "e2m1", *options, stdin=answers)
    assert (status, "FAIL standard input: 0 cases, 0 failed: nothing compared" in out) == (1, True)


def test_prompts_writes_a_file_for_each_of_the_vectors(tmp_path: Path, call: Call) -> None:
    options = ("--op", "quantize", "--format", "nvfp4", "--format", "mxint8", "--float", "f32")
    status, out, err = call("prompts", tmp_path / "q", *options)
    assert (status, err) == (0, "")
    assert re.fullmatch(rf"2 files, \d\.\d MB in {tmp_path / 'q'}\n", out)
    names = ("quantize.nvfp4.f32.txt", "quantize.mxint8.f32.txt")
    assert sorted(os.listdir(tmp_path / "q")) == sorted(names)
    for name in names:
        op, format, float, _ = name.split(".")
        _, printed, _ = call("gen", op, format, "--float", float)
        text = (tmp_path / "q" / name).read_text("ascii")
        assert text.startswith(printed)
        assert all(".search_" in line for line in text[len(printed) :].splitlines())


def lines_of(what: str, *inputs: list[int], first: int = 0) -> list[str]:
    asked = questions_of(without_cases(*what.split()), np.array(inputs, np.uint64), first)
    return [question.line() for question in asked]


def test_other_inputs_are_numbered() -> None:
    asked = lines_of("quantize mxfp4_e2m1 bf16", [0x3F80, 0xFFFF], [0, 1], first=41)
    assert asked == [
        "41 quantize mxfp4_e2m1 bf16 3f80 ffff",
        "42 quantize mxfp4_e2m1 bf16 0000 0001",
    ]
    # All bits set are a float, and a filler where lengths differ.
    assert lines_of("encode e2m1 f64", [2**64 - 1]) == ["0 encode e2m1 f64 ffffffffffffffff"]
    assert lines_of("pack e2m1 bytes", [1, 2**64 - 1]) == ["0 pack e2m1 bytes 01"]


@pytest.mark.parametrize("stem", FILES)
def test_the_easy_question_is_legal(stem: str) -> None:
    with (VECTORS / f"{stem}.jsonl").open() as lines:
        header, case = json.loads(next(lines)), json.loads(next(lines))
    op, format, float = header["op"], header["format"], header["float"]
    inputs = REGISTRY[op].easy(format, float)
    last = "ocp" if op in CALL_OPERATIONS else header["columns"][-1]
    policy = Policy.parse(last)  # of blocks one that stores them
    answer = fast_answers(op, format, float, np.array([inputs], np.uint64), policy)
    assert answer.shape[1] > 0
    if not REGISTRY[op].varied:
        assert len(inputs) == len(case["in"].split())


# --- answers --------------------------------------------------------------------------------------


ANSWERS = tomllib.loads((Path(__file__).parent / "data" / "answers.toml").read_text("utf-8"))


def answered(what: str, text: str) -> Answer:
    question = protocol.LineQuestion("1", without_cases(*what.split()), ())
    return protocol.parse_answer(question, text.split())


def test_words_are_read() -> None:
    for what, text, want in ANSWERS["right"]:
        assert answered(what, text) == Answer(tuple(want)), (what, text)
    for what, count in (("quantize mxfp4_e2m1 f32", 33), ("quantize nvfp4 f32", 17),
                        ("dequantize mxfp4_e2m1 bf16", 32)):  # fmt: skip
        assert answered(what, "7f " + "1 " * (count - 1)) == Answer((0x7F, *(1,) * (count - 1)))


@pytest.mark.parametrize(("what", "text", "reason"), ANSWERS["wrong"])
def test_wrong_answer_is_error_of_case(what: str, text: str, reason: str) -> None:
    answer = answered(what, text)
    assert answer.error.endswith(reason)
    assert (answer.words, answer.unsupported) == ((), False)


def test_right_lines_pass(file: VectorFile) -> None:
    assert errors(LINES, file) == {}
    assert errors([line.upper().replace("DECODE.E2M1.F", "decode.e2m1.f") for line in LINES], file)
    assert errors(["# mxref lines 1\n", "#\n", b"# \xff\n", *LINES, "# end\n"], file) == {}
    assert errors([line.replace(" ", "   ").replace("\n", " \r\n") for line in LINES], file) == {}


DUE = "line 6 must begin with {5}, whose answer is due, got"
NEXT = "where {5} is due: answers come in the order of the questions, one for each"
LONG = "line 6 has more than 65536 characters"
#: Where the first answer that is none stands, the lines from there on, and what is said.
WRONG_LINES: list[tuple[int, list[str | bytes], str]] = [
    (5, ["hello\n"], f"{DUE} 'hello'"),
    (5, ["hello\n", *LINES[5:]], f"{DUE} 'hello'"),
    (5, [b"\x7fELF\x01\x00\n"], rf"{DUE} '\x7fELF\x01\x00'"),
    (5, [b"\xff\xfe\n", *LINES[5:]], r"line 6 is not ASCII: '\xff\xfe'"),
    (5, ["\n", *LINES[5:]], "line 6 is empty"),
    (5, LINES[4:], "line 6 answers {4} again, where {5} is due"),
    (5, LINES[6:], f"line 6 answers {{6}}, {NEXT}"),
    (5, LINES[:4:-1], f"line 6 answers {{15}}, {NEXT}"),
    (5, ["# policy ocp\n"], "line 6 claims policy, which must come before the first answer"),
    (5, ["a" * 65536 + "\n"], f"{DUE} '{'a' * 60}'"),
    (5, ["a" * 65537 + "\n"], LONG),
    (5, ["#" * 65537 + "\n", *LINES[5:]], LONG),
    (15, [LINES[15][:-1]], "line 16 has no line end, is it cut off? '{15} c0c00000'"),
    (16, [LINES[15]], "line 17 comes after the last answer: '{15} c0c00000'"),
    (16, ["done\n"], "line 17 comes after the last answer: 'done'"),
]


@pytest.mark.parametrize(("right", "lines", "reason"), WRONG_LINES)
def test_a_wrong_line_ends_the_comparison(
    right: int, lines: list[str | bytes], reason: str, file: VectorFile
) -> None:
    name, *others = [case.name for case in file.cases][min(right, 15) :]
    reason = reason.format(*IDS)
    want = {name: reason, **dict.fromkeys(others, f"does not count: {reason}")}
    assert errors([*LINES[:right], *lines], file) == want


def test_missing_answers_have_failed(file: VectorFile) -> None:
    assert errors(LINES[:14], file) == {"0e": "no answer", "0f": "no answer"}
    assert errors([], file) == dict.fromkeys([case.name for case in file.cases], "no answer")


def test_an_endless_line_takes_no_memory(file: VectorFile) -> None:
    asked = []

    def readline(size: int) -> bytes:
        asked.append(size)
        return b"a" * size

    endless: Any = SimpleNamespace(readline=readline)
    target = piped_results(endless, [file], "x")
    assert sum(asked) < 1 << 18
    assert target.answers[STEM][IDS[0]].error == "line 1 has more than 65536 characters"


def test_unsupported_is_not_covered_or_a_failure_here_and_there(file: VectorFile) -> None:
    lines = "".join(f"{id} unsupported\n" for id in IDS)
    report = verify(piped_results(io.BytesIO(lines.encode()), [file], "x"), [file])
    assert (report.not_covered, report.compared, report.passed) == (("decode",), 0, False)
    found = errors([*LINES[:3], f"{IDS[3]} unsupported\n", *LINES[4:]], file)
    reason = "says `unsupported`, but not of all with this operation, format and float type"
    assert found == {"03": reason}


def test_claims(file: VectorFile) -> None:
    questions = questions_of(file)
    remarks = [b"# policy ocp+rounding=to_odd\n", b"# formats e2m1 nvfp4\n", b"# floats bf16\n"]
    _, claims = in_order(remarks, questions, "x")
    assert str(claims.policy) == "ocp+rounding=to_odd"
    assert claims.cover("nvfp4", "bf16")
    assert claims.cover("e8m0", "bf16")  # of scales there is one format
    assert claims.cover("e2m1", "halves")  # a layout is no float type
    assert not claims.cover("e4m3", "bf16")
    assert not claims.cover("e2m1", "f32")
    target = ResultsTarget("x", claims, {STEM: {}})
    assert not target.covers("decode", "e2m1", "f32")
    _, unclaimed = in_order([], questions, "x")
    assert unclaimed.policy == Policy()
    assert all(unclaimed.cover(format, "f64") for format in ("e2m1", "mxint8", "nvfp4"))


@pytest.mark.parametrize(
    ("remark", "reason"),
    [
        (b"# policy ocq\n", r"target x claims an unknown policy: .*'ocq'"),
        (b"# policy\n", r"target x claims an unknown policy: "),
        (b"# formats e2m1 e4m4\n", r"target x: FORMATS must be one of .*'e4m4' \(did you mean"),
        (b"# floats f31\n", r"target x: FLOATS must be one of .*'f31'"),
    ],
)
def test_an_unknown_claim_is_refused(remark: bytes, reason: str, file: VectorFile) -> None:
    text = sentence(TargetError, lambda: in_order([remark], questions_of(file), "x"))
    assert re.match(reason, text)


def test_errors_stand_in_rows() -> None:
    found = protocol.in_rows([Answer((1, 2)), Answer(error="no"), Answer((3,))])
    assert found.words.tolist() == [[1, 2], [2**64 - 1] * 2, [3, 2**64 - 1]]
    assert found.errors == {1: "no"}


# --- folders of answers ---------------------------------------------------------------------------


def results(folder: Path, text: str | bytes, name: str = "decode.e2m1.f32.txt") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode("ascii"))
    return folder


def test_results_in_any_order_pass(tmp_path: Path, few: Path, call: Call) -> None:
    folder = results(tmp_path / "a", "".join(reversed(LINES)))
    results(folder, b"\x00", ".hidden")
    status, out, err = call("verify", "--results", folder, "--vectors", few)
    assert (status, err) == (0, "")
    assert out.splitlines()[1].split() == ["ok", "decode", "e2m1", "ocp", "16", "0", "0"]
    assert out.splitlines()[-3:] == [
        "not covered: encode",
        "note: results in a folder: the cases of the vectors only",
        f"PASS {folder}: 16 cases, 0 failed: conforms",
    ]


def test_wrong_and_missing_results_have_failed(tmp_path: Path, few: Path, call: Call) -> None:
    wrong = [line.replace("3f000000", "3f000001") for line in LINES]
    folder = results(tmp_path / "a", "".join([*wrong[:3], *wrong[4:]]))
    status, out, _ = call("verify", "--results", folder, "--vectors", few, "--json")
    report = json.loads(out)
    assert (status, report["compared"]) == (1, 16)
    lacks = "no answer to 1 of 16 cases; on the other 15: "
    assert report["verdict"] == (
        f"{lacks}violates MX-5.3.3; in the cases asked, wrong exactly where the code is 01 "
        "(1 of 1): one float too far from zero"
    )
    found = {failure["id"]: (failure["got"], failure["error"]) for failure in report["failures"]}
    assert found == {IDS[1]: ("3f000001", ""), IDS[3]: (None, "no answer")}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("".join([*LINES, LINES[3]]), f"line 17 answers {IDS[3]} again"),
        ("hello\n", "line 1: 'hello' is no case of decode/e2m1.f32"),
        (LINES[0] + "encode.e2m1.f16.0000 00\n", "line 2: 'encode.e2m1.f16.0000' is no case of"),
        ("".join(LINES)[:-1], "line 16 has no line end, is it cut off?"),
        (b"\xff\n", r"line 1 is not ASCII: '\\xff'"),
        ("a" * 70000, "line 1 has more than 65536 characters"),
        (LINES[0] + "# policy ocp\n", "line 2 claims policy, which must come before the first"),
    ],
)
def test_files_that_are_no_results_are_refused(
    text: str | bytes, reason: str, tmp_path: Path, few: Path, call: Call
) -> None:
    folder = results(tmp_path / "a", text)
    status, out, err = call("verify", "--results", folder, "--vectors", few)
    assert (status, out) == (2, "")
    assert re.match(rf"mxref: error: {folder}/decode.e2m1.f32.txt: {reason}", err), err


@pytest.mark.parametrize("name", ["decode.e2m1.f31.txt", "README.md", "decode.e2m1.f32", None])
def test_other_names_are_refused(name: str | None, tmp_path: Path, few: Path, call: Call) -> None:
    if name is None:
        reason = "must have files of answers, of the names of those of the prompts, as "
        reason = f"{tmp_path} {reason}encode.e4m3.f32.txt; got none"
    else:
        reason = "must have the name of a file of prompts, as encode.e4m3.f32.txt"
        reason = f"{results(tmp_path, 'x', name) / name} {reason}"
    found = call("verify", "--results", tmp_path, "--vectors", few)
    assert found == (2, "", f"mxref: error: {reason}\n")


def test_a_file_that_is_not_asked_for_is_not_read(tmp_path: Path, few: Path, call: Call) -> None:
    folder = results(tmp_path / "a", "".join(LINES))
    results(folder, "garbage\n", "encode.e2m1.f16.txt")
    options = ("--results", folder, "--vectors", few)
    assert call("verify", *options)[0] == 2
    assert call("verify", *options, "--op", "decode")[0] == 0


def test_neither_prompts_nor_other_inputs_have_results(tmp_path: Path, file: VectorFile) -> None:
    write_prompts(tmp_path, [file])
    target = read_results(tmp_path, [file], [STEM])
    said = {answer.error for answer in target.answers[STEM].values()}
    assert said == {"this is the question, not an answer"}
    target = read_results(results(tmp_path, "".join(LINES)), [file], [STEM])
    text = sentence(ValueError, lambda: target.ask(file, file.input_words()[:3]))
    assert text.startswith("inputs must be the 16 cases of decode/e2m1.f32, got 3")


def test_results_claim(tmp_path: Path, few: Path) -> None:
    files = golden.read_vectors(few)
    stems = [file.stem for file in files]
    folder = results(tmp_path / "a", "# formats e4m3\n" + "".join(LINES))
    assert not read_results(folder, files, stems).covers("decode", "e2m1", "f32")
    results(folder, "# policy ocp+rounding=to_odd\n", "encode.e2m1.f16.txt")
    text = sentence(TargetError, lambda: read_results(folder, files, stems))
    assert text == (
        f"results must claim one policy, got ocp+rounding=to_odd in {folder}/encode.e2m1.f16.txt "
        f"and ocp in {folder}/decode.e2m1.f32.txt"
    )
    results(folder, "# policy ocp+rounding=to_odd\n" + "".join(LINES))
    target = read_results(folder, files, stems)
    assert str(target.policy) == "ocp+rounding=to_odd"
    assert target.covers("decode", "e2m1", "f32")


# --- the command line -----------------------------------------------------------------------------


def test_check(few: Path, call: Call) -> None:
    options = ("decode", "e2m1", "--vectors", few)
    status, out, err = call("check", *options, stdin="".join(LINES))
    assert (status, err) == (0, "")
    assert out.splitlines()[-1] == "PASS standard input: 16 cases, 0 failed: conforms"
    claimed = "# policy ocp+decoded_zero=dropped\n" + "".join(LINES)
    status, out, err = call("check", *options, stdin=claimed)
    assert (status, err) == (1, "")
    assert out.splitlines()[-1].startswith("FAIL standard input: 16 cases, 1 failed: ")
    status, out, _ = call("check", *options, "--policy", "ocp", "--json", stdin=claimed)
    assert (status, json.loads(out)["policy"], json.loads(out)["passed"]) == (0, "ocp", True)


@pytest.mark.parametrize(("command", "reason"), ANSWERS["misuse"].items())
def test_misuse(command: str, reason: str, few: Path, call: Call) -> None:
    status, out, err = call(*shlex.split(command), "--vectors", few)
    assert (status, out) == (2, "")
    assert err.startswith(f"mxref: error: {reason}")
    assert err.count("\n") == 1


@pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")
def test_gen_into_a_reader_that_stops_early() -> None:
    command = f"{sys.executable} -W error -m mxref gen encode e4m3 --float f16 | head -2"
    result = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=PATIENCE)
    first = records("encode/e4m3.f16")[1][0]
    want = f"# mxref lines 1\n{first['id']} encode e4m3 f16 {first['in']}\n"
    assert (result.stdout, result.stderr) == (want, "")


def test_the_page() -> None:
    page = (VECTORS / "README.md").read_text("utf-8")
    start = page.index("\n## The line protocol\n")
    section = " ".join(page[start : page.index("\n## ", start + 1)].split())
    assert f"Version **{protocol.PROTOCOL}**" in section
    assert f"`# mxref lines {protocol.PROTOCOL}`" in section
    assert next(protocol.prompt_lines([])) == f"# mxref lines {protocol.PROTOCOL}\n".encode("ascii")
    (example,) = re.findall(r"```text (.*?) ```", section)
    _, cases = records("encode/e4m3.f32")
    assert example in [f"{case['id']} encode e4m3 f32 {case['in']}" for case in cases]
