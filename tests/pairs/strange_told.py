"""What `verify` says of the sets of strange faults: the words of stages, causes and descriptions.

sets.txt has a name, an operation, a format and two or three faults a line. They were drawn with a
seed from all sets of faults of different stages in which no fault is hidden by the others, those
first whose faults were drawn seldom.

python tests/pairs/strange_told.py     writes told.json anew, after a change that is meant
"""

import json
from pathlib import Path

from strange_faults import kernel

from mxref.cases.read import vectors_folder
from mxref.cases.records import VectorFile
from mxref.conformance import Extent, Report, check, target_of
from mxref.targets.asked_files import read_for
from mxref.targets.target import PythonTarget

TOLD = Path(__file__).parent / "told.json"
Set = tuple[str, str, tuple[str, ...]]
_LINES = Path(__file__).with_name("sets.txt").read_text("ascii").splitlines()
SETS: dict[str, Set] = {
    name: (operation, block_format, tuple(faults))
    for name, operation, block_format, *faults in map(str.split, _LINES)
}


def asked_of(
    operation: str, block_format: str, faults: tuple[str, ...], read_once: dict[str, VectorFile]
) -> tuple[PythonTarget, list[VectorFile]]:
    """A kernel with some faults as a target, and its vector files."""
    target = target_of(kernel(faults, block_format, operation), "kernel")
    files = read_for(vectors_folder(), target, target.policy, read=read_once.values())
    read_once.update((file.stem, file) for file in files if file.cases)
    return target, files


def report_on(one: Set, read_once: dict[str, VectorFile]) -> Report:
    """The report on a kernel with the faults of a set: the vectors and the search."""
    return check(*asked_of(*one, read_once), extent=Extent(elements=0))


def words_of(report: Report) -> list[str]:
    """What is said of causes, stages and where answers are wrong, without counts."""
    found = []
    for row in report.rows:
        for cause in row.causes:
            found += [one.text or _begin(one.rest) for one in cause.stages]
            found += [cause.text or cause.policy] * (not cause.stages)
        if row.description is not None:
            found.append(_begin(row.description.text))
    return list(dict.fromkeys(filter(None, found)))


def _begin(text: str) -> str:
    """A sentence up to its first count or example."""
    return text.partition(" (")[0].partition(": ")[0]


def main() -> None:
    read: dict[str, VectorFile] = {}
    told = {name: words_of(report_on(one, read)) for name, one in SETS.items()}
    TOLD.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
