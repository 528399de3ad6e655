"""What is compared: bits, or classes where they are open; which clause is violated, in words."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from verify_helpers import RIGHT, Kit

from mxref.cases.records import Case
from mxref.conformance.compare.clauses import violated
from mxref.conformance.compare.compare import Failure
from mxref.conformance.compare.failure_text import difference
from mxref.conformance.compare.tensor_cases import scale_counts, scale_places, tensors_of
from mxref.operands.word_rows import NO_WORD
from mxref.policy.policy import Policy
from mxref.targets.calls import without_cases

ALSO_RIGHT = tomllib.loads((Path(__file__).parent / "data" / "also_right.toml").read_text("utf-8"))


@pytest.mark.parametrize("tail", ["short", "zero_padded"])
def test_each_element_of_a_tensor_has_the_scale_of_its_block(tail: str) -> None:
    shapes = [(rows, columns) for rows in (1, 2, 33) for columns in (1, 32, 65)]
    inputs = np.array([[*shape, axis, *range(65 * 33)] for shape in shapes for axis in (0, 1)])
    inputs = np.where(np.arange(inputs.shape[1]) < 3 + inputs[:, :1] * inputs[:, 1:2], inputs, -1)
    inputs = inputs.astype(np.uint64)
    numbers = np.arange(scale_counts(inputs).sum()).astype(np.uint64)
    policy = Policy().replace(tail=tail)
    words = tensors_of(inputs, np.repeat(numbers[:, np.newaxis], 33, axis=1), policy)
    places = scale_places(inputs, words)
    own = np.take_along_axis(words, np.maximum(places, 0), 1)
    first = np.arange(words.shape[1]) < scale_counts(inputs)[:, np.newaxis]
    assert ((places < 0) == (first | (words == np.uint64(NO_WORD)))).all()
    assert (own == words)[places >= 0].all()


@pytest.mark.parametrize("name", ALSO_RIGHT)
def test_what_the_standard_leaves_open_passes(kit: Kit, name: str) -> None:
    right = ALSO_RIGHT[name]
    folder = kit.vectors(*right["files"])
    run = kit.run(kit.target(RIGHT + right["body"]), "--vectors", folder)
    assert run.status == 0, run.out
    assert run.last_line.endswith(" 0 failed: conforms")


def test_nan_elements_of_blocks_are_one_class(kit: Kit) -> None:
    body = """
def quantize(values, format):
    blocks = mxref.quantize(values, format, block_nan="ignore")
    codes = blocks.codes.copy()
    assert (codes == 0x7F).any()
    codes[codes == 0x7F] = 0xFF
    return blocks.scale_codes, codes
"""
    folder = kit.vectors("quantize/mxfp8_e4m3.f32")
    options = ["--policy", "ocp+block_nan=ignore", "--vectors", folder]
    run = kit.run(kit.target(RIGHT + body), *options)
    assert run.status == 0
    assert run.last_line.endswith(" 0 failed: conforms under ocp+block_nan=ignore")


def test_zeros_are_told_apart_by_their_sign(kit: Kit) -> None:
    body = "def decode(codes, format): return mxref.decode(codes, format) + np.float32(0)\n"
    stems = [f"decode/{format}.f32" for format in ("e5m2", "e4m3", "e3m2", "e2m1", "int8")]
    spec = kit.target(RIGHT + body)
    run = kit.run(spec, "--vectors", kit.vectors(*stems), "--json")
    assert run.status == 1
    assert {failure["id"] for failure in run.json["failures"]} == {  # -0 + 0 is +0; INT8 has no -0
        "decode.e5m2.f32.80",
        "decode.e4m3.f32.80",
        "decode.e3m2.f32.20",
        "decode.e2m1.f32.08",
    }


# --- clauses --------------------------------------------------------------------------------------


def clause(
    question: tuple[str, str], rule: str, inputs: tuple[int, ...], got: tuple[int, ...] | None
) -> str | None:
    """What an answer to words of float32 violates; the right answer is not looked at."""
    case = Case("", inputs, ((0,),), (), required=False, rule=rule, model="")
    failure = Failure(0, case, (0,), got, "" if got else "ValueError: no")
    return violated(without_cases(*question, "f32"), failure, Policy())


def f32(x: float) -> int:
    return int(np.float32(x).view(np.uint32))


@pytest.mark.parametrize(
    ("question", "rule", "x", "is_open", "violates"),
    [
        # What rounds below -127/64 becomes that, or -2.
        (("encode", "int8"), "N15", f32(-2), (0x81, 0x80), {0x82: "MX-5.3.4", 0x7F: "MX-5.3.4"}),
        # The sign of a zero is open, its magnitude is not.
        (("encode", "e2m1"), "N25", f32(-0.1), (0, 8), {0x9: "MX-5.3.3", 0x10: "MX-5.3.3"}),
        (("decode", "e2m1"), "N25", 0x8, (0, 0x80000000), {1: "MX-5.3.3"}),
        # All else that is not required is open.
        (("encode", "e2m1"), "N14", f32(np.nan), (0x3,), {}),
    ],
)
def test_answers_beside_those_that_are_open(
    question: tuple[str, str], rule: str, x: int, is_open: tuple[int], violates: dict[int, str]
) -> None:
    for got, wanted in {**dict.fromkeys(is_open), **violates}.items():
        assert clause(question, rule, (x,), (got,)) == wanted, got


def test_an_error_violates_no_clause() -> None:
    assert clause(("encode", "int8"), "N15", (f32(-2),), None) is None


# --- the first word that differs ------------------------------------------------------------------


TABLE = tomllib.loads((Path(__file__).parent / "data" / "differences.toml").read_text("utf-8"))


@pytest.mark.parametrize("answer", TABLE["answer"])
def test_the_first_word_that_differs(answer: dict[str, Any]) -> None:
    inputs, want, got = (tuple(answer[name]) for name in ("inputs", "want", "got"))
    case = Case("id", inputs, (want,), (), "required", "MX-6.3", "", ())
    file = without_cases(answer["op"], "mxfp4_e2m1", "f32")
    assert difference(file, Failure(0, case, want, got)) == answer["text"]
