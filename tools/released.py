"""The last released vectors, two bytes a case, and which version today's need.

    python tools/released.py                    # what has changed since, and the version it needs
    python tools/released.py --write 2026-12-01 # record today's as released on that day

`vectors/README.md`, "What is promised", has the rules. tests/golden/data/released.json has of each
file its columns, how many of them its plain file has, its numbers of digits, and of each case, in
the order of their names, the first two bytes of a digest of its name, its input and its answers
(words without leading zeros), and a bit, whether its clause is in `required`. A release may only
insert cases, so the record must be a subsequence of today's. Of the tables of thresholds,
`plain/encode.h` and level 2 it has their parts, such as the answers of one rounding, each with the
first digits of a digest.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import re
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
#: Zeros before the first digit of a word.
_ZEROS = re.compile(r"\b0+(?=[0-9a-f])")
_ARRAY = re.compile(r"^(?:static const [^\[]*|typedef .*)", re.MULTILINE)


def record(folder: Path, date: str) -> dict[str, Any]:
    """The record of a folder of vectors."""
    files = {}
    for name, header, cases in _files(folder):
        columns = header["columns"]
        digests = b"".join(_digests(cases, columns, columns))
        text = base64.b64encode(digests).decode("ascii")
        files[name] = {
            "columns": columns,
            "plain": header["plain"],
            "digits": [header["in_digits"], header["out_digits"]],
            "cases": text,
            "required": _bits(header, cases),
        }
    return {"version": VECTORS_VERSION, "released": date, "parts": _parts(folder), "files": files}


def changes(old: dict[str, Any], folder: Path) -> list[tuple[str, str]]:
    """What a folder's vectors changed since a record: the version that it needs, and a sentence."""
    found = [*_of_parts(old.get("parts", {}), _parts(folder))]
    recorded = dict(old["files"])
    listed = {entry["file"] for entry in read_manifest(folder)}
    plain_columns = json.loads(file_bytes(folder, "manifest.json"))["columns"]
    for name, header, cases in _files(folder):
        before = recorded.pop(name, None)
        if before is None:
            found.append(("minor", f"{name} is new"))
            continue
        columns, own = before["columns"], header["columns"]
        if gone := [one for one in columns if one not in own]:
            found.append(("major", f"{name} has no column {gone[0]} any more"))
            continue
        digits = [header["in_digits"], header["out_digits"]]
        wider = [now - old for now, old in zip(digits, before.get("digits", digits), strict=True)]
        if any(wider):
            need = "major" if min(wider) < 0 else "minor"
            found.append((need, f"{name} has words of other lengths"))
        plain, file = columns[: before["plain"]], f"plain/{name}.txt"
        if file not in listed:
            found.append(("major", f"{file} is gone"))
        elif plain_columns[file] != own[: header["plain"]]:
            found.append(("major", f"the manifest has other columns of {file} than its header"))
        if own[: header["plain"]][: len(plain)] != plain:
            found.append(("major", f"the plain file of {name} has other columns first"))
        elif len(own) > len(columns) or header["plain"] > before["plain"]:
            found.append(("minor", f"{name} has new columns"))
        found += _of_cases(name, before, header, cases)
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
    name: str, before: dict[str, Any], header: dict[str, Any], cases: list[dict[str, Any]]
) -> Iterator[tuple[str, str]]:
    """What changed in the cases of a file."""
    data = base64.b64decode(before["cases"])
    wanted = [data[at : at + _BYTES] for at in range(0, len(data), _BYTES)]
    at, named, moved = 0, sorted(cases, key=_name), []
    required, own = (_read(one) for one in (before.get("required"), _bits(header, cases)))
    for place, digest in enumerate(_digests(cases, before["columns"], header["columns"])):
        if at < len(wanted) and digest == wanted[at]:
            if "required" in before and (at in required) != (place in own):
                moved.append(_name(named[place]))
            at += 1
    if at < len(wanted):
        where = f", such as {_name(named[at])}" if len(named) == len(wanted) else ""
        yield "major", f"a case of {name} has another answer, or is gone{where}"
        return
    if moved:
        yield "major", f"other cases of {name} stand below required clauses, such as {moved[0]}"
    if len(named) > len(wanted):
        yield "minor", f"{name} has {len(named) - len(wanted)} new cases"


