"""docs/ledger: the records as an index and a page per implementation, for people."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ledger.example_text import answer_text, question_text
from ledger.residuals import labels, residual_lines, residuals, stem

__all__ = ["Notes", "differing", "pages"]

Record = Mapping[str, Any]

_INTRODUCTION = """\
# The ledger

What real implementations of the OCP Microscaling formats do, bit for bit, found by running them.
Each one is compared with the [profile](../../mxref/profiles) that it claims, a model of it in
NumPy, and with `ocp`, the choices of mxref where the standard leaves one
([SPEC_NOTES](../../SPEC_NOTES.md)). A difference from `ocp` is no bug by itself: most are choices
that the standard allows. What is a bug has a page in [reports](../reports/README.md).

The cases are level 1 of the [vectors](../../vectors/README.md), the block product (every element
under every scale, for float32), every input where an operation takes one 16-bit float or one code,
every scale × element code, and ten million random elements of each adapter in blocks of all sizes
and spreads. A case is a number, a block, a code or, of `dequantize`, one product. Codes are
compared by their bits, those of NaN too; NaN to which something is decoded is one class.
"Bit-exact" means that no case differs from the profile. Dot products, matrix products and linear
layers are on a [page of their own](products.md), integer operations on [another](integers.md).

`tools/peers.sh FOLDER` makes the environments, runs everything and writes these pages. The counts
of every kind of difference by operation, format and float type, with an example of each, are in the
[records](../../tools/ledger/records).
"""
#: Operations whose questions are of the same kinds, and what such a question is about.
_CLASSES = {
    "encode": "number", "decode": "code", "encode_scale": "scale", "decode_scale": "scale byte",
    "shared_scale": "block", "quantize": "block", "dequantize": "product",
}  # fmt: skip
#: When a kind of question comes up.
_WHEN = {
    "block ordinary": "an ordinary block",
    "block NaN": "a block holds NaN",
    "block infinity": "a block holds an infinity",
    "block zeros": "a block of zeros only",
    "block scale byte 0": "magnitudes so small that the scale is 2^-127",
    "block amax of 2^127 and more": "magnitudes of 2^127 and more",
    "number ordinary": "an ordinary number",
    "number NaN": "a number is NaN",
    "number infinity": "a number is infinite",
    "number zero": "a number is a zero",
    "number beyond the largest number": "a number is beyond the format's largest",
    "number rounds to zero": "a number is so small that it rounds to zero",
    "number subnormal input": "a number is subnormal in its float type",
    "code ordinary": "an ordinary code",
    "code NaN": "a code of NaN",
    "code infinity": "a code of infinity",
    "code zero": "a code of zero",
    "scale ordinary": "an ordinary scale",
    "scale zero": "a scale is zero",
    "scale negative": "a scale is negative",
    "scale NaN": "a scale is NaN",
    "scale infinity": "a scale is infinite",
    "scale below 2^-127": "a scale is below 2^-127",
    "scale above 2^127": "a scale is above 2^127",
    "scale byte byte 00": "the scale byte is 00",
    "scale byte byte FF": "the scale byte is FF",
    "product ordinary": "an ordinary product",
    "product scale byte FF": "the scale byte is FF",
    "product scale byte 00": "the scale byte is 00",
    "product NaN element": "an element is NaN",
    "product infinite element": "an element is infinite",
    "product zero": "an element is a zero",
    "product beyond the float type": "a product is beyond the float type",
    "layout ordinary": "where codes lie in memory",
}
#: The kinds that every tensor has; differences in others are seen in special ones only.
_ORDINARY = ("block ordinary", "number ordinary", "product ordinary", "scale ordinary")
#: Special kinds that a verdict names.
_NAMED = 4
#: The operations whose examples say most, and the kinds.
_BEST = ("quantize", "dequantize", "encode", "shared_scale", "encode_scale", "decode", "pack")


@dataclass(frozen=True, slots=True)
class Notes:
    """What the pages take from other documents.

    Args:
        spec: the text of SPEC_NOTES.md: the clause of each choice, what each stage does.
        reports: the title of each page of docs/reports by its name.
    """

    spec: str
    reports: Mapping[str, str]

    def clauses(self, difference: Record) -> set[str]:
        """Those of the choices that make a difference; the question's own where a stage does."""
        rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \| (N\d+)", self.spec, re.M)
        known = {f"{choice}={value}": clause for choice, value, clause in rows}
        own = difference["clause"]
        return {str(known.get(reason, own)) for reason in difference["reasons"]} or {own}

    def stage(self, name: str) -> str:
        """What a replaced stage does, in the words of SPEC_NOTES."""
        found = re.search(rf"^\| `{re.escape(name)}` \| \w+ \| (.*) \|$", self.spec, re.M)
        return found[1] if found else ""


@dataclass(slots=True)
class _Row:
    """The differences of one kind, over operations, formats, float types and modes."""

    ops: dict[str, None] = field(default_factory=dict)
    modes: dict[str, None] = field(default_factory=dict)
    reasons: Counter[str] = field(default_factory=Counter)
    clauses: set[str] = field(default_factory=set)
    asked: int = 0
    count: int = 0


