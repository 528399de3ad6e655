"""Wrong and right kernels of every operation, by people who had read README and docs alone.

Those of NVFP4 are by somebody who knew more (nvfp4/README.md). Each wrong one fails `verify` as it
is asked by default: by the vectors, which it asks first, or by what it asks after them. What is
said of them is no part of this: the sets were opened once, and a gate against falling back is all
that they are now.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from kernel_reports import fails_by_vectors

from mxref.cases.read import vectors_folder
from mxref.cases.records import VectorFile
from mxref.conformance import Extent, check, load_target
from mxref.conformance.checking.target_speed import PACES
from mxref.conformance.verdict.one_sentence import verdict_text
from mxref.targets.asked_files import read_for
from mxref.targets.target import PythonTarget

Read = dict[str, VectorFile]

FOLDER = Path(__file__).parent
SETS = ("third", "fourth", "nvfp4")
WRONG = [path for name in SETS for path in sorted((FOLDER / name).glob("w[0-9]*.py"))]
#: Slow ones take minutes of processor time.
SLOW = ("third/right08", "third/right13")
#: Loops of Python over numbers or rows, which are asked as on a slower machine.
LOOPS = ("third/right03", "fourth/right04", "fourth/right09")
FEWER = PACES[2][1]
RIGHT = [
    path
    for path in sorted(FOLDER.glob("*/right[0-9]*.py"))
    if f"{path.parent.name}/{path.stem}" not in SLOW
]


def asked_of(path: Path, read_once: Read) -> tuple[PythonTarget, list[VectorFile]]:
    """A kernel as a target, which has been asked nothing, and its vector files."""
    target = load_target(str(path))
    files = read_for(vectors_folder(), target, target.policy, read=read_once.values())
    read_once.update((file.stem, file) for file in files if file.cases)
    return target, files


def passes(path: Path, read_once: Read) -> tuple[bool, str]:
    """Whether a kernel passes, and the verdict."""
    elements = FEWER if f"{path.parent.name}/{path.stem}" in LOOPS else None
    report = check(*asked_of(path, read_once), extent=Extent(elements, unfiled=True))
    return report.passed, verdict_text(report)


@pytest.mark.sampled(30)
@pytest.mark.parametrize("path", WRONG, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_wrong_kernel_fails(path: Path, read_once: Read) -> None:
    if fails_by_vectors(*asked_of(path, read_once)):
        return
    passed, verdict = passes(path, read_once)
    assert not passed, verdict


@pytest.mark.sampled(28)
@pytest.mark.parametrize("path", RIGHT, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_right_kernel_passes(path: Path, read_once: Read) -> None:
    passed, verdict = passes(path, read_once)
    assert passed, verdict
