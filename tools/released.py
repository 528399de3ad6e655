"""The last released vectors, two bytes a case, and which version today's need.

    python tools/released.py                    # what has changed since, and the version it needs
    python tools/released.py --write 2026-12-01 # record today's as released on that day

`vectors/README.md`, "What is promised", has the rules. tests/golden/data/released.json has of each
file its columns, how many of them its plain file has, and of each case, in the order of their
names, the first two bytes of a digest of its name, its input and its answers. A release may only
insert cases, so the record must be a subsequence of today's.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mxref._version import VECTORS_VERSION
from mxref.cases.read import file_bytes, read_manifest

__all__ = ["NEEDS", "changes", "is_enough", "record"]

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "tests/golden/data/released.json"
#: What a change may need, in order.
NEEDS = ("patch", "minor", "major")
_BYTES = 2


def record(folder: Path, date: str) -> dict[str, Any]:
    """The record of a folder of vectors."""
    files = {}
    for name, header, cases in _files(folder):
        columns = header["columns"]
        digests = b"".join(_digests(cases, columns, columns))
        text = base64.b64encode(digests).decode("ascii")
        files[name] = {"columns": columns, "plain": header["plain"], "cases": text}
    return {"version": VECTORS_VERSION, "released": date, "files": files}


def changes(old: dict[str, Any], folder: Path) -> list[tuple[str, str]]:
    """What a folder's vectors changed since a record: the version that it needs, and a sentence."""
    found = []
    recorded = dict(old["files"])
    for name, header, cases in _files(folder):
        before = recorded.pop(name, None)
        if before is None:
            found.append(("minor", f"{name} is new"))
            continue
        columns, own = before["columns"], header["columns"]
        if gone := [one for one in columns if one not in own]:
            found.append(("major", f"{name} has no column {gone[0]} any more"))
            continue
        plain = columns[: before["plain"]]
        if own[: header["plain"]][: len(plain)] != plain:
            found.append(("major", f"the plain file of {name} has other columns first"))
        elif len(own) > len(columns) or header["plain"] > before["plain"]:
            found.append(("minor", f"{name} has new columns"))
        found += _of_cases(name, before, cases, own)
    found += [("major", f"{name} is gone") for name in recorded]
    return found


def is_enough(old: str, new: str, need: str) -> bool:
    """Whether a version is enough after another one; before 1.0.0 a minor version may do all.

    >>> is_enough("1.2.0", "1.3.0", "major"), is_enough("0.5.0", "0.6.0", "major")
    (False, True)
    """
    before, after = (tuple(map(int, version.split("."))) for version in (old, new))
    place = 2 - NEEDS.index(need)
    if before[0] == 0:
        place = max(place, 1)
    return after[: place + 1] > before[: place + 1]


def _of_cases(
    name: str, before: dict[str, Any], cases: list[dict[str, Any]], columns: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """What changed in the cases of a file."""
    data = base64.b64decode(before["cases"])
    wanted = [data[at : at + _BYTES] for at in range(0, len(data), _BYTES)]
    at, named = 0, sorted(cases, key=_name)
    for digest in _digests(cases, before["columns"], columns):
        at += at < len(wanted) and digest == wanted[at]
    if at < len(wanted):
        where = f", such as {_name(named[at])}" if len(named) == len(wanted) else ""
        yield "major", f"a case of {name} has another answer, or is gone{where}"
    elif len(named) > len(wanted):
        yield "minor", f"{name} has {len(named) - len(wanted)} new cases"


def _files(folder: Path) -> Iterator[tuple[str, dict[str, Any], list[dict[str, Any]]]]:
    """Name, header and cases of each vector file."""
    for entry in read_manifest(folder):
        name, dot, _ = entry["file"].partition(".jsonl")
        if dot:
            header, *cases = map(json.loads, file_bytes(folder, entry["file"]).splitlines())
            yield name, header, cases


def _name(case: dict[str, Any]) -> str:
    return str(case.get("name", case["in"]))


def _digests(
    cases: list[dict[str, Any]], wanted: Sequence[str], columns: Sequence[str]
) -> Iterator[bytes]:
    """The digest of each case, by name, with its answers in some of its file's columns."""
    places = [columns.index(one) for one in wanted]
    for case in sorted(cases, key=_name):
        out = case["out"]
        if "by" in case:
            out = "\n".join([out[int(case["by"][place], 36)] for place in places])
        else:
            out = "\n".join([out] * len(places))
        text = f"{_name(case)}\n{case['in']}\n{out}"
        yield hashlib.sha256(text.encode("ascii")).digest()[:_BYTES]


def main(words: Sequence[str] | None = None) -> int:
    """Print what changed, or write the record; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", metavar="DATE", help="record today's vectors as released then")
    options = parser.parse_args(words)
    if options.write is not None:
        made = record(ROOT / "vectors", options.write)
        lines = [f"{json.dumps(name)}: {json.dumps(one)}" for name, one in made["files"].items()]
        head = f'{{"version": "{made["version"]}", "released": "{made["released"]}", "files": {{\n'
        RECORD.write_text(head + ",\n".join(lines) + "\n}}\n", "ascii")
        return 0
    old = json.loads(RECORD.read_bytes())
    found = changes(old, ROOT / "vectors")
    for need, said in found:
        print(f"{need}: {said}")
    need = max((need for need, _ in found), key=NEEDS.index, default="patch")
    print(f"since {old['version']}: a {need} version, this is {VECTORS_VERSION}")
    return 0 if not found or is_enough(old["version"], VECTORS_VERSION, need) else 1


if __name__ == "__main__":
    sys.exit(main())
