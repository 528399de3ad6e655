"""What `verify` says of the sets of strange faults: the words of stages, causes and descriptions.

python tests/pairs/strange_told.py     writes told.json anew, after a change that is meant
"""

import json
from pathlib import Path

from strange_faults import kernel
from strange_sets import PAIRS, TRIPLES, Set

from mxref.cases.read import vectors_folder
from mxref.cases.records import VectorFile
from mxref.conformance import Extent, Report, check, target_of
from mxref.targets.asked_files import read_for

TOLD = Path(__file__).parent / "told.json"
SETS = {one[0]: one for one in (*PAIRS, *TRIPLES)}


def report_on(one: Set, read_once: dict[str, VectorFile]) -> Report:
    """The report on a kernel with the faults of a set: the vectors and the search."""
    name, operation, block_format, faults = one
    target = target_of(kernel(faults, block_format, operation), name)
    files = read_for(vectors_folder(), target, target.policy, read=read_once.values())
    read_once.update((file.stem, file) for file in files if file.cases)
    return check(target, files, extent=Extent(elements=0))


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
