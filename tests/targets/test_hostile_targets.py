"""Targets that misbehave or replace names: told in words, and never taken for an answer."""

from __future__ import annotations

import asyncio
import builtins
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import VECTORS, table, vector_file
from right_calls import quantized

import mxref
from mxref.cli import main
from mxref.conformance import Report, TargetError, load_target, read_results, target_of, verify
from mxref.conformance.checking.check import Extent, check
from mxref.support.interruption import TerminationError
from mxref.support.own_names import names_kept
from mxref.support.text import one_line

Capture, Patch = pytest.CaptureFixture[str], pytest.MonkeyPatch


STEM = "encode/e2m1.f16"
Encode = Callable[[Any, str], Any]


def target_that(encode: Encode, **others: Any) -> SimpleNamespace:
    """A target that has `encode` to E2M1 from float16 only."""
    return SimpleNamespace(**{"encode": encode, "FORMATS": ("e2m1",), "FLOATS": ("f16",), **others})


def verified(encode: Encode) -> Report:
    return verify(target_of(target_that(encode), "target"), [vector_file(STEM)])


class PanicException(BaseException):
    """What pyo3 raises where Rust panics."""


class OwnError(BaseException):
    """A class of a target's own."""


@pytest.mark.parametrize("kind", [PanicException, OwnError, GeneratorExit, SystemExit])
def test_an_exception_of_any_class_fails_the_cases_that_it_hits(kind: type[BaseException]) -> None:
    def encode(values: Any, format: str) -> Any:
        if np.isnan(values).any():
            raise kind("index out of bounds")
        return mxref.encode(values, format)

    report = verified(encode)
    cases = vector_file(STEM).cases
    nans = {case.id for case in cases if case.inputs[0] & 0x7FFF > 0x7C00}
    assert {failure.case.id for _, failure in report.failures} == nans
    assert all(f"{kind.__name__}: index" in failure.error for _, failure in report.failures)


@pytest.mark.parametrize(
    "kind",
    [
        *(KeyboardInterrupt, TerminationError, asyncio.CancelledError),
        *(pytest.fail.Exception, pytest.skip.Exception, pytest.exit.Exception),
    ],
)
def test_an_interruption_is_no_fault_of_the_target(kind: type[BaseException]) -> None:
    calls = []

    def encode(values: Any, format: str) -> Any:
        calls.append(values)
        raise kind("15")

    with pytest.raises(kind, match="15"):
        verified(encode)
    assert len(calls) == 1


@pytest.mark.parametrize("kind", [SystemExit, GeneratorExit, OwnError])
def test_an_error_whose_text_exits(kind: type[BaseException]) -> None:
    class UnreadableError(Exception):
        def __str__(self) -> str:
            raise kind

    def encode(values: Any, format: str) -> Any:
        raise UnreadableError

    report = verified(encode)
    assert report.verdict.startswith("fails with errors: UnreadableError: (no text) (")
    assert len(report.failures) == len(vector_file(STEM).cases)


def test_inputs_may_be_given_another_type_and_shape_but_not_answers() -> None:
    def retyped(values: Any, format: str) -> Any:
        codes = mxref.encode(values, format)
        values.dtype = np.uint8  # twice as many
        return codes

    def reshaped(values: Any, format: str) -> Any:
        values.shape = (-1, 2)
        return mxref.encode(values, format)

    assert verified(retyped).passed
    failures, count = verified(reshaped).failures, len(vector_file(STEM).cases)
    assert len(failures) == count
    wanted = f"the result must have shape ({count},), got ({count // 2}, 2)"
    assert failures[0][1].error == wanted


GETS = "def __getattr__(name): raise {}('no torch here')\n"
SILENT = table("kernels")["silent"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        *((GETS.format(kind), f"cannot be read: {kind}: no torch here$")
          for kind in ("ImportError", "GeneratorExit", "SystemExit")),
        (SILENT, r"cannot be imported: Silent: \(no text\)$"),
        ("import mxref_broken", r"in line 3 of .*mxref_broken\.py: "),
        ("x = 1\0\n", r"kernel\.py has a syntax error: "),
    ],
)  # fmt: skip
def test_a_module_that_cannot_be_looked_at(
    text: str, said: str, tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "mxref_broken.py").write_text("x = 1\n\ndef f(:\n")
    (tmp_path / "kernel.py").write_text(text)
    for mode in ("", ":MODE"):
        with pytest.raises(TargetError, match=said):
            load_target(str(tmp_path / f"kernel.py{mode}"))


def test_a_pipe_in_a_folder_of_results_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "encode.e2m1.f16.txt")  # whose reading would wait for ever
    with pytest.raises(TargetError, match="must be a regular file, it is a device, a pipe"):
        read_results(tmp_path, [vector_file(STEM)], [STEM])


