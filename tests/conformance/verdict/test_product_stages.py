"""Products with two faults: each stage is named, or what is nearest, or where outputs are wrong."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers import vector_file
from numpy.typing import NDArray
from product_targets import E4M3, Product, limit_shapes, product_file, product_target
from staged_kernels import Stages, assert_stages, stages_of

import mxref
from mxref.conformance import Report, check, target_of
from mxref.conformance.checking.call_questions import ask
from mxref.conformance.checking.product_shapes import Product as Question
from mxref.conformance.checking.product_shapes import ProductSubject
from mxref.conformance.verdict.report_text import report_lines
from mxref.formats.catalog import BLOCK_FORMATS, block_format
from mxref.targets.product_function import ProductFunction

Array = NDArray[Any]
INT8 = "mxint8-mxint8"


@pytest.fixture(autouse=True)
def small_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products of many shapes have tests of their own: here small ones are asked."""
    limit_shapes(monkeypatch, 4000, 4)


def powers(codes: Array) -> Array:
    return np.where(codes == 255, np.nan, np.ldexp(1.0, codes.astype(int) - 127))


def as_it_is(numbers: Array, *_: object) -> Array:
    return numbers


def product(**other: Callable[..., Array]) -> Product:
    """Blocks one after the other, in float64 until the end, with some other stages."""

    def stage(name: str) -> Callable[..., Array]:
        return other.get(name, as_it_is)

    def matmul(sa: Array, ca: Array, sb: Array, cb: Array, fa: str, fb: str) -> Array:
        sides = []
        for name, scales, codes, fmt in (("a", sa, ca, fa), ("b", sb, cb, fb)):
            codes = stage(f"codes_{name}")(codes)
            numbers = mxref.decode(codes, BLOCK_FORMATS[fmt].element.name, np.float32)
            numbers = stage(f"numbers_{name}")(numbers.astype(float), codes)
            scales = other.get(f"powers_{name}", powers)(stage(f"scales_{name}")(scales))
            sides.append((numbers, scales))
        (x, s), (y, t) = sides
        total = np.zeros((len(x), len(y)))
        with np.errstate(all="ignore"):
            for block in range(s.shape[1]):
                if other.get("keep", lambda *_: True)(block, s.shape[1]):
                    some = slice(32 * block, 32 * block + 32)
                    scale = np.multiply.outer(s[:, block], t[:, block])
                    scale = stage("scale")(scale)
                    total = stage("sum")(total + x[:, some] @ y[:, some].T * scale)
            return stage("output")(total).astype(np.float32)

    return matmul


def next_row(scales: Array) -> Array:
    return np.roll(scales, -1, axis=0)


def hidden_one(numbers: Array, codes: Array) -> Array:
    """The subnormal codes of E4M3 as if they had a hidden one."""
    subnormal = (codes & 0x78 == 0) & (codes & 7 != 0)
    one = np.where(codes & 0x80, -1, 1) * (1 + (codes & 7) / 8) * 2.0**-7
    return np.where(subnormal, one, numbers)


def pairs_exchanged(codes: Array) -> Array:
    whole = np.pad(codes, ((0, 0), (0, codes.shape[1] % 2)))
    return whole.reshape(len(codes), -1, 2)[:, :, ::-1].reshape(whole.shape)[:, : codes.shape[1]]


def last_row(scales: Array) -> Array:
    return np.repeat(scales[-1:], len(scales), axis=0)


def narrow(total: Array) -> Array:
    return total.astype(ml_dtypes.bfloat16).astype(float)


def half(numbers: Array) -> Array:
    return numbers.astype(np.float16).astype(float)


def ends_at(most: float) -> Callable[[Array], Array]:
    return lambda codes: np.minimum(powers(codes), most)


def checked(matmul: Product, pair: str = E4M3) -> Report:
    return check(product_target(matmul, pair), [product_file(pair)])


