"""How functions and products are called, and which vector files are read for a target."""

from __future__ import annotations

import dataclasses
import io
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import VECTORS, copy_vectors, vector_file
from product_targets import E4M3, named, product_file, product_target
from right_calls import RIGHT_CALLS
from verify_helpers import looking_up

import mxref
import mxref.cases.read as reading
from mxref.cases.records import Case, words
from mxref.cli import main
from mxref.conformance import TargetError, check, target_of, verify
from mxref.golden import VectorError, VectorFile, read_vectors
from mxref.operands.returned import AnswerError
from mxref.operations.asked_call import result_words
from mxref.operations.product_words import operands
from mxref.operations.registry import CALL_OPERATIONS, OPERATIONS, REGISTRY
from mxref.policy.policy import Policy
from mxref.targets.asked_files import is_asked, read_for
from mxref.targets.calls import call_function, call_operation, without_cases
from mxref.targets.line_protocol import questions_of
from mxref.targets.profile_target import profile_target
from mxref.targets.results import piped_results

Arrays = list[np.ndarray]


#: A file of each kind of call.
KINDS = (
    *("encode/e4m3.bf16", "decode/e2m1.f32", "encode_stochastic/e2m1.f32"),
    *("quantize/mxfp4_e2m1.f64", "quantize/nvfp4.f32", "dequantize/nvfp4.f32"),
    *("unpack/e2m1.low_nibble_first", "quantize_tensor/mxfp4_e2m1.f32"),
)
#: One call a case.
LAYOUTS = ("unpack", "quantize_tensor")


@pytest.mark.parametrize("stem", ["quantize/nvfp4.f32", "dequantize/nvfp4.f32"])
def test_one_call_for_each_scale_of_a_tensor(stem: str) -> None:
    file, rows = vector_file(stem), Counter[int]()
    inputs, wanted = file.input_words()[::-1], file.outputs(0)[::-1]

    def counted(*arguments: Any) -> Any:
        assert all(isinstance(a, np.ndarray) and a.flags.writeable for a in arguments[:1])
        rows[int(arguments[-1].view(np.uint32))] += len(arguments[0])
        return RIGHT_CALLS[file.op](*arguments)

    assert np.array_equal(call_operation(counted, file, inputs), wanted)
    assert rows == Counter(inputs[:, 0].tolist())  # every scale in one call, and all its rows
    assert max(rows.values()) > 1


def test_cases_that_raise_are_found_beside_others_of_the_same_scale() -> None:
    file = vector_file("quantize/nvfp4.f32")
    inputs, wanted = file.input_words(), file.outputs(0)
    is_nan = (inputs[:, 1:] == 0x7FC00000).any(axis=1)

    def raises(values: np.ndarray, format: str, tensor: np.float32) -> mxref.Blocks:
        if (values.view(np.uint32) == 0x7FC00000).any():
            raise ArithmeticError("NaN")
        return RIGHT_CALLS["quantize"](values, format, tensor)

    answers = call_function(raises, file, inputs)
    assert sorted(answers.errors) == np.flatnonzero(is_nan).tolist() != []
    assert np.array_equal(answers.words[~is_nan], wanted[~is_nan])


@pytest.mark.parametrize("stem", [stem for stem in KINDS if stem.split("/")[0] not in LAYOUTS])
def test_no_cases_are_one_call_with_empty_arrays(stem: str) -> None:
    file, calls = vector_file(stem), list[Arrays]()

    def counted(*arguments: Any) -> Any:
        calls.append([a for a in arguments if isinstance(a, np.ndarray)])
        return RIGHT_CALLS[file.op](*arguments)

    found = call_operation(counted, file, file.input_words()[:0])
    assert found.shape == (0, file.outputs(0).shape[1])
    assert [len(array) for array in calls[0]] == [0] * len(calls[0])
    assert len(calls) == 1


@pytest.mark.sampled(6)
@pytest.mark.parametrize("offset", [1, 2, 3, 7])
@pytest.mark.parametrize("stem", KINDS)
def test_arrays_start_at_an_offset(stem: str, offset: int) -> None:
    file, seen = vector_file(stem), Arrays()
    start = max(range(len(file.cases)), key=lambda i: len(file.cases[i].inputs))
    some = slice(start, start + 20)  # the case with the most words among them

    def kept(*arguments: Any) -> Any:
        seen.extend(a for a in arguments if isinstance(a, np.ndarray))
        return RIGHT_CALLS[file.op](*arguments)

    inputs, wanted = file.input_words()[some], file.outputs(0)[some]
    answers = call_function(kept, file, inputs, offset=offset)
    assert answers.errors == {}
    assert np.array_equal(answers.words, wanted[:, : answers.words.shape[1]])
    assert np.array_equal(call_operation(kept, file, inputs, start, offset=offset), answers.words)
    for array in seen:
        assert array.ctypes.data % 64 == offset * array.itemsize % 64
        assert array.flags.c_contiguous
        assert array.flags.writeable
        assert array.flags.aligned


