"""LEDGER.md: the records of `tools/ledger.py` as a page for people."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ledger.example_text import answer_text, question_text

__all__ = ["page", "unlisted"]

Record = Mapping[str, Any]

_INTRODUCTION = """\
# The ledger

What real implementations of the OCP Microscaling formats do, bit for bit, found by running them.
Each one is compared with the [profile](mxref/profiles) that it claims, a model of it in NumPy,
and with `ocp`, the choices of mxref where the standard leaves one ([SPEC_NOTES](SPEC_NOTES.md)).
A difference from `ocp` is no bug by itself: most are choices that the standard allows. What is a
bug has a page in [reports](reports/README.md).

The cases are level 1 of the [vectors](vectors/README.md), the block product (every element under
every scale, for float32), every input where an operation takes one 16-bit float or one code,
every scale × element code, and ten million random elements of each adapter in blocks of all sizes
and spreads. A case is a number, a block, a code or, of `dequantize`, one product. Codes are
compared by their bits, those of NaN too; NaN to which something is decoded is one class.
"Bit-exact" means that no case differs from the profile.

`tools/peers.sh FOLDER` makes the environments, runs everything and writes this page; the records
are in [ledger](ledger).
"""
_HOW_TO_READ = """\
For each profile what differs from `ocp`, by what the question holds (a block with NaN, with an
infinity, ...) and by what differs in the answer: "differ" counts such questions of all formats
and float types, "because of" names the choices ([SPEC_NOTES](SPEC_NOTES.md#choices)) and the
replaced stages ([SPEC_NOTES](SPEC_NOTES.md#stages-that-profiles-replace)) that make the
difference. The example is the simplest one that was found: hex words, `*31` for 31 equal ones,
then the values; an answer to a block is its scale byte and its element codes, and its values are
what `ocp` reads from these.
"""


def page(implementations: Sequence[Record], records: Mapping[str, Record], notes: str) -> str:
    """The page.

    Args:
        implementations: names, adapters, reports and known residuals.
        records: of each adapter.
        notes: SPEC_NOTES, whose table of choices names the clause of each.

    Raises:
        ValueError: an adapter that is not listed once.
    """
    named = Counter(name for one in implementations for name in one["adapters"])
    odd = sorted(name for name in {*named, *records} if named[name] != 1 or name not in records)
    if odd:
        raise ValueError(f"implementations.json must list each adapter once, not so {odd}")
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \| (N\d+)", notes, re.M)
    clauses = {f"{choice}={value}": clause for choice, value, clause in rows}
    of = [(one, {name: records[name] for name in one["adapters"]}) for one in implementations]
    head = (
        "implementation", "profiles", "operations × formats", "cases", "against its profile",
        "differs from `ocp` in", "bugs",
    )  # fmt: skip
    cases = sum(_cases(one) for one in records.values())
    about = f"{len(of)} implementations, {len(records)} adapters, {cases:,} cases."
    table = _table(head, [_summary(one, [*some.values()], clauses) for one, some in of])
    lines = [_INTRODUCTION, "## Summary", "", about, "", *table, ""]
    lines += ["## What each one does", "", _HOW_TO_READ]
    for one, some in of:
        lines += _section(one, some, clauses)
    return "\n".join(lines).rstrip() + "\n"


def unlisted(record: Record, implementations: Sequence[Record]) -> list[str]:
    """What makes the ledger fail: residuals that are not listed, and listed ones that are gone.

    Args:
        record: of an adapter.
        implementations: the list, each with what is known of it in `residuals`.
    """
    known = [
        one
        for of in implementations
        for one in of.get("residuals", ())
        if one["adapter"] == record["adapter"]
    ]
    found = [(file, residual) for file in record["files"] for residual in _all(file)]
    lines = [
        f"{_stem(file)}: {residual['count']:,} x {residual['kind']}, {residual['how']}"
        for file, residual in found
        if not any(_is(one, file, residual) for one in known)
    ]
    if record["share"] == 1:
        gone = [one for one in known if not any(_is(one, *pair) for pair in found)]
        lines += [f"listed, but not found: {one['why']}" for one in gone]
    return lines


def _all(file: Record) -> list[Record]:
    """The residuals of a file; as one of them that the profile says nothing of it."""
    silent = {"kind": "all", "how": "the profile says nothing of it", "count": 0, "examples": ()}
    return [*file["residuals"], *[silent] * file["silent"]]


def _is(known: Record, file: Record, residual: Record) -> bool:
    """Whether a listed residual is this one: all that it says is so."""
    said = {"op": file["op"], "format": file["format"], "float": file["float"],
            "kind": residual["kind"], "how": residual["how"]}  # fmt: skip
    return all(known.get(name, value) == value for name, value in said.items())


def _stem(file: Record) -> str:
    return f"{file['op']} {file['format']} {file['float']}"


def _cases(record: Record) -> int:
    return sum(sum(file["cases"].values()) for file in record["files"])


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(cell or " " for cell in line) + " |" for line in lines]


def _summary(one: Record, records: Sequence[Record], clauses: Mapping[str, str]) -> list[str]:
    files = [file for record in records for file in record["files"]]
    operations: dict[str, set[str]] = {}
    for file in files:
        operations.setdefault(file["op"], set()).add(file["format"])
    counts = Counter(len(formats) for formats in operations.values())
    has = [
        " ".join([*(op for op, formats in operations.items() if len(formats) == size)])
        + (f" × {size}" if size > 1 else "")
        for size in sorted(counts, reverse=True)
    ]
    residuals = [one for record in records for file in record["files"] for one in _all(file)]
    count = sum(one["count"] for one in residuals)
    against = f"bit-exact but for {count:,} cases" if count else "bit-exact"
    if any(not one["count"] for one in residuals):
        against += "; some not modelled"
    differs = {
        c for record in records for _, _, d in _differences(record) for c in _clauses(d, clauses)
    }
    pages = [f"[{name}](reports/{name}.md)" for name in one["reports"]]
    return [
        f"[{one['name']}](#{_anchor(one['name'])})",
        "<br>".join(dict.fromkeys(f"`{record['profile']}`" for record in records)),
        "<br>".join(has),
        f"{sum(map(_cases, records)):,}",
        against,
        " ".join(sorted(differs, key=_clause_order)) or "nothing",
        "<br>".join(pages),
    ]


def _anchor(title: str) -> str:
    """What GitHub makes of a heading."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def _clause_order(clause: str) -> tuple[bool, int, str]:
    number = re.fullmatch(r"N(\d+)", clause)
    return number is None, int(number[1]) if number else 0, clause


def _clauses(difference: Record, clauses: Mapping[str, str]) -> set[str]:
    """Those of the choices that make a difference; the question's own where a stage makes it."""
    own = difference["clause"]
    return {clauses.get(reason, own) for reason in difference["reasons"]} or {own}


def _differences(record: Record) -> Iterator[tuple[tuple[str, str, str], Record, Record]]:
    """Each difference with its file, by operation, kind and how."""
    for file in record["files"]:
        for one in file["differences"]:
            yield (file["op"], one["kind"], one["how"]), file, one


def _section(one: Record, records: Mapping[str, Record], clauses: Mapping[str, str]) -> list[str]:
    lines = [f"### {one['name']}", ""]
    for name, record in records.items():
        lines += [f"#### {name}: `{record['profile']}`", ""]
        lines += [f"{record['source']}; {record['version']}.", ""]
        share = f", one in {record['share']} of what others are asked" * (record["share"] > 1)
        cases: Counter[str] = Counter()
        for file in record["files"]:
            cases.update(file["cases"])
        parts = ", ".join(f"{count:,} {origin}" for origin, count in cases.items())
        lines += [f"{_cases(record):,} cases{share}: {parts}.", "", *_residuals(record, one)]
        rows = [*_rows(record, clauses)]
        if rows:
            head = ("operation", "question", "differs in", "formats", "differ", "because of",
                    "clauses", "asked", "it answers", "`ocp` answers")  # fmt: skip
            lines += [*_table(head, rows), ""]
        else:
            lines += ["No answer differs from `ocp`.", ""]
    return lines


def _rows(record: Record, clauses: Mapping[str, str]) -> Iterator[list[str]]:
    """One row for each kind of difference of an operation, over all formats and float types."""
    groups: dict[tuple[str, str, str], list[tuple[Record, Record]]] = {}
    for key, file, difference in _differences(record):
        groups.setdefault(key, []).append((file, difference))
    for (op, kind, how), some in groups.items():
        has = dict.fromkeys(file["format"] for file in record["files"] if file["op"] == op)
        formats = dict.fromkeys(file["format"] for file, _ in some)
        reasons: Counter[str] = Counter()
        for _, one in some:
            reasons.update(one["reasons"])
        names = [f"`{name}`" for name, _ in reasons.most_common(4)]
        differ = f"{sum(d['count'] for _, d in some):,} of {sum(d['asked'] for _, d in some):,}"
        of = {clause for _, one in some for clause in _clauses(one, clauses)}
        example = next((one["example"] for _, one in some if "example" in one), None)
        shown = ["", "", ""]
        if example is not None:
            shown = [question_text(op, example), *(
                answer_text(op, example, example[who]) if who in example else "it raises"
                for who in ("got", "ocp")
            )]  # fmt: skip
        yield [
            op,
            kind,
            how,
            "all" if len(has) == len(formats) > 1 else " ".join(formats),
            differ,
            "<br>".join(names),
            " ".join(sorted(of, key=_clause_order)),
            *shown,
        ]


def _residuals(record: Record, one: Record) -> list[str]:
    """Answers that are not the profile's, one by one below what is known of them."""
    groups: dict[str, list[str]] = {}
    for file in record["files"]:
        for residual in _all(file):
            known = next((k for k in one.get("residuals", ()) if _is(k, file, residual)), None)
            why = "not explained" if known is None else known["why"]
            if known is not None and "report" in known:
                why += f" ([report](reports/{known['report']}.md))"
            lines = groups.setdefault(f"- **Not the profile's**: {why}.", [])
            if not residual["count"]:
                lines.append(f"  - {_stem(file)}: {residual['how']}")
                continue
            text = f"{_stem(file)}, {residual['kind']}, {residual['how']}: {residual['count']:,}"
            lines.append(f"  - {text} of {sum(file['cases'].values()):,} cases")
            lines += [
                f"    - {question_text(file['op'], example)} gives "
                f"{answer_text(file['op'], example, example['got'])}, the profile has "
                f"{answer_text(file['op'], example, example['profile'])}"
                for example in residual["examples"]
            ]
    if not groups:
        return ["Bit-exact with the profile.", ""]
    return [line for why, lines in groups.items() for line in (why, *lines)] + [""]