#: The other stages of each kernel in the table of stages.
PAIRS: dict[str, dict[str, Callable[..., Array]]] = {
    "row and output": {"scales_a": next_row, "output": half},
    "codes and blocks": {"codes_b": pairs_exchanged, "keep": lambda block, blocks: block < 2},
    "scales and subnormal codes": {"powers_b": ends_at(2.0**16), "numbers_a": hidden_one},
    "both operands": {
        "scales_a": last_row,
        "powers_b": lambda codes: np.maximum(powers(codes), 2.0**-16),
    },
    "product of scales and sum": {"scale": half, "sum": narrow},
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("name", "said"), stages_of("products").items())
def test_both_stages_are_named(name: str, said: tuple[str, Stages]) -> None:
    pair, stages = said
    report = checked(product(**PAIRS[name]), pair)
    assert_stages(report, stages)
    (cause,) = report.rows[0].causes
    assert all(stage.wrong > 0 and not stage.left for stage in cause.stages)
    assert all(text in report.verdict for _, text in stages)
    assert not report.rows[0].description


#: How a kernel decodes scales, and what is said of the operands of which it does so.
FACTORS = {
    "multiply twice": lambda codes: powers(codes) ** 2,
    "are left out": lambda codes: np.where(codes == 255, np.nan, 1.0),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("text", FACTORS)
@pytest.mark.parametrize(
    ("sides", "where"),
    [("a", "the first operand"), ("b", "the second operand"), ("ab", "both operands")],
)
def test_scales_that_multiply_twice_or_not_at_all_are_named(
    text: str, sides: str, where: str
) -> None:
    report = checked(product(**{f"powers_{side}": FACTORS[text] for side in sides}))
    (cause,) = report.rows[0].causes
    assert cause.complete
    assert [stage.text for stage in cause.stages] == [f"the scales of {where} {text}"]


def test_a_chain_without_faults_is_right() -> None:
    assert checked(product()).passed


def test_a_narrow_sum_is_no_bug() -> None:
    """After each block; the clauses leave it open."""
    report = checked(product(sum=narrow), INT8)
    assert report.rows[0].causes == ()
    told = "the sum is rounded to bfloat16 after each block"
    assert report.verdict == f"outside every float32 accumulation; {told}"
    lines = [line for line in report_lines(report, 10) if line.startswith("NARROW SUMS ")]
    assert len(lines) == 1
    assert lines[0].endswith(f"; all are right if {told} (MX 6.1 leaves the precision open)")


def test_stages_that_other_calls_contradict_are_not_named() -> None:
    """Of three blocks the last is lost; the vectors have no other odd number but one."""
    report = checked(product(keep=lambda block, blocks: (block, blocks) != (2, 3)))
    assert not report.passed
    assert "whole group of 2" not in "\n".join(report_lines(report, 10))


def test_what_is_nearest_is_said_with_counts() -> None:
    """Sums from 2 to 8 are wrong as well, in a way that is no hypothesis."""

    def odd(total: Array) -> Array:
        return np.where((total > 2) & (total < 8), total + 1, total)

    report = checked(product(scales_b=next_row, output=odd), INT8)
    (cause,) = report.rows[0].causes
    assert not cause.complete
    assert "of the next row" in cause.text
    (stage,) = cause.stages
    assert 0 < stage.left < stage.wrong
    assert f"beside which {stage.left} of {stage.total} outputs are wrong" in report.verdict
    assert any(line.startswith("STAGES (") for line in report_lines(report, 10))


def test_outputs_that_nothing_gives_are_described_by_their_scales() -> None:
    right = product()

    def matmul(sa: Array, ca: Array, sb: Array, cb: Array, fa: str, fb: str) -> Array:
        large = (sb.astype(int) >= 0x90).any(axis=1)
        return np.where(large, 3 * right(sa, ca, sb, cb, fa, fb) + 1, right(sa, ca, sb, cb, fa, fb))

    told = checked(lambda *words: matmul(*words).astype(np.float32), INT8).rows[0].description
    assert told is not None
    found = re.search(
        r"asked, (\d+) of (\d+) where .*the least scale code of B is at least 9", told.text
    )
    assert found is not None
    assert 5 * int(found[1]) >= 4 * int(found[2])


@pytest.mark.parametrize(("lost", "said"), [(True, False), (False, True)])
def test_zeros_are_told_that_other_numbers_show_too(lost: bool, said: bool) -> None:
    """A lost block is 0 in a row of one element, and a row that is not written in every row."""
    last = product(keep=lambda block, blocks: block < blocks - 1)

    def matmul(*operands: Any) -> Array:
        whole = product()(*operands)
        return last(*operands) if lost else np.where(np.arange(len(whole)) % 2, 0, whole.T).T

    function = ProductFunction(matmul, takes_dtype=False)
    subject = ProductSubject("matmul", INT8, "f32", function, fails=True)
    reply = ask(matmul, Question(subject, (16, 3, 3)))
    assert reply.got is not None
    assert ("where every wrong output is 0" in reply.question.remarks(reply.got)) is said


#: Two faults in blocks of 16 of each kernel in the table of stages, which has what is said of them.
OF_16: dict[str, Callable[..., Any]] = {
    "scale and row": lambda a, b, s, t, p, q: (a, b, np.roll(s, -1, axis=0), t * 2, 1.0),
    "tensors and subnormals": lambda a, b, s, t, p, q: (a, b, np.where(s < 2.0**-6, 0, s), t, p),
    "lanes and tensors": lambda a, b, s, t, p, q: (a, exchanged(b), s, t, p * p * q * q),
    "a block": lambda a, b, s, t, p, q: (
        *(a, b, s[:, np.zeros(s.shape[1], int)]),
        *(np.minimum(t, 1), 1.0),
    ),
}


def exchanged(numbers: Array) -> Array:
    whole = np.pad(numbers, ((0, 0), (0, numbers.shape[1] % 2)))
    return whole.reshape(len(whole), -1, 2)[:, :, ::-1].reshape(whole.shape)


@pytest.mark.parametrize(("name", "said"), stages_of("blocks of 16").items())
def test_two_faults_in_blocks_of_16_are_named(name: str, said: tuple[str, Stages]) -> None:
    pair, stages = said

    def matmul(
        sa: Array, ca: Array, sb: Array, cb: Array, fa: str, fb: str, *,
        tensor_scale_a: float = 1, tensor_scale_b: float = 1,
    ) -> Array:  # fmt: skip
        sides, scales = [], []
        for codes, some, fmt in ((ca, sa, fa), (cb, sb, fb)):
            blocks = block_format(fmt)
            sides.append(mxref.decode(codes, "e2m1", np.float32).astype(float))
            scales.append(
                mxref.decode(some, blocks.scale.name, np.float32).astype(float)
                if blocks.scale.name != "e8m0"
                else powers(some)
            )
        with np.errstate(all="ignore"):
            tensors = float(tensor_scale_a), float(tensor_scale_b)
            x, y, s, t, by = OF_16[name](*sides, *scales, *tensors)
            wide = [
                numbers * np.repeat(one, 16, axis=1)[:, : numbers.shape[1]]
                for numbers, one in (
                    (np.pad(x, ((0, 0), (0, -x.shape[1] % 16))), s),
                    (np.pad(y, ((0, 0), (0, -y.shape[1] % 16))), t),
                )
            ]
            return (wide[0] @ wide[1].T * by).astype(np.float32)

    kernel = SimpleNamespace(matmul=matmul, FORMATS=[pair.split("-")[0]])
    report = check(target_of(kernel, "kernel"), [vector_file(f"matmul/{pair}.f32")])
    assert_stages(report, stages)
    assert len(report.rows[0].causes) == 1
