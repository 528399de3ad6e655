"""Wrong and right kernels by people who had read the README alone, before the vectors 0.4 existed.

`verify` must catch 38 of the 40 wrong ones, and say of 34 truly what is wrong: by the words below,
which come from what the authors wrote in the kernels, not from a report.
"""

from __future__ import annotations

import dataclasses
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
WRONG = sorted(path for path in FOLDER.glob("*/wrong_[0-9]*.py"))
RIGHT = sorted(path for path in FOLDER.glob("*/right_[0-9]*.py"))

STATE = "not reproducible"
ALIGNED = "wrong only in calls with arrays that start at no multiple of 16 bytes"
#: What a true report says, by the folder's first letter and the kernel's number.
TRUE = {
    "f01": "wrong only in calls with ",
    "f02": "2 or 3 above a multiple of 4",
    "f03": ALIGNED,
    "f04": "wrong only in calls with ",
    "f05": "a number of elements along the axis that is no multiple of 32",
    "f06": "wrong only in calls with ",
    "f07": "the result of a call is overwritten by the next call",
    "f08": f"{STATE} | depends on what else is in the call",  # it goes by addresses
    "f09": STATE,
    "f10": STATE,
    "f11": STATE,
    "f12": STATE,
    "f13": "x is a tie and the result's code is a subnormal number",
    "f14": "an answer depends on what else is in the call",
    "f16": "axis 0",
    "f17": "the infinities of the block are negative",
    "f19": "wrong only in calls with arrays with columns first in memory",
    "f20": "an answer depends on what else is in the call",
    "s01": "through_float16",
    "s02": "rounds a tie below the smallest normal number toward zero",
    "s03": "limits the shift to the precision, one bit too few",
    "s05": "compares the odd lanes with their signs",
    "s06": "the position of the only NaN is at most 30",
    "s08": "the float type is bf16",
    "s09": "products that are too large become NaN",
    "s10": "to the output type",
    "s11": "product_rounding=scale_first",
    "s12": "a number of rows that is no multiple of 2",
    "s14": "axis 0",
    "s15": STATE,
    "s16": "no multiple of 2",
    "s17": "stores the tiles column by column",
    "s18": "2 or 3 above a multiple of 4",
    "s19": "a multiple of 64",
    "s20": "no multiple of 16",
}


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
LARGE = ("wrong_01_grid_y_limit", "wrong_06_pack_16_bit_offset")


def checked(path: Path, read_once: dict[str, VectorFile], elements: int | None) -> Report:
    target = load_target(str(path))
    files = read_for(vectors_folder(), target, target.policy, read=read_once.values())
    read_once.update((file.stem, file) for file in files if file.cases)
    return check(target, files, extent=Extent(elements=elements))


@pytest.mark.sampled(12)
@pytest.mark.parametrize("path", WRONG, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_wrong_kernel_is_caught(
    path: Path, read_once: dict[str, VectorFile], capsys: pytest.CaptureFixture[str]
) -> None:
    report = checked(path, read_once, FAST if path.stem in LARGE else SMALLER)
    print_report(report, 20)
    said = capsys.readouterr().out
    assert not report.passed, said
    kernel = f"{path.parent.name[0]}{path.stem[6:8]}"
    true = TRUE.get(kernel)
    assert true is None or any(one in said for one in true.split(" | ")), said
    for use in report.uses:
        for key in ((kernel, use.op), (kernel, use.format)):
            if key in LEAST:
                assert_limits(use.text, LEAST[key])
            if key in ALONE:
                assert_alone(use.text, *ALONE[key])


@pytest.mark.sampled(14)
@pytest.mark.parametrize("path", RIGHT, ids=lambda path: path.stem)
def test_a_right_kernel_in_odd_clothes_passes(
    path: Path, read_once: dict[str, VectorFile], capsys: pytest.CaptureFixture[str]
) -> None:
    slow = path.stem.endswith("slow")
    report = checked(path, read_once, None if slow else SMALLER)
    print_report(report, 20)
    said = capsys.readouterr().out
    assert report.passed, said
    assert report.verdict == "conforms"
    assert ("refuses empty input" in said) is path.stem.endswith("empty_refused")
    if slow:
        assert report.scope.elements <= 9_000
        assert "note: slow: a million elements take" in said


def test_most_reports_are_true() -> None:
    assert len(WRONG) == 40
    assert len(RIGHT) == 15
    assert len(TRUE) >= 34


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
@pytest.mark.parametrize(
    "path", [*WRONG, *RIGHT], ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_in_all_formats(
    path: Path, read_once: dict[str, VectorFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Whether it is caught, and by vectors if they do: the test above asks for all else, and why.
    monkeypatch.setattr(causes, "find_causes", lambda *_: ())
    is_right = path.stem.startswith("right_")
    if fails_by_vectors(*in_all_formats(path, read_once)):
        assert not is_right
        return
    elements = FAST if path.stem in LARGE else 1_100 if "slow" in path.stem else SMALLEST
    report = check(*in_all_formats(path, read_once), extent=Extent(elements=elements))
    assert report.passed is is_right
