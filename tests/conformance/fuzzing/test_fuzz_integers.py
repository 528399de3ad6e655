"""Fuzzing of integer operations: what is planted is found, and shrunk to the simplest case."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import drawn
from numpy.typing import NDArray

from mxref import integer
from mxref.cli import main
from mxref.conformance import target_of
from mxref.conformance.fuzzing.fuzz import Counterexample, FuzzRow, fuzz
from mxref.operands.word_rows import padded, stripped
from mxref.operations.registry import CALL_OPERATIONS
from mxref.strategies import integer_cases
from mxref.targets.command import CommandTarget
from mxref.targets.loading import load_target

Array = NDArray[Any]


def rows_of(format: str, examples: int = 60, **functions: Callable[..., Any]) -> list[FuzzRow]:
    target = target_of(SimpleNamespace(**functions), "kernel")
    return list(fuzz(target, formats=[format], examples=examples))


def found(format: str, examples: int = 60, **functions: Callable[..., Any]) -> Counterexample:
    (row,) = rows_of(format, examples, **functions)
    assert row.found is not None
    return row.found


def quantize(x: Any, scale: Any, zero: Any, low: int, high: int, dtype: Any, axis: Any) -> Array:
    return integer.quantize_affine(
        x,
        integer.QParams(scale, zero, low, high, dtype, axis),
        scaling="divide",
        nan="lowest",
    )


@pytest.mark.sampled(6)
def test_a_code_that_is_wrong() -> None:
    def wrong(x: Any, scale: Any, zero: Any, *rest: Any) -> Array:
        codes = quantize(x, scale, zero, *rest)
        return codes ^ ((codes == 77) & (zero > 5))

    one = found("uint8", 30, quantize_affine=wrong)
    (row,) = one.inputs
    low, high, scale, zero, value = stripped(row)
    assert (low, high, scale) == (0, 255, 0x3F800000)
    x = np.uint32(value).view(np.float32)
    assert x == 77 - zero
    assert one.file.columns == ("scaling=divide+nan=zero",)  # of uint8, nan=lowest is 0, too
    assert "want 4d = 77, got 4c = 76" in one.text


def test_a_size_and_a_place() -> None:
    def wrong(w: Any) -> Array:
        packed = integer.pack_int4(w)
        if w.shape[1] % 2 and w.shape[1] > 9:
            packed[:, -1] |= 1
        return packed

    one = found("int4", pack_int4=wrong)
    assert stripped(one.inputs[0]) in [(1, k, *[0] * k) for k in (11, 13, 15)]
    assert one.text == f"element {one.inputs[0][1] // 2}: want 88 = 136, got 89 = 137"


def test_a_shift() -> None:
    def wrong(q: Any, m: Any, s: Any, zero: int, out: int, dtype: Any, bits: int) -> Array:
        right = integer.rescale(q, m, s, zero, out, dtype=dtype, bits=bits)
        return np.asarray(right ^ ((s > 40) & (q == 5)), dtype)

    one = found("int16-int8", rescale=wrong)
    words = stripped(one.inputs[0])
    assert (words[:4], words[5]) == ((0, 0, 1, 1 << 30), 5)
    assert words[4] > 40


def backwards(x: Any, packed: Any, scales: Any) -> Array:
    """Float32 sums from the last column to the first, of codes whose low nibble is first."""
    codes = integer.unpack_int4(packed, x.shape[1], "low_first")
    turned = scales.reshape(len(packed), -1)[:, ::-1]
    return integer.linear_qcs8w(x[:, ::-1], codes[:, ::-1], turned, "dequantize")


@pytest.mark.sampled(0)
def test_sums_in_another_order_are_right() -> None:
    for format in ("int4", "int4_groups"):
        (row,) = rows_of(format, 25, linear_qcs4w=backwards)
        assert (row.found, row.policy) == (None, "nibbles=low_first")


@pytest.mark.sampled(0)
def test_an_output_of_a_layer() -> None:
    def wrong(x: Any, packed: Any, scales: Any) -> Array:
        result = backwards(x, packed, scales)
        result[:, 16:] += 1
        return result

    one = found("int4", linear_qcs4w=wrong)
    words = stripped(one.inputs[0])
    assert words[:4] == (1, 17, 1, 1)
    assert set(words[21:]) <= {0x88, 0}
    assert one.text.startswith("row 0, column 16: want ")


@pytest.mark.sampled(3)
def test_a_code_of_a_group() -> None:
    def wrong(x: Any, w: Any, scales: Any) -> Array:
        return integer.linear_qcs8w(x, np.where(w == 100, 99, w), scales)

    one = found("int8_groups", 60, linear_qcs8w=wrong)
    assert stripped(one.inputs[0])[:4] == (1, 1, 1, 1)
    assert stripped(one.inputs[0])[5] == 100


@pytest.mark.sampled(6)
def test_a_right_target_and_its_policy() -> None:
    (row,) = rows_of("int8_axis", quantize_affine=quantize)
    assert (row.found, row.policy) == (None, "scaling=divide")


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ("None", "the result must be int8, got object"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("np.zeros((1, 1), np.float64)", "the result must be int8, got float64"),
        ("np.zeros(7, np.int8)", "the result must have shape"),
    ],
)
def test_answers_that_are_none(returned: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(f"import numpy as np\ndef unpack_int4(packed, k):\n    return {returned}\n")
    target = load_target(str(path))
    (row,) = fuzz(target, ops=["unpack_int4"], examples=3)
    assert row.found is not None
    assert said in row.found.text
    done = subprocess.run([sys.executable, "-c", row.found.code], capture_output=True, text=True)
    if "/" in returned:
        assert "ZeroDivisionError" in done.stderr
    else:
        assert done.stdout.startswith("want 00\ngot  ")


@pytest.mark.parametrize("op", CALL_OPERATIONS)
@pytest.mark.sampled(6)
def test_every_drawn_case_has_an_answer_and_smaller_ones(op: str) -> None:
    for format in CALL_OPERATIONS[op].formats:
        policy = CALL_OPERATIONS[op].first_policy(format)
        for words in drawn(integer_cases(op, format), 8):
            answer = CALL_OPERATIONS[op].answer(format, words, policy)
            assert len(answer) == np.prod(CALL_OPERATIONS[op].call(format, words).shape)
            for smaller in CALL_OPERATIONS[op].smaller_rows(format, padded([words])[0])[:20]:
                CALL_OPERATIONS[op].answer(format, stripped(smaller), policy)


#: For cases of one number, of several, and of layers, what is simpler; words in hexadecimal.
SIMPLER = [
    # 40 by a scale of 0.5 is 80: the same number of units under a scale of 1.
    ("quantize_affine", "uint8", "0 ff 3f000000 5 42200000", "0 ff 3f800000 5 42a00000"),
    # Four values along an axis of two scales: each alone, with its own scale and zero point.
    *(
        (
            "quantize_affine",
            "int8_axis",
            "ffffff80 7f 0 2 2 2 1 3f000000 3f800000 0 3 3f800000 40000000 40400000 40800000",
            f"ffffff80 7f 0 1 1 1 1 {scale} {value}",
        )
        for scale, value in (
            ("3f000000 0", "3f800000"),
            ("3f000000 0", "40000000"),
            ("3f800000 3", "40400000"),
            ("3f800000 3", "40800000"),
        )
    ),
    # Bytes of two codes, whose zero is 8: both zero, the second, the first.
    *(
        (
            "linear_qcs4w",
            "int4",
            "1 1 2 1 3f000000 9a 3f800000 40000000",
            f"1 1 2 1 3f000000 {byte} 3f800000 40000000",
        )
        for byte in ("88", "98", "8a")
    ),
    # A code of a byte: 0, and half of it.
    ("linear_qcs8w", "int8", "1 1 1 1 3f800000 4 3f800000", "1 1 1 1 3f800000 0 3f800000"),
    ("linear_qcs8w", "int8", "1 1 1 1 3f800000 4 3f800000", "1 1 1 1 3f800000 2 3f800000"),
]


@pytest.mark.parametrize(("op", "format", "case", "simpler"), SIMPLER)
def test_what_is_simpler_is_tried(op: str, format: str, case: str, simpler: str) -> None:
    row, one = (tuple(int(word, 16) for word in words.split()) for words in (case, simpler))
    assert one in [
        stripped(tried) for tried in CALL_OPERATIONS[op].smaller_rows(format, padded([row])[0])
    ]


#: A program that packs codes, wrongly in rows of more than 30.
PROGRAM = """\
import sys
for line in sys.stdin:
    if line.startswith("#"):
        continue
    id, op, *_, = line.split()
    if op != "pack_int4":
        print(id, "unsupported", flush=True)
        continue
    rows, k, *codes = (int(word, 16) for word in line.split()[4:])
    found = []
    for row in range(rows):
        line = [code + 8 & 15 for code in codes[row * k : row * k + k]] + [8]
        found += [a << 4 | b ^ (k > 30) for a, b in zip(line[0:k:2], line[1::2])]
    print(id, *(f"{byte:02x}" for byte in found), flush=True)
"""


def test_a_program_is_asked_about_integers(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    with CommandTarget(f"{sys.executable} {path}") as target:
        assert target.covers("pack_int4", "int4", "bytes")
        (row,) = fuzz(target, ops=["pack_int4"], examples=40)
    assert row.found is not None
    assert row.found.inputs[0][1] > 30


def test_formats_of_integers_are_typed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gen", "rescale", "int32-int16"]) == 0
    assert main(["gen", "pack_int4", "int4"]) == 0
    assert "pack_int4 int4 bytes" in capsys.readouterr().out
    assert main(["gen", "pack_int4", "int5"]) == 2
