"""Files of formats beside those of MX that are made when they are asked for: against `exact`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers import SOURCES, VECTORS

from mxref import exact, profile
from mxref.bits.floats import LAYOUTS
from mxref.cases.grid import has_grid
from mxref.cases.records import VectorFile
from mxref.cli import main
from mxref.conformance import target_of, verify
from mxref.formats.catalog import OTHER_CODE_FORMATS
from mxref.golden.float_scaled_cases import float_scaled_files
from mxref.golden.made_files import made_files
from mxref.policy.policy import Policy
from mxref.targets.asked_files import read_for
from mxref.targets.profile_target import speaks_of
from mxref.targets.target import PythonTarget

NAMES = list(OTHER_CODE_FORMATS)
FLOATS = ("f32", "bf16", "f16", "f64")
STORED = ("e4m3fnuz", "e5m2fnuz", "e4m3b11fnuz")
ENCODED = [
    f"encode/{name}.{float}"
    for name in NAMES
    for float in FLOATS
    if float != "f32" or name not in STORED
]
DECODED = [f"decode/{name}.f32" for name in NAMES if name not in STORED]
ROUNDINGS = ("ties_to_even", "ties_to_away", "toward_zero", "toward_positive", "to_odd")
BY_DTYPE = {np.dtype(dtype): float for float, dtype in SOURCES.items()}


def test_every_format_that_a_target_may_name_has_files() -> None:
    assert set(made_files()) == {*ENCODED, *DECODED, *float_scaled_files()}


@pytest.mark.sampled(7)
@pytest.mark.parametrize("float", FLOATS)
@pytest.mark.parametrize("format", NAMES)
def test_both_sides_of_every_threshold_are_inputs(format: str, float: str) -> None:
    """Of made files, and of those of FNUZ formats that are stored."""
    file = made_file(format, float)
    fmt, layout = OTHER_CODE_FORMATS[format], LAYOUTS[float]
    assert fmt.nan_code is None or file.columns[:2] == ("ocp", "ocp+overflow=nonsaturating")
    inputs = [case.inputs[0] for case in file.cases]
    positive = {bits for bits in inputs if bits < layout.sign_bit}
    # Of formats with a sign it comes in turn.
    magnitudes = {bits % layout.sign_bit for bits in inputs} if fmt.signed else positive
    numbers = sorted(bits for bits in magnitudes if bits <= layout.inf_bits)
    assert numbers[0] == 0
    assert numbers[-1] == layout.inf_bits
    has_nan = fmt.nan_code is not None
    for overflow in ("saturate", "nonsaturating"):
        for rounding in ROUNDINGS:
            code = exact.encoder(file.float, file.format, rounding, overflow)
            codes = [code(bits, 0, 0) for bits in numbers]
            pairs = zip(numbers, codes, strict=True)
            last, before = next(pairs)
            for bits, now in pairs:  # codes rise: between two equal ones is no step
                assert now == before or bits == last + 1, (rounding, hex(bits))
                last, before = bits, now
            if rounding == "ties_to_even" and has_grid(fmt, layout):
                special = overflow == "nonsaturating" and has_nan
                assert len(set(codes)) == fmt.max_code + 1 + special
    if not fmt.signed:
        assert len(positive) > 0.8 * len(inputs)


class Table:
    """A target that looks its answers up in those of `exact`, but for wrong ones by input."""

    def __init__(self, format: str) -> None:
        self.FORMATS = [format]
        self.wrong: dict[tuple[str, int], int] = {}

    def encode(self, values: np.ndarray[Any, Any], format: str) -> np.ndarray[Any, Any]:
        float = BY_DTYPE[values.dtype]
        bits = values.view(f"u{values.itemsize}").tolist()
        return np.array([self.wrong.get((float, b), right(float, format)(b)) for b in bits], "u1")

    def decode(self, codes: np.ndarray[Any, Any], format: str) -> np.ndarray[Any, Any]:
        words = [self.wrong.get(("", c), exact.decode(c, format)) for c in codes.tolist()]
        return np.array(words, np.uint32).view(np.float32)


@cache
def right(float: str, format: str) -> Callable[[int], int]:
    code = exact.encoder(float, format)
    return cache(lambda bits: code(bits, 0, 0))


def files_for(target: PythonTarget, format: str) -> list[VectorFile]:
    return read_for(VECTORS, target, Policy(), only=lambda op, name, float: name == format)


def failing(table: Table, format: str) -> set[str]:
    """Ids of the cases in which a target is wrong."""
    target = target_of(table, "table")
    report = verify(target, files_for(target, format))
    return {failure.case.id for _, failure in report.failures}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("format", NAMES)
def test_one_wrong_answer_fails_and_none_passes(format: str) -> None:
    fmt, table = OTHER_CODE_FORMATS[format], Table(format)
    assert failing(table, format) == set()
    nan = fmt.nan_code
    for float in FLOATS:
        layout = LAYOUTS[float]
        negative_zero, digits = layout.sign_bit, layout.width // 4
        of_zero = right(float, format)(negative_zero)
        zeros = {0: 1, negative_zero: 0 if of_zero else 1 if nan is None else nan}
        of_nan = right(float, format)(layout.nan_bits)
        changed = {**zeros, layout.nan_bits: 0 if of_nan == fmt.max_code else fmt.max_code}
        # At a threshold in the middle of the format: the code below.
        k = fmt.max_code // 2 + 1
        points = sorted(case.inputs[0] for case in made_file(format, float).cases)
        at = [bits for bits in points if right(float, format)(bits) in (k, k | fmt.sign_bit)]
        changed[at[0]] = right(float, format)(at[0]) - 1
        table.wrong = {(float, bits): code for bits, code in changed.items()}
        wanted = {f"encode.{format}.{float}.{bits:0{digits}x}" for bits in changed}
        assert len(wanted) == 4
        assert failing(table, format) == wanted
    table.wrong = {("", 0): 0x7FC00000, ("", k): exact.decode(k, format) + 1}
    if nan is not None:
        table.wrong["", nan] = 0
    assert failing(table, format) == {f"decode.{format}.f32.{c:02x}" for _, c in table.wrong}


def made_file(format: str, float: str) -> VectorFile:
    files = files_for(target_of(Table(format), "table"), format)
    (file,) = (file for file in files if file.stem == f"encode/{format}.{float}")
    return file


@pytest.mark.parametrize("format", ["e3m4", "e4m3_ieee", *STORED])
def test_casts_of_ml_dtypes_give_the_column_that_does_not_saturate(format: str) -> None:
    fmt = OTHER_CODE_FORMATS[format]
    dtype = getattr(ml_dtypes, fmt.dtype_name or "")
    for float, source in SOURCES.items():
        file = made_file(format, float)
        bits = file.input_words()[:, 0].astype(f"u{LAYOUTS[float].width // 8}")
        with np.errstate(invalid="ignore", over="ignore"):
            theirs = bits.view(source).astype(dtype).view(np.uint8).tolist()
        ours = file.outputs(1)[:, 0].tolist()
        if float == "f64":  # which ml_dtypes rounds to float32 first
            choices = {"overflow": "nonsaturating", "pre_rounding": "float32"}
            code = exact.encoder(float, format, **choices)
            ours = [code(word, 0, 0) for word in bits.tolist()]
        pairs = zip(bits.tolist(), theirs, ours, strict=True)
        # NaN is one class.
        differ = [b for b, t, o in pairs if t != o and not (fmt.is_nan(t) and fmt.is_nan(o))]
        assert differ == [], float
        # The profile gives the bits of NaN, too.
        assert profile("ml_dtypes").encode(bits.view(source), format).tolist() == theirs
        assert speaks_of(profile("ml_dtypes"), "encode", format, float)
    every = np.arange(256, dtype=np.uint8)
    numbers = every.view(dtype).astype(np.float32)
    wanted = np.array([exact.decode(code, format) for code in range(256)], np.uint32)
    assert np.array_equal(numbers, wanted.view(np.float32), equal_nan=True)


def test_who_names_no_format_is_asked_none_of_them() -> None:
    target = target_of(SimpleNamespace(encode=lambda x, f: x), "any")
    read = read_for(VECTORS, target, Policy(), only=lambda *_: False)
    assert not {file.stem for file in read} & set(made_files())
    read = read_for(VECTORS, target, Policy(), only=lambda *_: False, formats=["e3m4"])
    asked = [file for file in read if file.format == "e3m4"]
    assert [len(file.cases) for file in asked] == [0] * 5


def test_questions_in_a_pipe_and_in_a_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["gen", "decode", "e1m2"]) == 0
    questions = capsys.readouterr().out.splitlines()[1:]
    assert questions[9] == "decode.e1m2.f32.09 decode e1m2 f32 09"
    folder = tmp_path / "answers"
    assert main(["prompts", str(folder), "--format", "e1m2"]) == 0
    assert "5 files" in capsys.readouterr().out
    for path in folder.iterdir():
        answers = []
        for line in path.read_text().splitlines()[1:]:
            id, op, format, float, word = line.split()
            code = int(word, 16)
            out = exact.decode(code, format) if op == "decode" else right(float, format)(code)
            answers.append(f"{id} {out:x}\n")
        path.write_text("".join(answers))
    few = ["verify", "--results", str(folder), "--op", "decode", "--float", "f32"]
    assert main(few) == 0
    assert "16 cases, 0 failed: conforms" in capsys.readouterr().out
    one = folder / "decode.e1m2.f32.txt"
    one.write_text(one.read_text().replace("f32.09 be800000", "f32.09 be800001"))
    assert main(few) == 1
    assert "16 cases, 1 failed" in capsys.readouterr().out
    assert main(["explain", "decode.e1m2.f32.09"]) == 0
    assert "be800000" in capsys.readouterr().out
