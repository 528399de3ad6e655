"""Wrong and right kernels by people who had read the README alone, before the vectors 0.4 existed.

`verify` must catch 38 of the 40 wrong ones, and say of 34 truly what is wrong: by the words beside
them, which come from what the authors wrote in the kernels, not from a report.
"""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path

import pytest
from kernel_reports import fails_by_vectors
from limits import assert_alone, assert_limits

from mxref.cases.read import vectors_folder
from mxref.cases.records import VectorFile
from mxref.cli.verify_verb import print_report
from mxref.conformance import Extent, Report, check, load_target
from mxref.conformance.checking.target_speed import PACES
from mxref.conformance.verdict import causes
from mxref.formats.catalog import BLOCK_FORMATS, ELEMENT_FORMATS
from mxref.targets.asked_files import read_for
from mxref.targets.target import PythonTarget

FOLDER = Path(__file__).parent
KERNELS = {
    f"{folder}/{name}": kernel
    for folder in ("first", "second")
    for name, kernel in tomllib.loads((FOLDER / f"{folder}.toml").read_text("utf-8")).items()
}
WRONG = [name for name in KERNELS if "/wrong_" in name]
RIGHT = [name for name in KERNELS if "/right_" in name]
#: What a true report says.
SAID = {name: kernel["said"] for name, kernel in KERNELS.items() if "said" in kernel}
#: From which counts on kernels are wrong, by what they say: beyond 65535 rows of blocks, and with
#: codes that begin beyond 65536 bits.
LEAST = {
    ("f01", "quantize"): {"rows": 65_536},
    ("f01", "quantize_tensor"): {"blocks": 65_536},
    ("f06", "e2m1"): {"codes": 65_536 // 4 + 1},
    ("f06", "e3m2"): {"codes": 65_536 // 6 + 2},
}
#: The count with which alone one is.
ALONE = {("f04", "quantize"): ("rows", 32)}


#: What a fast kernel is asked on a machine that is not busy, and what takes less time.
FAST, SMALLER, SMALLEST = (elements for _, elements in PACES[:3])
#: Kernels that are wrong in large calls only.
LARGE = ("first/wrong_01_grid_y_limit", "first/wrong_06_pack_16_bit_offset")


def checked(
    name: str, folder: Path, read_once: dict[str, VectorFile], elements: int | None
) -> Report:
    target = load_target(str(folder / f"{name}.py"))
    files = read_for(vectors_folder(), target, target.policy, read=read_once.values())
    read_once.update((file.stem, file) for file in files if file.cases)
    return check(target, files, extent=Extent(elements=elements))


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_kernel_is_caught(
    name: str,
    strangers: Path,
    read_once: dict[str, VectorFile],
    capsys: pytest.CaptureFixture[str],
) -> None:
    report = checked(name, strangers, read_once, FAST if name in LARGE else SMALLER)
    print_report(report, 20)
    said = capsys.readouterr().out
    assert not report.passed, said
    assert any(one in said for one in SAID.get(name, [""])), said
    kernel = name[0] + name.partition("_")[2][:2]
    for use in report.uses:
        for key in ((kernel, use.op), (kernel, use.format)):
            if key in LEAST:
                assert_limits(use.text, LEAST[key])
            if key in ALONE:
                assert_alone(use.text, *ALONE[key])


@pytest.mark.sampled(14)
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_kernel_in_odd_clothes_passes(
    name: str,
    strangers: Path,
    read_once: dict[str, VectorFile],
    capsys: pytest.CaptureFixture[str],
) -> None:
    slow = name.endswith("slow")
    report = checked(name, strangers, read_once, None if slow else SMALLER)
    print_report(report, 20)
    said = capsys.readouterr().out
    assert report.passed, said
    assert report.verdict == "conforms"
    assert ("refuses empty input" in said) is name.endswith("empty_refused")
    if slow:
        assert report.scope.elements <= 9_000
        assert "note: slow: a million elements take" in said


def test_most_reports_are_true() -> None:
    assert len(WRONG) == 40
    assert len(RIGHT) == 15
    assert len(SAID) >= 34


# --- all six formats: with --complete -------------------------------------------------------------


def in_all_formats(
    path: Path, read_once: dict[str, VectorFile]
) -> tuple[PythonTarget, list[VectorFile]]:
    """A kernel that claims every format of its kind, and its vector files; other claims stay."""
    target = load_target(str(path))
    blocks = any(name in BLOCK_FORMATS for name in target.formats)
    formats = frozenset((*BLOCK_FORMATS, *ELEMENT_FORMATS) if blocks else target.formats)
    target = dataclasses.replace(target, formats=formats)
    files = read_for(vectors_folder(), target, target.policy, read=read_once.values())
    read_once.update((file.stem, file) for file in files if file.cases)
    return target, files


@pytest.mark.sampled(0)
@pytest.mark.parametrize("name", [*WRONG, *RIGHT])
def test_in_all_formats(
    name: str,
    strangers: Path,
    read_once: dict[str, VectorFile],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Whether it is caught, and by vectors if they do: the test above asks for all else, and why.
    monkeypatch.setattr(causes, "find_causes", lambda *_: ())
    path, is_right = strangers / f"{name}.py", name in RIGHT
    if fails_by_vectors(*in_all_formats(path, read_once)):
        assert not is_right
        return
    elements = FAST if name in LARGE else 1_100 if "slow" in name else SMALLEST
    report = check(*in_all_formats(path, read_once), extent=Extent(elements=elements))
    assert report.passed is is_right
