"""The line protocol: what is asked, how answers are read, and how lines can be wrong."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

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
from mxref.targets.calls import without_cases
from mxref.targets.line_protocol import (
    PROTOCOL,
    Answer,
    LineQuestion,
    in_order,
    in_rows,
    parse_answer,
    prompt_lines,
    questions_of,
)
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
        "encode/e4m3.f16",
        "decode_scale/e8m0.f32",
        "encode_stochastic/e2m1.bf16",
        "quantize/nvfp4.f32",
        "dequantize/mxint8.bf16",
        "unpack/e2m1.halves",
        "pack_scales/e8m0.bytes",
        "quantize_tensor/mxfp4_e2m1.bf16",
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
        assert (tmp_path / "q" / name).read_text("ascii") == printed


def test_other_inputs_are_numbered() -> None:
    inputs = np.array([[0x3F80, 0xFFFF], [0, 1]], np.uint64)
    asked = questions_of(without_cases("quantize", "mxfp4_e2m1", "bf16"), inputs, 41)
    assert [question.line() for question in asked] == [
        "41 quantize mxfp4_e2m1 bf16 3f80 ffff",
        "42 quantize mxfp4_e2m1 bf16 0000 0001",
    ]


def test_all_bits_set_are_a_float_and_no_filler() -> None:
    everything = np.array([[2**64 - 1]], np.uint64)
    (question,) = questions_of(without_cases("encode", "e2m1", "f64"), everything)
    assert question.line() == "0 encode e2m1 f64 ffffffffffffffff"
    padded = np.array([[1, 2**64 - 1]], np.uint64)
    (question,) = questions_of(without_cases("pack", "e2m1", "bytes"), padded)
    assert question.line() == "0 pack e2m1 bytes 01"


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


def answered(op: str, format: str, float: str, text: str) -> Answer:
    return parse_answer(LineQuestion("1", without_cases(op, format, float), ()), text.split())


@pytest.mark.parametrize(
    ("what", "text", "want"),
    [
        (("encode", "e4m3", "f32"), "7e", (0x7E,)),
        (("encode", "e4m3", "f32"), "7E", (0x7E,)),
        (("encode", "e4m3", "f32"), "e", (0x0E,)),
        (("encode", "e4m3", "f32"), "00000000000000000000007e", (0x7E,)),
        (("encode", "e2m1", "f32"), "ff", (0xFF,)),  # a byte that is no code: verify says so
        (("decode", "e4m3", "f32"), "Ffc00000", (0xFFC00000,)),
        (("decode", "e4m3", "f64"), "ffffffffffffffff", (2**64 - 1,)),
        (("shared_scale", "e4m3", "bf16"), "7f", (0x7F,)),
        (("quantize", "mxfp4_e2m1", "f32"), "7f " + "1 " * 32, (0x7F, *(1,) * 32)),
        (("quantize", "nvfp4", "f32"), "7f " + "1 " * 16, (0x7F, *(1,) * 16)),
        (("dequantize", "mxfp4_e2m1", "bf16"), "3f80 " * 32, (0x3F80,) * 32),
        (("pack", "e2m1", "bytes"), "1 2 3", (1, 2, 3)),
    ],
)
def test_words_are_read(what: tuple[str, str, str], text: str, want: tuple[int, ...]) -> None:
    assert answered(*what, text) == Answer(want)


@pytest.mark.parametrize(
    ("what", "text", "reason"),
    [
        (("encode", "e4m3", "f32"), "", "an answer must have 1 word, got 0"),
        (("encode", "e4m3", "f32"), "7e 7e", "an answer must have 1 word, got 2"),
        (("pack", "e2m1", "bytes"), "", "an answer must have 1 word or more, got 0"),
        (("quantize", "mxint8", "f32"), "7f", "an answer must have 33 words, got 1"),
        (("quantize", "nvfp4", "f32"), "7f " * 33, "an answer must have 17 words, got 33"),
        (("dequantize", "mxint8", "f32"), "0 " * 33, "an answer must have 32 words, got 33"),
        (("encode", "e4m3", "f32"), "0x7e", "word '0x7e' is no hex number"),
        (("encode", "e4m3", "f32"), "-1", "word '-1' is no hex number"),
        (("encode", "e4m3", "f32"), "1_0", "word '1_0' is no hex number"),
        (("encode", "e4m3", "f32"), "nan", "word 'nan' is no hex number"),
        (("encode", "e4m3", "f32"), "unsupported 7e", "word 'unsupported' is no hex number"),
        (("encode", "e4m3", "f32"), "100", "a word must have at most 2 digits, got 100"),
        (("decode", "e4m3", "bf16"), "3f800000", "a word must have at most 4 digits, got 3f800000"),
        (("encode", "e4m3", "f32"), "f" * 99, f"at most 2 digits, got {'f' * 40}..."),
        (("encode", "e4m3", "f32"), "error no  such unit", "the target says: no such unit"),
        (("encode", "e4m3", "f32"), "error", "the target says: error"),
    ],
)
def test_wrong_answer_is_error_of_case(what: tuple[str, str, str], text: str, reason: str) -> None:
    answer = answered(*what, text)
    assert answer.error.endswith(reason)
    assert (answer.words, answer.unsupported) == ((), False)


def test_right_lines_pass(file: VectorFile) -> None:
    assert errors(LINES, file) == {}
    assert errors([line.upper().replace("DECODE.E2M1.F", "decode.e2m1.f") for line in LINES], file)
    assert errors(["# mxref lines 1\n", "#\n", b"# \xff\n", *LINES, "# end\n"], file) == {}
    assert errors([line.replace(" ", "   ").replace("\n", " \r\n") for line in LINES], file) == {}


DUE = "line 6 must begin with {5}, whose answer is due, got"
NEXT = "answers come in the order of the questions, one for each"
LONG = "line 6 has more than 65536 characters"


@pytest.mark.parametrize(
    ("lines", "name", "reason"),
    [
        ([*LINES[:5], "hello\n"], "05", f"{DUE} 'hello'"),
        ([*LINES[:5], "hello\n", *LINES[5:]], "05", f"{DUE} 'hello'"),
        ([*LINES[:5], b"\x7fELF\x01\x00\n"], "05", rf"{DUE} '\x7fELF\x01\x00'"),
        ([*LINES[:5], b"\xff\xfe\n", *LINES[5:]], "05", r"line 6 is not ASCII: '\xff\xfe'"),
        ([*LINES[:5], "\n", *LINES[5:]], "05", "line 6 is empty"),
        ([*LINES[:5], *LINES[4:]], "05", "line 6 answers {4} again, where {5} is due"),
        ([*LINES[:5], *LINES[6:]], "05", f"line 6 answers {{6}}, where {{5}} is due: {NEXT}"),
        (LINES[:5] + LINES[:4:-1], "05", f"line 6 answers {{15}}, where {{5}} is due: {NEXT}"),
        (
            [*LINES[:5], "# policy ocp\n", *LINES[5:]],
            "05",
            "line 6 claims policy, which must come before the first answer",
        ),
        ([*LINES[:5], "a" * 65536 + "\n"], "05", f"{DUE} '{'a' * 60}'"),
        ([*LINES[:5], "a" * 65537 + "\n"], "05", LONG),
        ([*LINES[:5], "#" * 65537 + "\n", *LINES[5:]], "05", LONG),
        (
            [*LINES[:15], LINES[15][:-1]],
            "0f",
            "line 16 has no line end, is it cut off? '{15} c0c00000'",
        ),
        ([*LINES, LINES[15]], "0f", "line 17 comes after the last answer: '{15} c0c00000'"),
        ([*LINES, "done\n"], "0f", "line 17 comes after the last answer: 'done'"),
    ],
)
def test_a_wrong_line_ends_the_comparison(
    lines: list[str | bytes], name: str, reason: str, file: VectorFile
) -> None:
    found = errors(lines, file)
    reason = reason.format(*IDS)
    others = [case.name for case in file.cases if case.name > name]
    assert found == {name: reason, **dict.fromkeys(others, f"does not count: {reason}")}


def test_missing_answers_have_failed(file: VectorFile) -> None:
    assert errors(LINES[:14], file) == {"0e": "no answer", "0f": "no answer"}
    assert errors([], file) == dict.fromkeys([case.name for case in file.cases], "no answer")


def test_an_endless_line_takes_no_memory(file: VectorFile) -> None:
    class Endless(io.RawIOBase):
        read_so_far = 0

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
            buffer[:] = b"a" * len(buffer)
            self.read_so_far += len(buffer)
            return len(buffer)

    endless = Endless()
    target = piped_results(io.BufferedReader(endless), [file], "x")
    assert endless.read_so_far < 1 << 18
    assert target.answers[STEM][IDS[0]].error == "line 1 has more than 65536 characters"


def test_unsupported_is_not_covered(file: VectorFile) -> None:
    lines = "".join(f"{id} unsupported\n" for id in IDS)
    report = verify(piped_results(io.BytesIO(lines.encode()), [file], "x"), [file])
    assert (report.not_covered, report.compared, report.passed) == (("decode",), 0, False)


def test_unsupported_here_and_there_is_a_failure(file: VectorFile) -> None:
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
    found = in_rows([Answer((1, 2)), Answer(error="no"), Answer((3,))])
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
    assert (status, report["verdict"], report["compared"]) == (1, "violates MX-5.3.3", 16)
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


@pytest.mark.parametrize("name", ["decode.e2m1.f31.txt", "README.md", "decode.e2m1.f32"])
def test_other_names_are_refused(name: str, tmp_path: Path, few: Path, call: Call) -> None:
    folder = results(tmp_path / "a", "".join(LINES), name)
    status, out, err = call("verify", "--results", folder, "--vectors", few)
    reason = "must have the name of a file of prompts, as encode.e4m3.f32.txt"
    assert (status, out, err) == (2, "", f"mxref: error: {folder / name} {reason}\n")


def test_a_folder_without_answers_is_refused(tmp_path: Path, few: Path, call: Call) -> None:
    status, out, err = call("verify", "--results", tmp_path, "--vectors", few)
    assert (status, out) == (2, "")
    assert err.startswith(f"mxref: error: {tmp_path} must have files of answers, of the names of")
    assert err.count("\n") == 1


def test_a_file_that_is_not_asked_for_is_not_read(tmp_path: Path, few: Path, call: Call) -> None:
    folder = results(tmp_path / "a", "".join(LINES))
    results(folder, "garbage\n", "encode.e2m1.f16.txt")
    options = ("--results", folder, "--vectors", few)
    assert call("verify", *options)[0] == 2
    assert call("verify", *options, "--op", "decode")[0] == 0


def test_prompts_are_no_results(tmp_path: Path, file: VectorFile) -> None:
    write_prompts(tmp_path, [file])
    target = read_results(tmp_path, [file], [STEM])
    assert {answer.error for answer in target.answers[STEM].values()} == {
        "this is the question, not an answer"
    }


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


def test_results_answer_nothing_else(tmp_path: Path, file: VectorFile) -> None:
    target = read_results(results(tmp_path / "a", "".join(LINES)), [file], [STEM])
    text = sentence(ValueError, lambda: target.ask(file, file.input_words()[:3]))
    assert text.startswith("inputs must be the 16 cases of decode/e2m1.f32, got 3")


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


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["gen", "decod", "e2m1"], "--op must be one of decode, encode, got 'decod' (did you mean"),
        (["gen", "decode", "e4m4"], "--format must be one of binary8p1uf, "),
        (["check", "decode", "e2m1", "--float", "f16"], "--float must be one of f32, got 'f16'"),
        (["verify", "x.py", "--timeout", "3"], "--timeout must be given with --cmd: it is the"),
        (["verify", "--cmd", "x '"], 'command "x \'" cannot be read: No closing quotation'),
        (["verify", "--cmd", ""], "command must name a program, got nothing"),
        (["verify", "--cmd", "no-such"], "command 'no-such' cannot be run: No such file or dir"),
        (["verify", "--cmd", "cat", "--timeout", "0"], "timeout must be a number of seconds above"),
        (["verify", "--cmd", "cat", "--timeout", "nan"], "timeout must be a number of seconds abo"),
        (["verify", "--results", "/no/such"], "/no/such cannot be read: No such file or directory"),
        (["prompts", "/dev/null"], "/dev/null/encode.e2m1.f16.txt: Not a directory"),
    ],
)
def test_misuse(arguments: list[str], reason: str, few: Path, call: Call) -> None:
    status, out, err = call(*arguments, "--vectors", few)
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
    assert f"Version **{PROTOCOL}**" in section
    assert f"`# mxref lines {PROTOCOL}`" in section
    assert next(prompt_lines([])) == f"# mxref lines {PROTOCOL}\n".encode("ascii")
    (example,) = re.findall(r"```text (.*?) ```", section)
    _, cases = records("encode/e4m3.f32")
    assert example in [f"{case['id']} encode e4m3 f32 {case['in']}" for case in cases]
