"""Targets that misbehave: what they do is told in words, and never taken for an answer."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import VECTORS

import mxref
from mxref import golden
from mxref.cli import main
from mxref.conformance import Report, TargetError, load_target, read_results, target_of, verify
from mxref.conformance.checking.check import Extent, check
from mxref.support.interruption import TerminationError
from mxref.support.text import one_line

Capture, Patch = pytest.CaptureFixture[str], pytest.MonkeyPatch


class Encoder:
    """A target that has `encode` only, and does it right unless a subclass does otherwise."""

    FORMATS = ("e2m1",)
    FLOATS = ("f16",)

    def encode(self, values: Any, format: str) -> Any:
        return mxref.encode(values, format)


def verified(target: object) -> Report:
    files = golden.read_vectors(VECTORS, lambda stem: stem == "encode/e2m1.f16")
    return verify(target_of(target, "target"), files)


class PanicException(BaseException):
    """What pyo3 raises where Rust panics."""


class OwnError(BaseException):
    """A class of a target's own."""


@pytest.mark.parametrize("kind", [PanicException, OwnError, GeneratorExit, SystemExit])
def test_an_exception_of_any_class_fails_the_cases_that_it_hits(kind: type[BaseException]) -> None:
    class Panics(Encoder):
        def encode(self, values: Any, format: str) -> Any:
            if np.isnan(values).any():
                raise kind("index out of bounds")
            return super().encode(values, format)

    report = verified(Panics())
    nans = {id for id in ids() if int(id.rpartition(".")[2], 16) & 0x7FFF > 0x7C00}
    assert {failure.case.id for _, failure in report.failures} == nans
    assert all(f"{kind.__name__}: index" in failure.error for _, failure in report.failures)


def ids() -> list[str]:
    (file,) = golden.read_vectors(VECTORS, lambda stem: stem == "encode/e2m1.f16")
    return [case.id for case in file.cases]


INTERRUPTIONS = [
    *(KeyboardInterrupt, TerminationError, asyncio.CancelledError),
    *(pytest.fail.Exception, pytest.skip.Exception, pytest.exit.Exception),
]


@pytest.mark.parametrize("kind", INTERRUPTIONS)
def test_an_interruption_is_no_fault_of_the_target(kind: type[BaseException]) -> None:
    class Interrupted(Encoder):
        calls = 0

        def encode(self, values: Any, format: str) -> Any:
            self.calls += 1
            raise kind("15")

    target = Interrupted()
    with pytest.raises(kind, match="15"):
        verified(target)
    assert target.calls == 1


@pytest.mark.parametrize("kind", [SystemExit, GeneratorExit, OwnError])
def test_an_error_whose_text_exits(kind: type[BaseException]) -> None:
    class UnreadableError(Exception):
        def __str__(self) -> str:
            raise kind

    class Fails(Encoder):
        def encode(self, values: Any, format: str) -> Any:
            raise UnreadableError

    report = verified(Fails())
    assert (report.verdict, len(report.failures)) == ("fails with errors", len(ids()))


def test_inputs_may_be_given_another_shape() -> None:
    class Reshapes(Encoder):
        def encode(self, values: Any, format: str) -> Any:
            codes = super().encode(values, format)
            values.dtype = np.uint8  # twice as many
            return codes

    assert verified(Reshapes()).passed


def test_answers_of_the_shape_that_the_inputs_were_given_are_refused() -> None:
    class Reshapes(Encoder):
        def encode(self, values: Any, format: str) -> Any:
            values.shape = (-1, 2)
            return super().encode(values, format)

    report = verified(Reshapes())
    assert len(report.failures) == len(ids())
    count = len(ids())
    wanted = f"the result must have shape ({count},), got ({count // 2}, 2)"
    assert report.failures[0][1].error == wanted


@pytest.mark.parametrize("kind", ["ImportError", "GeneratorExit", "SystemExit"])
@pytest.mark.parametrize("mode", ["", ":MODE"])
def test_a_module_that_raises_when_it_is_looked_at(tmp_path: Path, kind: str, mode: str) -> None:
    path = tmp_path / "lazy.py"
    path.write_text(f"def __getattr__(name): raise {kind}('no torch here')\n")
    with pytest.raises(TargetError, match=f"cannot be read: {kind}: no torch here"):
        load_target(f"{path}{mode}")


