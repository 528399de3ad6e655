"""What makes a target: modules, objects and claims, and how others are refused."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import ml_dtypes
import pytest
from json_tables import cases
from verify_helpers import ENCODE, RIGHT, Kit, assert_sentence, target_file

from mxref.conformance import TargetError, load_target, target_of, verify
from mxref.golden import VectorFile
from mxref.operations.product_words import PAIRS
from mxref.operations.registry import OPERATIONS
from mxref.profiles import profile
from mxref.targets.claims import claimed_names

BAD = tomllib.loads((Path(__file__).parent / "data" / "bad_targets.toml").read_text("utf-8"))
BAD_FILES = BAD["files"] | {ENCODE + claim: said for claim, said in BAD["claims"].items()}


@pytest.mark.parametrize(("text", "reason"), BAD_FILES.items(), ids=[*BAD["files"], *BAD["claims"]])
def test_a_target_that_cannot_be_used_is_refused_in_one_sentence(
    kit: Kit, text: str, reason: str
) -> None:
    spec = kit.target(text)
    with pytest.raises(TargetError, match=reason) as caught:
        load_target(spec)
    assert str(caught.value).startswith(f"target {spec}")
    assert_sentence(str(caught.value))
    run = kit.run(spec, "--vectors", kit.vectors("decode/e2m1.f32"))
    assert (run.status, run.out, run.err) == (2, "", f"mxref: error: {caught.value}\n")


@pytest.mark.parametrize(("spec", "reason"), BAD["specs"].items())
def test_a_target_that_is_not_there_is_refused_in_one_sentence(spec: str, reason: str) -> None:
    with pytest.raises(TargetError, match=re.escape(reason)) as caught:
        load_target(spec)
    assert_sentence(str(caught.value))


def test_a_file_that_is_no_python_is_refused(tmp_path: Path) -> None:
    spec = target_file(tmp_path, ENCODE, "target.txt")
    reason = "must be a Python file (NAME.py) or a module name: a program is run by `mxref verify"
    with pytest.raises(TargetError, match=re.escape(reason)):
        load_target(spec)


@pytest.mark.parametrize("name", ["my_kernel", "my_kernel.c"])
def test_a_program_is_no_module(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [])  # a test before may have left a my_kernel.py to import
    monkeypatch.delitem(sys.modules, "my_kernel", raising=False)
    Path(name).write_bytes(b"\x7fELF")
    with pytest.raises(TargetError, match=r"a program is run by `mxref verify --cmd`$"):
        load_target(name)


def test_a_target_imports_its_neighbours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    target_file(tmp_path, ENCODE, "its_neighbour.py")
    target = load_target(target_file(tmp_path, "from its_neighbour import encode\n"))
    assert set(target.operations) == {"encode"}


@pytest.mark.parametrize("function", ["raise SystemExit(0)", "import sys; sys.exit()"])
def test_a_target_that_exits_while_it_works_does_not_pass(kit: Kit, function: str) -> None:
    spec = kit.target(RIGHT + f"def encode(v, f): {function}\n")
    run = kit.run(spec, "--vectors", kit.vectors("encode/e2m1.f16"))
    assert run.status == 1
    assert re.search(r": fails with errors: SystemExit(: 0)? \(target\.py:\d+\)$", run.last_line)
    assert re.search(r": SystemExit(: 0)? \(target\.py:\d+\); ", run.out)


def test_a_target_claims_what_it_covers(tmp_path: Path) -> None:
    claims = "POLICY = 'ocp+overflow=nonsaturating'\nFORMATS = {'e4m3'}\nFLOATS = ('f16',)\n"
    target = load_target(target_file(tmp_path, ENCODE + claims))
    assert str(target.policy) == "ocp+overflow=nonsaturating"
    assert set(target.operations) == {"encode"}
    assert target.covers("encode", "e4m3", "f16")
    assert not target.covers("encode", "e4m3", "f32")
    assert not target.covers("encode", "e5m2", "f16")
    assert not target.covers("decode", "e4m3", "f16")


def test_a_claimed_profile_brings_its_policy_unless_there_is_one(tmp_path: Path) -> None:
    claim = "PROFILE = 'ml_dtypes'\n"
    target = load_target(target_file(tmp_path, ENCODE + claim))
    assert target.profile is profile("ml_dtypes")
    assert target.policy.choices()["nan_to_finite"] == "opposite_zero"
    both = load_target(target_file(tmp_path, ENCODE + claim + "POLICY = 'ocp'\n", "both.py"))
    assert both.profile is profile("ml_dtypes")
    assert str(both.policy) == "ocp"
    assert load_target(target_file(tmp_path, ENCODE, "none.py")).profile is None


def test_a_target_without_claims_covers_everything_it_has(tmp_path: Path) -> None:
    target = load_target(target_file(tmp_path, ENCODE))
    assert str(target.policy) == "ocp"
    for format in ("e5m2", "e4m3", "e3m2", "e2m3", "e2m1", "int8"):
        for float in ("f16", "bf16", "f32", "f64"):
            assert target.covers("encode", format, float)


def test_a_module_is_a_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target_file(tmp_path, ENCODE, "a_module_with_a_target.py")
    monkeypatch.syspath_prepend(str(tmp_path))
    target = load_target("a_module_with_a_target")
    assert target.name == "a_module_with_a_target"
    assert set(target.operations) == {"encode"}


@pytest.mark.sampled(6)
def test_an_object_is_a_target(everything: list[VectorFile]) -> None:
    class Implementation:
        FORMATS = ("e8m0",)

        def decode_scale(self, codes: Any) -> Any:
            return codes.astype("f4")  # 0.0, 1.0, 2.0 ...: wrong

    report = verify(target_of(Implementation(), "mine"), everything)
    assert report.target.name == "mine"
    assert report.compared == 256
    # n for 2**(n - 127): no code agrees.
    assert len(report.failures) == 256
    assert not report.passed


OF_LIBRARIES: dict[str, list[str]] = BAD["libraries"]


@pytest.mark.parametrize("library", OF_LIBRARIES)
def test_what_is_imported_from_a_library_is_no_operation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    names = OF_LIBRARIES[library]
    if library.startswith("torch"):  # in its place, so that the test does not need it
        fake = ModuleType(library)
        vars(fake).update(dict.fromkeys(names, lambda *_: None))
        for name in names:
            vars(fake)[name].__module__ = "torch"
        monkeypatch.setitem(sys.modules, library, fake)
        monkeypatch.setitem(sys.modules, "torch", fake)
        monkeypatch.setitem(sys.modules, "torch.nn", ModuleType("torch.nn"))
    others = [name for name in OPERATIONS if name not in names]
    text = f"from {library} import {', '.join(names)}\n{others[0]} = lambda *x: x[0]\n"
    assert set(load_target(target_file(tmp_path, text)).operations) == {others[0]}
    alone = target_file(tmp_path, f"from {library} import {', '.join(names)}\n", "alone.py")
    with pytest.raises(TargetError, match="must have at least one of"):
        load_target(alone)


def test_what_has_the_name_of_an_operation_in_a_library_is_in_the_table() -> None:
    for library in ("numpy", "numpy.linalg", "numpy.strings", "operator", "struct", "codecs"):
        has = {name for name in OPERATIONS if hasattr(sys.modules[library], name)}
        assert has == set(OF_LIBRARIES[library]), library


def test_another_name_of_a_library_is_no_operation_either(tmp_path: Path) -> None:
    text = ENCODE + "from numpy import dot as matmul\n"
    assert set(load_target(target_file(tmp_path, text)).operations) == {"encode"}


@pytest.mark.parametrize("text", cases(__file__, "what is imported from elsewhere is an operation"))
def test_what_is_imported_from_elsewhere_is_an_operation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    ops = ("pack", "quantize", "dequantize", "linear", "matmul")
    target_file(tmp_path, "".join(f"def {op}(*x): ...\n" for op in ops), "its_kernel.py")
    target = load_target(target_file(tmp_path, "".join(text.format(op=op) for op in ops)))
    assert set(target.operations) == set(ops)
    monkeypatch.delitem(sys.modules, "its_kernel")
    for op in ops:
        vars(ml_dtypes).pop(op, None)


def test_claimed_formats_have_the_names_that_options_take() -> None:
    names = ["fp4", "mxfp4", "torch.float8_e4m3fn", "e5m2"]
    assert claimed_names("x", "FORMATS", names) == {"e2m1", "mxfp4_e2m1", "e4m3", "e5m2"}
    with pytest.raises(TargetError, match=r"target x: FORMATS must be 'e5m2' or 'e4m3', got 'fp8'"):
        claimed_names("x", "FORMATS", ["fp8"])


def test_a_pair_of_formats_is_claimed_by_the_name_that_reports_have() -> None:
    pair = "mxfp8_e4m3-mxfp4_e2m1"
    kernel = SimpleNamespace(matmul=lambda *_: None, FORMATS=[pair])
    target = target_of(kernel, "x")
    asked = [name for name in PAIRS if target.covers("matmul", name, "f32")]
    assert asked == [pair]