#: But for layers by a recipe, which are called as a target has them.
@pytest.mark.parametrize("op", [op for op in OPERATIONS if not op.startswith("recipe_")])
def test_what_is_said_of_a_call_is_how_it_is_made(op: str) -> None:
    seen: list[int] = []

    def count(*arguments: Any) -> None:
        seen.append(len(arguments))
        raise ValueError

    paths = sorted((VECTORS / op).glob("*.json*"), key=lambda path: path.stat().st_size)
    # Further forms of a sampler are given by name.
    paths = [one for one in paths if not REGISTRY[op].by_name(one.name.partition(".")[0])]
    for stem in {paths[0].name.partition(".json")[0], *NVFP4.get(op, ())}:
        seen.clear()
        file = vector_file(f"{op}/{stem}")
        call_function(count, file, file.input_words()[:1])
        told = REGISTRY[op].called_as(file.format)
        assert told.startswith(f"{op}(")
        assert {told.count(",") + 1} == {*seen} if op != "matmul" else {6, 7} >= {*seen}


NVFP4 = {"quantize": ("nvfp4.f32",), "dequantize": ("nvfp4.f32",)}


def test_a_call_that_python_refuses() -> None:
    file = vector_file("encode/e2m1.f16")
    answers = call_function(lambda x: x, file, file.input_words()[:2])
    told = "TypeError: test_a_call_that_python_refuses.<locals>.<lambda>() takes 1 positional "
    told += "argument but 2 were given: it is called as encode(values, format)"
    assert {*answers.errors.values()} == {told}

    def inside(values: Any, format: str) -> Any:
        return vector_file(values, format)

    answers = call_function(inside, file, file.input_words()[:2])
    assert "called as" not in answers.errors[0]


def test_tensors_lie_in_order_unless_their_case_is_named_strided() -> None:
    words = [2, 3, 1, *range(6)]
    file = without_cases("quantize_tensor", "mxfp4_e2m1", "f32")
    flags: list[tuple[str, ...]] = [(), ("strided",)]
    cases = [Case("", (), (), (), required=False, rule="", model="", flags=f) for f in flags]
    file = dataclasses.replace(file, cases=cases)
    arrays: list[np.ndarray] = []

    def seen(values: np.ndarray, format: str, axis: int) -> mxref.Blocks:
        arrays.append(values)
        return mxref.quantize(values, format, axis=axis)

    call_operation(seen, file, np.array([words] * 3, np.uint64))  # the last one is no case
    assert [array.flags.c_contiguous for array in arrays] == [True, False, True]
    assert all(array.view(np.uint32).tolist() == [[0, 1, 2], [3, 4, 5]] for array in arrays)


def test_profiles_take_the_scale_of_the_tensor() -> None:
    """Under 2 a block of 12 has the scale 1, and codes of 6."""
    target = profile_target(mxref.profile("ocp"))
    values, two = np.full((1, 16), 12, np.float32), np.float32(2)
    scales, codes = target.operations["quantize"](values, "nvfp4", two)
    assert (scales.tolist(), codes.tolist()) == ([0x38], [[7] * 16])
    back = target.operations["dequantize"](scales, codes, "nvfp4", np.dtype(np.float32), two)
    assert np.array_equal(back, values)


def test_a_result_of_integers_has_the_dtype_and_the_shape_asked_for() -> None:
    asked = CALL_OPERATIONS["unpack_int4"].call("int4", (1, 2, 0x78))
    assert result_words(np.int8([[-8, 7]]), asked).tolist() == [0xF8, 7]
    with pytest.raises(AnswerError, match="the result must be int8, got int16"):
        result_words(np.int16([[-8, 7]]), asked)
    with pytest.raises(AnswerError, match="the result must have shape"):
        result_words(np.int8([-8, 7]), asked)


# --- products -------------------------------------------------------------------------------------