def test_a_closed_standard_input(monkeypatch: Patch, capsys: Capture) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["check", "encode", "e2m1", "--float", "f16", "--vectors", str(VECTORS)]) == 2
    error = "mxref: error: standard input must be open: the answers come from there\n"
    assert capsys.readouterr() == ("", error)


def test_the_name_of_an_error_is_printable_and_its_text_is_cut() -> None:
    kind = type("PASS\n\x1b[2J", (Exception,), {})

    def encode(values: Any, format: str) -> Any:
        raise kind("x" * 10**7)

    (error,) = {failure.error for _, failure in verified(encode).failures}
    assert error.startswith("PASS \\x1b[2J: xxx")
    assert (error.isprintable(), len(error) < 300) == (True, True)


def test_a_long_text_is_not_read_to_its_end() -> None:
    read = []

    class Long(str):
        def __getattribute__(self, name: str) -> Any:
            raise AssertionError(f"{name} takes all of it")

        __iter__ = __str__ = __repr__ = __len__ = None  # type: ignore[assignment]

        def __getitem__(self, key: Any) -> str:
            read.append(str.__getitem__(self, key))
            return read[-1]

    assert len(one_line(Long("x y\n" * 10**6))) == 203
    assert sum(map(len, read)) <= 2000


class Liar(list[str]):
    """A list that cannot be read or shown."""

    def __iter__(self) -> Any:
        raise RuntimeError("lost")


@pytest.mark.parametrize(
    ("claim", "value", "sentence"),
    [
        ("THREADS", "yes", "THREADS must be True or False, got 'yes'"),
        ("THREADS", None, "THREADS must be True or False, got None"),
        ("FORMATS", Liar(), "cannot be read: RuntimeError: lost"),
        ("FORMATS", "x" * 10**6, "FORMATS, got 'xxx"),
        ("FORMATS", ["x" * 10**6], "got 'xxx"),
    ],
)
def test_a_claim_that_is_none_is_told_in_a_short_sentence(
    claim: str, value: object, sentence: str
) -> None:
    with pytest.raises(TargetError) as caught:
        target_of(target_that(mxref.encode, **{claim: value}), "kernel")
    assert sentence in str(caught.value)
    assert len(str(caught.value)) < 800


def in_lists(values: Any, format: str) -> Any:
    """Answers in lists, which of an empty call have neither type nor shape."""
    return mxref.encode(values, format).tolist()


def blocks_in_lists(values: Any, format: str) -> Any:
    scales, codes = quantized(values, format)
    return scales.tolist(), codes.tolist()


def test_an_empty_call_says_nothing_of_lists_and_of_what_always_fails() -> None:
    def verdict(encode: Encode, **others: Any) -> str:
        target = target_of(target_that(encode, FORMATS=("e2m1", "mxfp4_e2m1"), **others), "target")
        files = [vector_file(STEM), vector_file("quantize/mxfp4_e2m1.f16")]
        return check(target, files, extent=Extent(elements=1100, search=False)).verdict

    assert verdict(in_lists, quantize=blocks_in_lists) == "conforms"
    no_codes = lambda values, format: mxref.encode(values, format) * 1.0  # noqa: E731
    assert verdict(no_codes) == "fails with errors: codes must come back as integers, got float64"


# --- replaced names -------------------------------------------------------------------------------


#: Hides what is printed, calls every comparison equal, and takes away the last name of NumPy.
REPLACES = (
    "(setattr(builtins, 'print', lambda *_: None), setattr(np, 'all', lambda *_: True), "
    "setattr(np, 'flatnonzero', lambda _: []), delattr(np, list(vars(np))[-1]))"
)
#: Where it does so: each of these words of the target is replaced.
PLACES = ["IMPORT", "READ", "CALL", "RESULT"]
TEXT = table("kernels")["replaces_names"]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("verb", ["verify", "identify"])
@pytest.mark.parametrize("status", [0, 1])
def test_a_target_cannot_change_a_verdict(
    status: int, verb: str, place: str, tmp_path: Path, monkeypatch: Patch, capsys: Capture
) -> None:
    text = TEXT.replace("WRONG", "* 3" * status)
    for word in PLACES:
        text = text.replace(word, REPLACES if word == place else "None")
    path = tmp_path / "kernel.py"
    path.write_text(text)
    for name in ("all", "flatnonzero"):
        monkeypatch.setattr(np, name, getattr(np, name))
    monkeypatch.setattr(builtins, "print", print)
    before = vars(np).copy()
    more = ["--sizes", "0", "--no-search"] if verb == "verify" else []
    assert main([verb, str(path), "--op", "decode", "--format", "e2m1", *more]) == status
    assert str(path) in capsys.readouterr().out
    assert all(getattr(np, name) is own for name, own in before.items())


def test_names_that_a_block_adds_stay() -> None:
    def fail() -> None:
        vars(np).update(add=7, added=5)
        raise RuntimeError

    with pytest.raises(RuntimeError), names_kept():
        fail()
    assert vars(np).pop("added") == 5
    assert np.add(2, 3) == 5