def pages(
    implementations: Sequence[Record], records: Mapping[str, Record], notes: Notes
) -> dict[str, str]:
    """The text of every page by its file name.

    Args:
        implementations: names, adapters, reports and known residuals.
        records: of each adapter.
        notes: SPEC_NOTES and the titles of the reports.

    Raises:
        ValueError: an adapter that is not listed once.
    """
    named = Counter(name for one in implementations for name in one["adapters"])
    odd = sorted(name for name in {*named, *records} if named[name] != 1 or name not in records)
    if odd:
        raise ValueError(f"implementations.json must list each adapter once, not so {odd}")
    head = (
        "implementation", "profiles", "operations × formats", "cases", "against its profile",
        "differs from `ocp` in", "bugs",
    )  # fmt: skip
    cases = sum(_cases(one) for one in records.values())
    about = f"{len(implementations)} implementations, {len(records)} adapters, {cases:,} cases."
    found, table = {}, []
    for one in implementations:
        some = {name: records[name] for name in one["adapters"]}
        table.append(_summary(one, [*some.values()], notes))
        found[_file(one)] = "\n".join(_page(one, some, notes)).rstrip() + "\n"
    index = [_INTRODUCTION, "## Summary", "", about, "", *_table(head, table)]
    return {"README.md": "\n".join(index) + "\n", **found}


def _cases(record: Record) -> int:
    return sum(sum(file["cases"].values()) for file in record["files"])


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(cell or " " for cell in line) + " |" for line in lines]


def _file(one: Record) -> str:
    """The page of an implementation: that of its library's adapter."""
    return f"{one['adapters'][0].partition('.')[0]}.md"


def _in_order(clauses: Iterable[str]) -> str:
    def key(clause: str) -> tuple[bool, int, str]:
        number = re.fullmatch(r"N(\d+)", clause)
        return number is None, int(number[1]) if number else 0, clause

    return " ".join(sorted(clauses, key=key))


def _summary(one: Record, records: Sequence[Record], notes: Notes) -> list[str]:
    """A row of the index."""
    operations: dict[str, set[str]] = {}
    for record in records:
        for file in record["files"]:
            operations.setdefault(file["op"], set()).add(file["format"])
    counts = Counter(len(formats) for formats in operations.values())
    has = [
        " ".join([*(op for op, formats in operations.items() if len(formats) == size)])
        + (f" × {size}" if size > 1 else "")
        for size in sorted(counts, reverse=True)
    ]
    return [
        f"[{one['name']}]({_file(one)})",
        "<br>".join(dict.fromkeys(f"`{record['profile']}`" for record in records)),
        "<br>".join(has),
        f"{sum(map(_cases, records)):,}",
        _against(records),
        _in_order(_clauses(records, notes)) or "nothing",
        "<br>".join(f"[{name}](../reports/{name}.md)" for name in one["reports"]),
    ]


def differing(
    implementations: Sequence[Record], records: Mapping[str, Record], notes: Notes
) -> tuple[dict[str, set[str]], dict[str, str]]:
    """The clauses in which each implementation differs from `ocp`; and all clauses, with titles."""
    rows = {
        one["name"]: _clauses([records[name] for name in one["adapters"]], notes)
        for one in implementations
    }
    every = _in_order({clause for clauses in rows.values() for clause in clauses}).split()
    titles = dict(re.findall(r"^### (N\d+) · (.*)$", notes.spec, re.M))
    return rows, {clause: titles[clause] for clause in every}


def _clauses(records: Sequence[Record], notes: Notes) -> set[str]:
    return {clause for row in _rows(records, notes).values() for clause in row.clauses}


def _against(records: Sequence[Record]) -> str:
    found = [r for record in records for file in record["files"] for r in residuals(file)]
    count = sum(r["count"] for r in found)
    text = f"bit-exact but for {count:,} cases" if count else "bit-exact"
    return text + "; some not modelled" * any(not r["count"] for r in found)


def _differences(records: Iterable[Record]) -> Iterator[tuple[Record, Record, Record]]:
    """Each difference after its record and file."""
    for record in records:
        for file in record["files"]:
            yield from ((record, file, one) for one in file["differences"])


def _kind(op: str, kind: str) -> str:
    return f"{_CLASSES.get(op, 'layout')} {kind}"


def _rows(records: Sequence[Record], notes: Notes) -> dict[str, _Row]:
    """The differences of each kind, the ordinary ones first."""
    rows = {kind: _Row() for kind in (*_ORDINARY, *_WHEN)}
    seen = set()
    for record, file, one in _differences(records):
        row = rows[_kind(file["op"], one["kind"])]
        row.ops[file["op"]] = row.modes[record["adapter"]] = None
        row.reasons.update(one["reasons"])
        row.clauses |= notes.clauses(one)
        row.count += one["count"]
        place = record["adapter"], stem(file), one["kind"]
        row.asked += one["asked"] * (place not in seen)
        seen.add(place)
    return {kind: row for kind, row in rows.items() if row.count}


