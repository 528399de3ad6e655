"""Questions beside the vectors as lines: asked of programs, and recorded."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import copy_vectors, vector_file

import mxref
from mxref.cases.beside import beside
from mxref.cli import main
from mxref.conformance import check, command_results, read_results
from mxref.conformance.verdict.report import Report
from mxref.operands.word_rows import stripped
from mxref.operations.product_words import operands
from mxref.operations.registry import REGISTRY
from mxref.policy.policy import Policy
from mxref.targets.results import write_prompts

STEM = "encode/e2m1.f32"

#: Wrong for one in 256 of ordinary numbers, whose low byte is none of those of the vectors.
KERNEL = """\
import sys, numpy as np, mxref
questions = [line.split() for line in sys.stdin if line[0] != "#"]
bits = np.array([int(words[4], 16) for words in questions], np.uint32)
codes = mxref.encode(bits.view(np.float32), "e2m1")
if sys.argv[1] == "wrong":
    codes = np.where((bits & 0xFF) == 0x5A, codes ^ 8, codes)
for words, code in zip(questions, codes):
    print(words[0], f"{code:x}")
"""


@pytest.fixture
def kernel(tmp_path: Path) -> str:
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL, "utf-8")
    return f"{sys.executable} {path}"


def asked(kernel: str, drawn: dict[str, Any]) -> Report:
    file = vector_file(STEM)
    return check(command_results(kernel, [file], drawn=drawn, timeout=100.0), [file])


def test_a_program_that_is_wrong_for_ordinary_numbers_alone_fails(kernel: str) -> None:
    drawn = beside([vector_file(STEM)])
    assert asked(f"{kernel} right", drawn).passed
    assert asked(f"{kernel} wrong", {}).passed
    assert not asked(f"{kernel} wrong", drawn).passed


@pytest.mark.parametrize("how", ["right", "wrong"])
def test_recorded_answers_have_the_same_questions(how: str, tmp_path: Path) -> None:
    file = vector_file(STEM)
    drawn = beside([file])
    write_prompts(tmp_path, [file], drawn)
    path = tmp_path / "encode.e2m1.f32.txt"
    lines = [line.split() for line in path.read_text().splitlines()[1:]]
    assert len(lines) == len(file.cases) + len(drawn[STEM])
    bits = np.array([int(words[4], 16) for words in lines], np.uint32)
    codes = mxref.encode(bits.view(np.float32), "e2m1")
    if how == "wrong":
        codes = np.where((bits & 0xFF) == 0x5A, codes ^ 8, codes)
    answers = [f"{words[0]} {code:x}\n" for words, code in zip(lines, codes, strict=True)]
    path.write_text("".join(answers))
    target = read_results(tmp_path, [file], [STEM], drawn)
    count = f"{len(drawn[STEM]):,}"
    assert target.note == f"results in a folder: the vectors, and {count} questions beside them"
    assert check(target, [file]).passed is (how == "right")
    # Answers to the vectors alone, as of an older recording, and to other questions.
    old = answers[: len(file.cases)]
    path.write_text("".join([*old, "encode.e2m1.f32.search_0_00000000 3\n"]))
    target = read_results(tmp_path, [file], [STEM], drawn)
    assert target.note == "results in a folder: the cases of the vectors only"
    assert check(target, [file]).passed


def test_tensors_of_further_sizes_are_asked() -> None:
    file = vector_file("quantize_tensor/mxfp4_e2m1.f32")
    shapes = {stripped(row)[:2] for row in beside([file])[file.stem]}
    assert {(64, 64), (33, 96), (7, 257)} <= shapes


def positive_codes(words: list[int]) -> bool:
    """A block of dequantize whose FP4 codes are all positive, and none subnormal."""
    return all(2 <= code < 8 for code in words[1:])


def no_negative_input(words: list[int]) -> bool:
    """A layer of more than eight inputs of which none is negative, and several are not zero."""
    x = words[5 : 5 + math.prod(words[:3])]  # behind the sizes and whether it has a bias
    return len(x) > 8 and all(word < 1 << 31 for word in x) and len({*x}) > 2


def positive_products(words: list[int]) -> bool:
    """A dot product of several blocks of positive, normal FP4 codes."""
    a, b = operands(words, "mxfp4_e2m1-mxfp4_e2m1")
    return len(a.scales) > 1 and all(2 <= code < 8 for side in (a, b) for code in side.codes)


#: What is wrong for ordinary data of an operation alone.
OF_KIND = {
    "dequantize/mxfp4_e2m1.f32": positive_codes,
    "linear/mxfp4_e2m1.f32": no_negative_input,
    "matmul/mxfp4_e2m1-mxfp4_e2m1.f32": positive_products,
}


@pytest.mark.parametrize("stem", OF_KIND)
def test_what_is_wrong_for_ordinary_data_alone_fails(stem: str, tmp_path: Path) -> None:
    """Nor do the vectors ask it; with the slow twin's answers to all questions it passes."""
    file = vector_file(stem)
    drawn = beside([file])
    write_prompts(tmp_path, [file], drawn)
    (path,) = tmp_path.iterdir()
    asked = [line.split() for line in path.read_text("ascii").splitlines()[1:]]
    words = [[int(word, 16) for word in line[4:]] for line in asked]
    operation, policy = REGISTRY[file.op], Policy.parse("ocp")
    answers = operation.exact(file.format, file.float, words, policy)
    is_wrong = [OF_KIND[stem](one) for one in words]
    assert not any(is_wrong[: len(file.cases)])
    assert sum(is_wrong) > 3
    for flip in (0, 1):
        lines = (
            f"{line[0]} {' '.join(f'{word ^ flip * wrong:x}' for word in answer)}\n"
            for line, answer, wrong in zip(asked, answers, is_wrong, strict=True)
        )
        path.write_text("".join(lines), "ascii")
        assert check(read_results(tmp_path, [file], [stem], drawn), [file]).passed is (flip == 0)


def test_quick_asks_the_vectors_alone(
    tmp_path: Path, kernel: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = copy_vectors(tmp_path / "v", f"{STEM}.jsonl")
    options = ["--vectors", str(folder), "--op", "encode", "--format", "e2m1", "--float", "f32"]
    cmd = ["verify", "--cmd", f"{kernel} wrong", "--timeout", "100", *options]
    assert [main([*cmd, *more]) for more in ([], ["--quick"])] == [1, 0]
    capsys.readouterr()
    assert main(["verify", "mxref", *options, "--quick"]) == 0
    assert "asked:" not in capsys.readouterr().out
