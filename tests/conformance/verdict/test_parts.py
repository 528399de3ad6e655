"""Parts put together right give what the slow twin gives; orders of codes are orders."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from kernel_reports import file_of
from tables import rows

from mxref.cases.answers import exact_answers
from mxref.conformance.verdict.cause import parts
from mxref.conformance.verdict.cause.evidence import Questions, Words
from mxref.conformance.verdict.cause.orders import ORDERS, REORDERED, CodeOrder, reordered
from mxref.conformance.verdict.cause.suspects import suspects
from mxref.formats.catalog import BLOCK_FORMATS
from mxref.operands.word_rows import padded
from mxref.policy.policy import Policy


def answered(questions: Questions, policy: Policy) -> Words:
    """The part's own right answers, from the slow twin."""
    file = questions.file
    rows = [tuple(row.tolist()) for row in questions.inputs]
    return padded(exact_answers(file.op, file.format, file.float, rows, policy))


@functools.cache
def asked(stem: str) -> Questions:
    file = file_of(stem)
    return Questions(file, file.input_words())


def wanted(stem: str, policy: Policy) -> Words:
    questions = asked(stem)
    file = questions.file
    inputs = [case.inputs for case in file.cases]
    return padded(exact_answers(file.op, file.format, file.float, inputs, policy))


BEFORE = "ocp+scale_place=before"
WHOLES = [
    (stem.replace("*", name), *more)
    for stem, *more in rows("conformance/verdict", "parts")
    for name in (BLOCK_FORMATS if "*" in stem else [""])
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("stem", "whole", "policy"), WHOLES)
def test_right_parts_make_a_right_whole(stem: str, whole: str, policy: str) -> None:
    chosen = Policy.parse(policy)
    found, right = getattr(parts, whole)(answered)(asked(stem), chosen), wanted(stem, chosen)
    nan = (right[:, :1] == 0xFF) & stem.startswith("quantize/")  # codes there are not compared
    assert (np.where(nan, right, found) == right).all()


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: order.name)
def test_an_order_is_one(order: CodeOrder) -> None:
    for count in (0, 1, 5, 16, 31, 32, 33, 64, 100):
        for block in (16, 32):
            places = order.of(count, block)
            assert sorted(places.tolist()) == list(range(count))
            whole = count // block * block
            blocks = places[:whole].reshape(-1, block) // block
            assert (blocks == np.arange(whole // block)[:, np.newaxis]).all()  # none leaves its own


def test_orders_are_different() -> None:
    assert len({tuple(order.of(32).tolist()) for order in ORDERS}) == len(ORDERS)
    assert all(order.of(32).tolist() != list(range(32)) for order in ORDERS)


STEMS = {
    "quantize": "quantize/nvfp4.f32",
    "dequantize": "dequantize/mxfp4_e2m1.f32",
    "pack": "pack/e3m2.bytes",
    "unpack": "unpack/e2m1.low_nibble_first",
    "pack_blocks": "pack_blocks/mxfp6_e2m3.bytes",
    "unpack_blocks": "unpack_blocks/mxfp4_e2m1.bytes",
}


def exchanged(words: tuple[int, ...], first: int) -> list[int]:
    """Words with those after the first ones in exchanged pairs."""
    head, rest = list(words[:first]), list(words[first:])
    pairs = [rest[i : i + 2] for i in range(0, len(rest), 2)]
    return head + [word for pair in pairs for word in reversed(pair)]


@pytest.mark.parametrize("op", REORDERED)
def test_pairs_are_exchanged(op: str) -> None:
    questions, policy = asked(STEMS[op]), Policy.parse(BEFORE)
    file = questions.file
    side, first = REORDERED[op]
    inputs = [case.inputs for case in file.cases]
    if side == "in":
        inputs = [tuple(exchanged(words, first)) for words in inputs]
    right = exact_answers(file.op, file.format, file.float, inputs, policy)
    wanted = right if side == "in" else [exchanged(words, first) for words in right]
    found = reordered(ORDERS[0])(questions, policy)
    assert (found == padded(wanted)).all()
    assert (found != questions.answers(policy)).any()


@pytest.mark.parametrize(
    ("op", "format"),
    [("decode", "e5m2"), ("shared_scale", "e2m1"), ("pack", "e3m2"), ("quantize", "mxint8")],
)
def test_codes_in_another_order_are_suspected_where_they_lie_in_a_row(op: str, format: str) -> None:
    found = [one.name for some in suspects(op, format) for one in some if one.kind == "order"]
    assert found == ([order.name for order in ORDERS] if op in ("pack", "quantize") else [])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("format", BLOCK_FORMATS)
def test_only_bugs_of_calls_answer_otherwise_beside_other_blocks(format: str) -> None:
    """By which alone special blocks may be asked by themselves."""
    questions, policy = asked(f"quantize/{format}.f32"), Policy()
    few = np.arange(len(questions.inputs)) % 5 == 2
    compared = 0
    for one in (one for some in suspects("quantize", format) for one in some if not one.of_call):
        try:
            whole = one.answer(questions, policy)
        except ValueError:  # bugs that are made for other float types
            continue
        assert (one.answer(questions.part(few), policy) == whole[few]).all(), one.name
        compared += 1
    assert compared > 50