def test_operands_are_filled_up_to_multiples() -> None:
    shapes: list[tuple[int, ...]] = []

    def matmul(sa: Any, ca: Any, sb: Any, cb: Any, fa: str, fb: str) -> Any:
        shapes.append((*sa.shape, *ca.shape, *sb.shape, *cb.shape))
        k = ca.shape[1]
        assert not ca[:, k - k % 32 :].any()
        return named("exact")(sa, ca, sb, cb, fa, fb)

    file = product_file()
    right = product_target(named("exact")).ask(file, file.input_words()).words
    for multiples, least in (((1, 1, 32), 1), ((16, 8, 64), 16)):
        shapes.clear()
        got = product_target(matmul, MULTIPLES=multiples).ask(file, file.input_words())
        assert not got.errors
        assert (got.words == right).all()
        assert min(shape[0] for shape in shapes) >= least
        for m, _, _, k, n, *_ in shapes:
            assert (m % multiples[0], n % multiples[1], k % multiples[2]) == (0, 0, 0)


def test_the_seventh_parameter_is_the_dtype() -> None:
    six = product_target(named("exact"))
    assert six.covers("matmul", E4M3, "f32")
    assert not six.covers("matmul", E4M3, "bf16")

    def matmul(sa: Any, ca: Any, sb: Any, cb: Any, fa: str, fb: str, dtype: Any) -> Any:
        return np.zeros((len(ca), len(cb)), dtype)

    seven = product_target(matmul)
    assert seven.covers("matmul", E4M3, "bf16")
    file = product_file(float="bf16")
    assert not seven.ask(file, file.input_words()).errors


def test_any_number_of_parameters_stands_for_six() -> None:
    counts: set[int] = set()

    def matmul(*operands: Any) -> Any:
        counts.add(len(operands))
        return named("exact")(*operands)

    target = product_target(matmul)
    assert [target.covers("matmul", E4M3, float) for float in ("f32", "bf16")] == [True, False]
    file = product_file()
    assert not target.ask(file, file.input_words()).errors
    assert counts == {6}


@pytest.mark.parametrize("multiples", [(0, 1, 1), 32, True, (1, True, 32)])
def test_multiples_are_three_integers(multiples: object) -> None:
    kernel = SimpleNamespace(matmul=named("exact"), MULTIPLES=multiples)
    with pytest.raises(TargetError, match=r"^target kernel: MULTIPLES ") as caught:
        target_of(kernel, "kernel")
    assert str(caught.value).endswith(f"must be three positive integers, got {multiples}")


def test_a_result_of_another_shape_is_an_error() -> None:
    file = product_file()
    answers = product_target(lambda *_: np.zeros(3, np.float32)).ask(file, file.input_words())
    assert set(answers.errors.values()) != set()
    assert all("the result must have shape" in error for error in answers.errors.values())


def test_each_case_meets_its_own_rows() -> None:
    """Rows are told by their codes, not by their numbers."""

    def matmul(sa: Any, ca: Any, sb: Any, cb: Any, *more: Any) -> Any:
        return np.add.outer(ca[:, 0], 256.0 * cb[:, 0]).astype(np.float32)

    file = product_file()
    found = call_operation(matmul, file, file.input_words())[:, 0]
    for row, word in zip(file.cases, found.tolist(), strict=True):
        a, b = operands(row.inputs, file.format)
        assert np.uint32(word).view(np.float32) == a.codes[0] + 256 * b.codes[0]


def test_answers_in_lines_are_compared_as_those_of_calls() -> None:
    file = product_file()
    column = file.columns.index("ocp+accumulation=pairwise")
    lines = "".join(f"{case.id} {case.output(column)[0]:x}\n" for case in file.cases)
    target = piped_results(io.BytesIO(lines.encode()), [file], "pipe")
    (row,) = check(target, [file]).rows
    assert row.description is not None
    assert row.description.text.endswith(" outputs have the bits of accumulation=pairwise")
    (question, *_) = questions_of(file)
    case = file.cases[0]
    assert question.line() == f"{case.id} matmul {E4M3} f32 {words(case.inputs, 2)}"


# --- which files are read -------------------------------------------------------------------------


