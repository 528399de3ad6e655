"""What makes a record of the ledger stale, and what does not."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from environments import ENVIRONMENTS, requirements
from helpers import ROOT, run
from ledger import __main__ as command
from ledger import asks, claims, digest, examine, products
from ledger.claims import Adapter, claiming, claiming_integers, claiming_products
from ledger.digest import PARTS, Digests, said
from ledger.libraries import Pin, missing, pins

from mxref.cases.records import VectorFile
from mxref.profiles import PROFILES
from mxref.targets.loading import load_target

FLOOR, PRODUCTS, INTEGERS = "torchao.FLOOR", "mmasim.ALIGNED_35", "torch_integers.TENSOR"
DATA = ROOT / "tests" / "tools" / "data"
#: What they say that they have, or a part of it.
HAS: dict[str, dict[str, Any]] = json.loads((DATA / "adapters_have.json").read_text("utf-8"))


def adapters() -> dict[str, Adapter]:
    return claiming() | claiming_products() | claiming_integers()


def record(name: str) -> dict[str, Any]:
    """A record of the adapter as it is now."""
    return {"of": Digests().parts(adapters()[name], HAS[name], 1), "has": HAS[name]}


RECORDS: dict[str, dict[str, Any]] = {}


@pytest.fixture(autouse=True, scope="module")
def _records() -> None:
    """The records as they are before any test changes something."""
    RECORDS.update({name: record(name) for name in HAS})


def changed(name: str, share: int = 1) -> list[str]:
    return Digests().changed(adapters()[name], RECORDS[name], share)


@pytest.mark.parametrize("name", HAS)
def test_a_record_is_fresh_while_nothing_changes(name: str) -> None:
    assert {*RECORDS[name]["of"]} == {*PARTS}
    assert changed(name) == []


# The profile


def test_a_profile_that_answers_otherwise_makes_its_records_stale(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = PROFILES["torchao_0_18_floor"]

    def change(**new: Any) -> list[str]:
        with monkeypatch.context() as one:
            one.setitem(PROFILES, own.name, dataclasses.replace(own, **new))  # type: ignore[call-overload]
            return changed(FLOOR)

    def planted(*given: Any) -> Any:
        scales, codes = own.stages.nonfinite(*given)
        return np.where(scales == 200, 201, scales), codes

    assert change(source="elsewhere", checked="otherwise") == []
    assert change(stages=dataclasses.replace(own.stages, nonfinite=planted)) == ["profile"]
    assert change(policy=own.policy.replace(rounding="toward_zero")) == ["profile"]


@pytest.mark.parametrize(
    ("name", "function"), [(PRODUCTS, "outputs"), (INTEGERS, "integer_answer")]
)
def test_a_policy_that_answers_otherwise_does_so_too(
    name: str, function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = getattr(digest, function)
    asked = 0

    def wrong_once(*given: Any) -> Any:
        nonlocal asked
        asked += 1
        answer = real(*given)
        if asked != 3:
            return answer
        return answer ^ 1 if function == "outputs" else (answer[0] ^ 1, *answer[1:])

    monkeypatch.setattr(digest, function, wrong_once)
    assert changed(name) == ["profile"]


# The questions


Files = list[VectorFile]


def fewer_cases(files: Files) -> Files:
    return [dataclasses.replace(file, cases=file.cases[:-1]) for file in files]


def one_file_fewer(files: Files) -> Files:
    return [file for file in files if file.stem != "dequantize/mxfp4_e2m1.f32"]


def other_words_about(files: Files) -> Files:
    """What else cases say is no question."""
    found = []
    for file in files:
        cases = (dataclasses.replace(c, rule="N9", model="M", answers=()) for c in file.cases)
        found.append(dataclasses.replace(file, cases=(*cases,), columns=()))
    return found


@pytest.mark.parametrize(
    ("change", "stale"),
    [(fewer_cases, ["questions"]), (one_file_fewer, ["questions"]), (other_words_about, [])],
)
def test_files_with_other_questions_make_records_stale(
    change: Callable[[Files], Files], stale: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = examine.read_for
    monkeypatch.setattr(examine, "read_for", lambda *given, **more: change(real(*given, **more)))
    assert changed(FLOOR) == stale


def test_a_format_that_there_is_no_more_makes_records_stale() -> None:
    old = RECORDS[FLOOR] | {"has": HAS[FLOOR] | {"formats": ["mxfp5_e2m2"]}}
    assert Digests().changed(adapters()[FLOOR], old, 1) == ["questions"]


RANDOM, BLOCKS = asks.random_blocks, asks.scale_blocks


@pytest.mark.parametrize(
    ("module", "name", "new", "stale", "fresh"),
    [
        (asks, "random_blocks", lambda name, *a, **k: RANDOM(f"{name}.", *a, **k), FLOOR, INTEGERS),
        (asks, "scale_blocks", lambda *given: BLOCKS(*given) ^ 1, FLOOR, INTEGERS),
        (products, "_LENGTHS", (32, 64), PRODUCTS, FLOOR),
    ],
)
def test_other_rounds_are_other_questions(
    module: Any, name: str, new: Any, stale: str, fresh: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, new)
    assert (changed(stale), changed(fresh)) == (["questions"], [])


def test_more_or_fewer_of_the_same_are_other_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [changed(name, share=16) for name in HAS] == [["questions"]] * 3
    monkeypatch.setattr(digest, "random_elements", lambda files: asks.random_elements(files, 1000))
    assert changed(FLOOR) == ["questions"]


# The adapter and its library


Copied = Callable[[str, str, str], None]


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Copied:
    """A change of one of copied adapters."""
    shutil.copytree(claims.ADAPTERS, tmp_path / "adapters")
    monkeypatch.setattr(claims, "ADAPTERS", tmp_path / "adapters")

    def change(name: str, old: str, new: str) -> None:
        path = tmp_path / "adapters" / name
        text = path.read_text("utf-8")
        assert old in text
        path.write_text(text.replace(old, new), "utf-8")

    return change


def test_the_code_of_an_adapter_and_of_what_it_imports(copied: Copied) -> None:
    copied("_torchao.py", '"""Blocks by', '"""By')
    copied("torchao_adapter.py", "from types import", "# comment\nfrom types import")
    copied("quark_adapter.py", "return", "return not")
    assert changed(FLOOR) == []
    copied("_torchao.py", "elements, scales, _DTYPES[name], 32", "elements, scales, 0, 32")
    assert (changed(FLOOR), changed(PRODUCTS)) == (["adapter"], [])
    another_mode = adapters()["mmasim.ALIGNED_25"]
    assert Digests().changed(another_mode, RECORDS[PRODUCTS], 1) == ["adapter"]
    copied("mmasim_adapter.py", "aligned_13", "aligned_25")
    assert changed(PRODUCTS) == ["adapter"]


def test_another_version_of_the_library(copied: Copied) -> None:
    assert RECORDS[FLOOR]["of"]["library"] == "torch 2.13.0, torchao 0.18.0"
    copied("torchao_adapter.py", "torchao==0.18.0", "torchao==0.19.0")
    assert changed(FLOOR) == ["adapter", "library"]
    assert changed(INTEGERS) == []  # which has torchao 0.18.0 by its own pin


def test_an_adapter_pins_its_own_library_before_that_of_what_it_imports() -> None:
    found = {one.path.stem: [*map(str, pins(one.path))] for one in adapters().values()}
    assert found["mlx_0_31_adapter"] == ["mlx 0.31.2", "mlx-cpu 0.31.2"]
    assert found["torchao_main_adapter"] == ["github.com/pytorch/ao 36027d82", "torch 2.13.0"]
    assert found["jax_casts_adapter"] == ["jax 0.10.2", "jaxlib 0.10.2"]
    assert found["gfloat_adapter"] == ["gfloat 0.5.2"]
    assert all(found.values())


def test_what_adapters_pin_is_what_their_environments_have() -> None:
    checkouts = (ROOT / "tools" / "peers.sh").read_text("utf-8")
    wheels = [one.wheel for one in ENVIRONMENTS.values()]
    packages = [line for name in ENVIRONMENTS for line in requirements(name)]
    installed = "\n".join([checkouts, *packages, *wheels])
    for adapter in adapters().values():
        for pin in pins(adapter.path):
            how = " at " if pin.variable else "=="
            assert re.search(rf"{pin.name}{how}{re.escape(pin.version)}(?![\w.])", installed), pin


def test_a_library_is_here_in_just_the_version_that_is_pinned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = Pin("gfloat", "").here
    assert Pin("gfloat", version).is_here
    assert not Pin("gfloat", f"{version}.1").is_here
    assert Pin("no-such-package", "1").here == ""
    git = ("git", "-C", tmp_path, "-c", "user.name=a", "-c", "user.email=a")
    run("git", "init", "-q", tmp_path)
    (tmp_path / "file").write_text("1")
    run(*git, "add", "file")
    run(*git, "commit", "-q", "-m", "first")
    commit = run(*git, "rev-parse", "HEAD").stdout.strip()
    pin = Pin("github.com/an/other", commit[:8], "MXREF_NO_SUCH_CHECKOUT")
    assert not pin.is_here
    monkeypatch.setenv(pin.variable, str(tmp_path))
    assert pin.is_here
    assert not dataclasses.replace(pin, version="0000000").is_here
    (tmp_path / "file").write_text("2")
    assert not pin.is_here


# Moved and renamed modules


def test_a_renamed_module_changes_nothing(tmp_path: Path) -> None:
    for name in ("mxref", "tools/ledger", "tools/adapters"):
        without = shutil.ignore_patterns("__pycache__", "records")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=without)
    (tmp_path / "vectors").symlink_to(ROOT / "vectors")
    names = {
        "mxref/bits/logarithm": "mxref/bits/logs",
        "mxref/cases/random_blocks": "mxref/cases/blocks",
        "tools/ledger/asks": "tools/ledger/puts",
    }
    for old, new in names.items():
        (tmp_path / f"{old}.py").rename(tmp_path / f"{new}.py")
    for path in [*tmp_path.glob("mxref/**/*.py"), *tmp_path.glob("tools/**/*.py")]:
        text = path.read_text("utf-8")
        for old, new in names.items():
            before, after = (n.removeprefix("tools/").replace("/", ".") for n in (old, new))
            text = text.replace(f"from {before} import", f"from {after} import")
        path.write_text(text, "utf-8")
    code = (DATA / "digests_of_a_copy.txt").read_text("ascii")
    paths = os.pathsep.join([str(tmp_path), str(tmp_path / "tools")])
    ended = run(
        *(sys.executable, "-c", code), cwd=tmp_path, input=json.dumps(HAS),
        env=os.environ | {"PYTHONPATH": paths},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    place, of = json.loads(ended.stdout)
    assert place == str(tmp_path / "mxref" / "__init__.py")
    assert of == {name: one["of"] for name, one in RECORDS.items()}


# What an adapter said that it has


@pytest.mark.parametrize("name", ["ml_dtypes", "gfloat", "gguf"])
def test_a_record_has_what_its_adapter_is_asked(name: str) -> None:
    adapter = claiming()[name]
    target = load_target(adapter.spec)
    has = json.loads(json.dumps(said(target)))
    hollow = digest._hollow(adapter, has)
    assert (hollow.policy, hollow.profile) == (target.policy, target.profile)
    asked = [[file.stem for file in examine.profile_files(one)] for one in (target, hollow)]
    assert asked[0] == asked[1] != []


# The command


def options(folder: Path, **more: Any) -> argparse.Namespace:
    return argparse.Namespace(results=folder, quick=False, again=False, **more)


def test_check_fails_for_a_stale_record_whose_library_is_here_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = [adapters()[name] for name in HAS]
    absent: dict[Path, list[Pin]] = {chosen[1].path: [Pin("mmasim", "2.1.1")]}
    monkeypatch.setattr(command, "missing", lambda path: absent.get(path, []))
    for name, one in RECORDS.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(one))

    def checked() -> tuple[int, list[str]]:
        status = command.check(chosen, options(tmp_path))
        return status, capsys.readouterr().out.splitlines()

    none = "3 records: 0 stale whose libraries are here, 0 others stale"
    assert checked() == (0, [none])
    other = RECORDS[PRODUCTS] | {"of": RECORDS[PRODUCTS]["of"] | {"adapter": "0" * 16}}
    (tmp_path / f"{PRODUCTS}.json").write_text(json.dumps(other))
    line = f"{PRODUCTS} is stale (not here: mmasim 2.1.1): adapter"
    assert checked() == (0, [line, none.replace("0 others", "1 others")])
    (tmp_path / f"{FLOOR}.json").unlink()
    status, lines = checked()
    assert (status, lines[0]) == (1, f"{FLOOR} is stale: no whole record")
    (tmp_path / f"{INTEGERS}.json").write_text(json.dumps({"of": "7ad2b99e3bb07657"}))
    assert checked()[1][2] == f"{INTEGERS} is stale: no whole record"
    assert json.loads((tmp_path / f"{PRODUCTS}.json").read_text()) == other  # and not a new one


def test_an_adapter_whose_library_is_not_here_gets_no_record(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a_adapter.py"
    path.write_text('PIN = "gfloat==0.0.1"\nPROFILE = "gfloat"\ndef decode(x, y): return x\n')
    assert [str(pin) for pin in missing(path)] == ["gfloat 0.0.1"]
    status = command.record(Adapter(path, "", "gfloat"), options(tmp_path))
    assert status not in (0, 1, 2)
    said_so = capsys.readouterr().err
    assert said_so.startswith("gfloat 0.0.1 must be here, ")
    assert not [*tmp_path.glob("*.json")]