def _page(one: Record, records: Mapping[str, Record], notes: Notes) -> list[str]:
    rows = _rows([*records.values()], notes)
    lines = [f"# {one['name']}", "", *_verdict(records, rows), "", "## What was run"]
    label = labels(records)
    for name, record in records.items():
        adapter = f"{name.partition('.')[0]}_adapter.py"
        if (text := f"By [{adapter}](../../tools/adapters/{adapter}):") not in lines:
            lines += ["", text, ""]
        share = f", one in {record['share']} of what others are asked" * (record["share"] > 1)
        lines.append(
            f"- [{label[name]}](../../tools/ledger/records/{name}.json): {_cases(record):,} "
            f"cases{share}; profile `{record['profile']}`; {record['version']}"
        )
    sources = dict.fromkeys(record["source"].partition(":")[0] for record in records.values())
    lines += ["", f"Source: {'; '.join(sources)}.", "", *residual_lines(records, one)]
    lines += ["## What differs from `ocp`", ""]
    if not rows:
        return [*lines, "Nothing: every answer is that of `ocp`.", "", *_bugs(one, notes)]
    head = ["when", "operations", "modes", "differ", "because of", "clauses"]
    table = []
    for kind, row in rows.items():
        modes = "all" if {*row.modes} == {*records} else " ".join(label[name] for name in row.modes)
        because = [f"`{name}`" for name, _ in row.reasons.most_common(4)]
        cells = [_WHEN[kind], " ".join(row.ops), modes, _percent(row), "<br>".join(because)]
        table.append([*cells, _in_order(row.clauses)])
    if len(records) == 1:
        head, *table = ([*line[:2], *line[3:]] for line in (head, *table))
    lines += [*_table(head, table), ""]
    stages = dict.fromkeys(n for row in rows.values() for n, _ in row.reasons.most_common(4))
    said = [f"- `{name}`: {notes.stage(name)}." for name in stages if notes.stage(name)]
    lines += (
        [
            "The stages of the profile, by their rows in [SPEC_NOTES](../../SPEC_NOTES.md):",
            "",
            *said,
            "",
        ]
        if said
        else []
    )
    return [*lines, *_example(records, rows, notes), *_bugs(one, notes)]


def _verdict(records: Mapping[str, Record], rows: Mapping[str, _Row]) -> Iterator[str]:
    """Two sentences: against the profile, and against `ocp`."""
    cases, some = sum(map(_cases, records.values())), [*records.values()]
    count = sum(
        r["count"] for record in some for file in record["files"] for r in file["residuals"]
    )
    of = "its profile" if len({one["profile"] for one in some}) == 1 else "the profile of its mode"
    few = f"All but {count:,}" if count else "All"
    yield f"{few} of {cases:,} answers are those of {of}, bit for bit."
    ordinary = {op: None for kind in _ORDINARY if kind in rows for op in rows[kind].ops}
    special = [_WHEN[kind] for kind in rows if kind not in _ORDINARY]
    if len(special) > _NAMED + 1:
        special = [*special[:_NAMED], f"{len(special) - _NAMED} other kinds"]
    if ordinary:
        more = f", and so do special cases: {'; '.join(special)}" if special else ""
        ops = ", ".join(f"`{op}`" for op in ordinary)
        yield f"Ordinary inputs of {ops} differ from `ocp`{more}."
    elif special:
        yield f"Ordinary inputs get the answers of `ocp`; others differ: {'; '.join(special)}."
    else:
        yield "They are also those of `ocp`."


def _percent(row: _Row) -> str:
    share = 100 * row.count / row.asked
    return "all" if row.count == row.asked else f"{share:.1f} %" if share >= 0.05 else "< 0.1 %"


def _example(
    records: Mapping[str, Record], rows: Mapping[str, _Row], notes: Notes
) -> Iterator[str]:
    """One difference, the most telling one, step by step."""
    order = [*rows]

    def rank(found: tuple[Record, Record, Record]) -> tuple[int, int]:
        op = found[1]["op"]
        return order.index(_kind(op, found[2]["kind"])), _BEST.index(op) if op in _BEST else 9

    with_one = [d for d in _differences(records.values()) if "got" in d[2].get("example", ())]
    if not with_one:
        return
    record, file, one = min(with_one, key=rank)
    op, example = file["op"], one["example"]
    because = " and ".join(f"`{name}`" for name in [*one["reasons"]][:2])
    words = "hex words, `*31` for 31 equal ones, then the values"
    if op == "quantize":
        words += (
            "; an answer is the scale byte and the element codes, its values are what `ocp` reads"
        )
    yield from ("## An example", "", f"`{op}` under `{record['profile']}` ({words}):", "")
    yield f"- question: {question_text(op, example)}"
    yield f"- it answers {answer_text(op, example, example['got'])}"
    yield f"- `ocp` answers {answer_text(op, example, example['ocp'])}"
    yield f"- such differences come from {because} ({_in_order(notes.clauses(one))})"
    yield ""


def _bugs(one: Record, notes: Notes) -> Iterator[str]:
    if one["reports"]:
        yield from ("## Bugs", "")
        yield from (f"- [{notes.reports[name]}](../reports/{name}.md)" for name in one["reports"])
