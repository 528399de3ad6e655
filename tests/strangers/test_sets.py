"""Wrong and right kernels of every operation, by people who had read README and docs alone.

Those of NVFP4 are by somebody who knew more (README.md). Each wrong one fails `verify` as it
is asked by default: by the vectors, which it asks first, or by what it asks after them. What is
said of them is no part of this: the sets were opened once, and a gate against falling back is all
that they are now.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from kernel_reports import fails_by_vectors
from planting import kernel_texts

from mxref.cases.read import vectors_folder
from mxref.cases.records import VectorFile
from mxref.conformance import Extent, check, load_target
from mxref.conformance.checking.target_speed import PACES
from mxref.conformance.verdict.one_sentence import verdict_text
from mxref.targets.asked_files import read_for
from mxref.targets.target import PythonTarget

Read = dict[str, VectorFile]

FOLDER = Path(__file__).parent
SETS = ("third", "fourth", "fifth", "nvfp4")
NAMES = [f"{name}/{one}" for name in SETS for one in kernel_texts(FOLDER / f"{name}.toml")]
#: Its threads race, so that it is found in some runs.
RACE = "fifth/w40"
WRONG = [name for name in NAMES if "/w" in name and name != RACE]
RIGHT = sorted(name for name in NAMES if "/right" in name)
#: Loops of Python over numbers or rows: elements that they are asked, as on a slower machine.
LOOPS = {
    **dict.fromkeys(("third/right03", "fourth/right04", "fourth/right09"), PACES[2][1]),
    "third/right08": 1_100,
}
#: Takes many minutes: the vectors alone.
SLOW = "third/right13"


def asked_of(name: str, folder: Path, read_once: Read) -> tuple[PythonTarget, list[VectorFile]]:
    """A kernel as a target, which has been asked nothing, and its vector files."""
    target = load_target(str(folder / f"{name}.py"))
    files = read_for(vectors_folder(), target, target.policy, read=read_once.values())
    read_once.update((file.stem, file) for file in files if file.cases)
    return target, files


def passes(name: str, folder: Path, read_once: Read) -> tuple[bool, str]:
    """Whether a kernel passes, and the verdict."""
    extent = Extent(LOOPS.get(name), unfiled=True)
    report = check(*asked_of(name, folder, read_once), extent=extent)
    return report.passed, verdict_text(report)


@pytest.mark.sampled(30)
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_kernel_fails(name: str, strangers: Path, read_once: Read) -> None:
    if fails_by_vectors(*asked_of(name, strangers, read_once)):
        return
    passed, verdict = passes(name, strangers, read_once)
    assert not passed, verdict


@pytest.mark.sampled(28)
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_kernel_passes(name: str, strangers: Path, read_once: Read) -> None:
    if name == SLOW:
        assert not fails_by_vectors(*asked_of(name, strangers, read_once))
        return
    passed, verdict = passes(name, strangers, read_once)
    assert passed, verdict