STEMS = ("decode/e2m1.f32", "decode/e2m3.f32", "encode/e2m1.f16", "unpack/e2m1.halves")
DECODER = target_of(SimpleNamespace(decode=mxref.decode, FORMATS=["e2m1"]), "decoder")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four files of the vectors, one of which is damaged."""
    copy_vectors(tmp_path, *(f"{stem}.jsonl" for stem in STEMS))
    path = tmp_path / "decode/e2m3.f32.jsonl"
    path.write_bytes(path.read_bytes()[:-1])
    return tmp_path


def with_cases(files: list[VectorFile]) -> list[str]:
    return [file.stem for file in files if file.cases]


def test_only_what_the_target_has_is_read(folder: Path) -> None:
    files = read_for(folder, DECODER, Policy())
    assert sorted(file.stem for file in files) == sorted(STEMS)
    assert with_cases(files) == ["decode/e2m1.f32"]
    report = verify(DECODER, files)
    assert (report.compared, report.passed) == (16, True)
    assert sorted(report.not_covered) == ["decode e2m3", "encode", "unpack"]


def test_what_it_has_is_checked(folder: Path) -> None:
    every = target_of(SimpleNamespace(decode=mxref.decode), "every")
    with pytest.raises(VectorError, match=r"e2m3\.f32\.jsonl:\d+: must end with a line end"):
        read_for(folder, every, Policy())
    some = read_for(folder, every, Policy(), only=lambda op, format, float: format == "e2m1")
    assert with_cases(some) == ["decode/e2m1.f32"]


def test_the_files_of_named_cases_are_read(folder: Path) -> None:
    files = read_for(folder, DECODER, Policy(), ["encode.e2m1.f16.0000", "no case", "a.b.c.d"])
    assert with_cases(files) == ["encode/e2m1.f16", "decode/e2m1.f32"]  # as in the manifest
    with pytest.raises(VectorError):
        read_for(folder, DECODER, Policy(), ["decode.e2m3.f32.00"])


def test_what_has_been_read_is_not_read_again(folder: Path) -> None:
    every = target_of(SimpleNamespace(decode=mxref.decode), "every")
    whole = read_vectors(VECTORS, lambda stem: stem == "decode/e2m3.f32")
    files = read_for(folder, every, Policy(), read=whole)  # although it is damaged
    assert with_cases(files) == ["decode/e2m3.f32", "decode/e2m1.f32"]
    assert with_cases(read_for(folder, DECODER, Policy(), read=whole)) == ["decode/e2m1.f32"]


@pytest.mark.parametrize("how", ["check", "--results", "--cmd"])
def test_answers_that_are_there_cost_one_reading(
    how: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (file,) = read_vectors(folder, lambda stem: stem == "decode/e2m1.f32")
    other = folder.with_name(f"{folder.name}_answers")
    answers = other / "answers" / "decode.e2m1.f32.txt"
    answers.parent.mkdir(parents=True)
    answers.write_text("".join(f"{c.id} {c.output(0)[0]:08x}\n" for c in file.cases))
    script = other / "program.py"
    script.write_text(looking_up(answers))
    parsed: list[str] = []
    parse = reading.parse

    def counted(text: str, name: str) -> VectorFile:
        parsed.append(name)
        return parse(text, name)

    monkeypatch.setattr(reading, "parse", counted)
    arguments = {
        "check": ["check", "decode", "e2m1"],
        "--results": ["verify", "--results", str(answers.parent)],
        "--cmd": ["verify", "--cmd", f"{sys.executable} {script}", "--no-search"],
    }[how]
    narrowed = [] if how == "check" else ["--op", "decode", "--format", "e2m1"]
    with answers.open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert main([*arguments, *narrowed, "--vectors", str(folder)]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith("16 cases, 0 failed: conforms")
    assert parsed == [str(folder / "decode/e2m1.f32.jsonl")]


def test_a_policy_without_answers_asks_nothing(folder: Path) -> None:
    unpacker = target_of(SimpleNamespace(unpack=mxref.unpack), "unpacker")
    assert not is_asked(unpacker, "unpack", "e2m1", "halves", Policy())
    assert with_cases(read_for(folder, unpacker, Policy())) == []
    halves = Policy.parse("ocp+fp4_packing=halves")
    assert with_cases(read_for(folder, unpacker, halves)) == ["unpack/e2m1.halves"]


def test_a_file_of_an_unknown_name_is_refused(folder: Path) -> None:
    for old, new in (("decode/e2m1", "decoder/e2m1"), ("decode/e2m1", "decode/e2m7")):
        path = folder / "manifest.json"
        text = path.read_text()
        path.write_text(text.replace(old, new))
        (folder / new).parent.mkdir(exist_ok=True)
        (folder / f"{old}.f32.jsonl").rename(folder / f"{new}.f32.jsonl")
        with pytest.raises(VectorError, match="must hold the 16 cases"):
            read_for(folder, DECODER, Policy())
        (folder / f"{new}.f32.jsonl").rename(folder / f"{old}.f32.jsonl")
        path.write_text(text)