def test_a_module_whose_error_has_no_text(tmp_path: Path) -> None:
    path = tmp_path / "silent.py"
    path.write_text(
        "class Silent(BaseException):\n    def __str__(self): raise GeneratorExit\nraise Silent\n"
    )
    with pytest.raises(TargetError, match=r"cannot be imported: Silent: \(no text\)$"):
        load_target(str(path))


def test_a_syntax_error_in_what_a_target_imports(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "mxref_broken_neighbour.py").write_text("x = 1\n\ndef f(:\n")
    (tmp_path / "healthy.py").write_text("import mxref_broken_neighbour\n")
    with pytest.raises(TargetError, match=r"in line 3 of .*mxref_broken_neighbour\.py: "):
        load_target(str(tmp_path / "healthy.py"))


def test_a_pipe_in_a_folder_of_results_is_refused(tmp_path: Path) -> None:
    files = golden.read_vectors(VECTORS, lambda stem: stem == "encode/e2m1.f16")
    os.mkfifo(tmp_path / "encode.e2m1.f16.txt")  # whose reading would wait for ever
    with pytest.raises(TargetError, match="must be a regular file, it is a device, a pipe"):
        read_results(tmp_path, files, [file.stem for file in files])


def test_a_closed_standard_input(monkeypatch: Patch, capsys: Capture) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["check", "encode", "e2m1", "--float", "f16", "--vectors", str(VECTORS)]) == 2
    error = "mxref: error: standard input must be open: the answers come from there\n"
    assert capsys.readouterr() == ("", error)


def test_a_negative_number_of_kinds_to_show(tmp_path: Path, capsys: Capture) -> None:
    target = tmp_path / "target.py"
    target.write_text("from mxref import decode\n")
    options = ["--op", "decode", "--format", "e2m1", "--vectors", str(VECTORS)]
    assert main(["verify", str(target), *options, "--show", "-1"]) == 2
    error = "mxref: error: --show must be 0 or more, got -1\n"
    assert capsys.readouterr() == ("", error)


def test_the_name_of_an_error_is_printable_and_its_text_is_cut() -> None:
    kind = type("PASS\n\x1b[2J", (Exception,), {})

    class Raises(Encoder):
        def encode(self, values: Any, format: str) -> Any:
            raise kind("x" * 10**7)

    errors = {failure.error for _, failure in verified(Raises()).failures}
    (error,) = errors
    assert error.startswith("PASS \\x1b[2J: xxx")
    assert error.isprintable()
    assert len(error) < 300


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
    target = type("Claims", (Encoder,), {claim: value})()
    with pytest.raises(TargetError) as caught:
        target_of(target, "kernel")
    assert sentence in str(caught.value)
    assert len(str(caught.value)) < 800


def test_a_file_with_zero_bytes_names_no_line(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text("x = 1\0\n")
    with pytest.raises(TargetError, match=r"kernel\.py has a syntax error: "):
        load_target(str(path))


class Lists(Encoder):
    """Answers in lists, which of an empty call have neither type nor shape."""

    def encode(self, values: Any, format: str) -> Any:
        return super().encode(values, format).tolist()

    def quantize(self, values: Any, format: str) -> Any:
        blocks = mxref.quantize(values, format)
        return blocks.scale_codes[:, 0].tolist(), blocks.codes.tolist()


class Floats(Encoder):
    """Gives no codes."""

    def encode(self, values: Any, format: str) -> Any:
        return super().encode(values, format) * 1.0


@pytest.mark.parametrize(
    ("target", "verdict"), [(Lists, "conforms"), (Floats, "fails with errors")]
)
def test_an_empty_call_says_nothing_of_lists_and_of_what_always_fails(
    target: type[Encoder], verdict: str
) -> None:
    target = type(target.__name__, (target,), {"FORMATS": ("e2m1", "mxfp4_e2m1")})
    stems = ("encode/e2m1.f16", "quantize/mxfp4_e2m1.f16")
    files = golden.read_vectors(VECTORS, lambda stem: stem in stems)
    extent = Extent(elements=1100, search=False)
    assert check(target_of(target(), "target"), files, extent=extent).verdict == verdict