def _bits(header: dict[str, Any], cases: list[dict[str, Any]]) -> str:
    """Of each case, by name, a bit in base64: whether its clause is in `required`; "" if none is.

    >>> _bits({"rule": "A", "required": ["B"]}, [{"in": "02", "rule": "B"}, {"in": "01"}])
    'QA=='
    """
    rules = [case.get("rule", header["rule"]) for case in sorted(cases, key=_name)]
    digits = "".join(str(int(rule in header["required"])) for rule in rules)
    if "1" not in digits:
        return ""
    digits += "0" * (-len(digits) % 8)
    return base64.b64encode(int(digits, 2).to_bytes(len(digits) // 8, "big")).decode("ascii")


def _read(bits: str | None) -> set[int]:
    """The places of the bits that are set.

    >>> _read("QA==")
    {1}
    """
    text = "".join(f"{byte:08b}" for byte in base64.b64decode(bits or ""))
    return {place for place, digit in enumerate(text) if digit == "1"}


def _parts(folder: Path) -> dict[str, dict[str, str]]:
    """The parts of what is no file of cases, and of each the first digits of a digest."""
    manifest = json.loads(file_bytes(folder, "manifest.json"))
    names = [entry["file"] for entry in manifest["files"]]
    found: dict[str, dict[str, str]] = {name: {} for name in names if name == "schema.json"}
    for name in names:
        if name.startswith("thresholds/"):
            found[name] = dict(_steps(file_bytes(folder, name).decode("ascii")))
        elif name == "plain/encode.h":
            heads = _ARRAY.findall(file_bytes(folder, name).decode("ascii"))
            found[name] = dict.fromkeys(heads, "")
    families = manifest.get("level2", [])
    digests = {one["name"]: f"{one['cases']}:{one['sha256'][:12]}" for one in families}
    return {**found, "level2": digests}


def _steps(text: str) -> Iterator[tuple[str, str]]:
    """Each float type, rounding, sign and overflow method of a table of thresholds."""
    for line in json.loads(text)["tables"]:
        steps = {"saturate": line, **line.get("beyond", {})}
        for method, some in steps.items():
            part = f"{some['codes']}\n{some['from']}".encode("ascii")
            what = f"{line['float']} {line['rounding']} {line['sign']} {method}"
            yield what, hashlib.sha256(part).hexdigest()[:4]


def _of_parts(
    old: dict[str, dict[str, str]], own: dict[str, dict[str, str]]
) -> Iterator[tuple[str, str]]:
    """What changed in the parts."""
    for name, parts in old.items():
        if name not in own:
            yield "major", f"{name} is gone"
            continue
        if changed := [part for part in parts if own[name].get(part) != parts[part]]:
            yield "major", f"{name} has changed, or has no longer, {changed[0]}"
        if len(own[name].keys() - parts) > 0:
            yield "minor", f"{name} has new parts"
    if new := own.keys() - old:
        yield from (("minor", f"{name} is new") for name in sorted(new) if old)


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
        words = _ZEROS.sub("", f"{case['in']}\n{out}")
        text = f"{_name(case)}\n{words}"
        yield hashlib.sha256(text.encode("ascii")).digest()[:_BYTES]


def main(words: Sequence[str] | None = None) -> int:
    """Print what changed, or write the record; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", metavar="DATE", help="record today's vectors as released then")
    options = parser.parse_args(words)
    if options.write is not None:
        made = record(ROOT / "vectors", options.write)
        lines = [f"{json.dumps(name)}: {json.dumps(one)}" for name, one in made["files"].items()]
        head = f'{{"version": "{made["version"]}", "released": "{made["released"]}",\n'
        head += f'"parts": {json.dumps(made["parts"])},\n"files": {{\n'
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
