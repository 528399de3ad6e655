"""The pages of docs/ledger about products and integers, and what of records is not listed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = ["INTEGERS", "product_page", "product_summary"]

Record = Mapping[str, Any]

_INTRODUCTION = """\
# Products

Dot products and linear layers of real implementations, which claim a policy. Where it names an
accumulation, every output has to have its bits; otherwise every number has to be in the interval
that no order of float32 additions leaves (`mxref.matmul_bounds`), of the operands that the policy
gives. Asked are the [vectors](../../vectors/README.md), every row with every row, and random
operands, many under scales where something overflows. The sign of zeros and the bits of NaN are
left aside. That the operands of the linear layers are those of `mxref` bit for bit is checked by
[tests](../../tests/peers/test_linear_peers.py). What is a bug has a page in
[reports](../reports/README.md).
"""
#: The introduction of the page of integer operations.
INTEGERS = """\
# Integers

Affine quantization, int4 packing and RESCALE of real implementations, which claim choices of
[SPEC_NOTES](../../SPEC_NOTES.md) Q2 to Q12: every output has to have the bits of those that the
operation reads. Asked are the [vectors](../../vectors/README.md) and the parameters of every case
with random values in place of its own. More than 27 million values more are compared by
[tests](../../tests/peers/test_integer_peers.py), and more with `--complete`, 12 million with
torch's quantized tensors alone: none differs but where a test says so, and the end of
`pytest --peers current tests/peers` counts them.
What is a bug has a page in [reports](../reports/README.md). All was run on x86-64.
"""


def product_summary(record: Record, known: Sequence[Record]) -> tuple[str, int]:
    """A result in one line, and 1 if it has differences that are not listed.

    Listed ones that are gone are named, too.
    """
    total = sum(file["outputs"] for file in record["files"])
    some = [*_differences(record)]
    count = sum(one["count"] for _, one in some)
    why = _listed(record["adapter"], known)
    lines = [
        f"{file['op']} {file['format']} {file['float']}: {one['count']:,} x "
        + ", ".join(filter(None, (one["kind"], one["how"])))
        for file, one in some
        if not any(_is(each, file, one) for each in why)
    ]
    gone = (each for each in why if not any(_is(each, *pair) for pair in some))
    lines += [f"listed, but not found: {each['why']}" for each in gone]
    text = f"{total:,} outputs, {count:,} not as {record['policy']}"
    return text + "".join(f"\n    NOT LISTED: {line}" for line in lines), int(bool(lines))


def product_page(
    implementations: Sequence[Record],
    records: Mapping[str, Record],
    reports: Mapping[str, str],
    introduction: str = _INTRODUCTION,
) -> str:
    """The text of the page.

    Args:
        implementations: names, adapters, reports and known differences.
        records: of each adapter.
        reports: the title of each page of docs/reports by its name.
        introduction: what stands above the table: that of products, or `INTEGERS`.

    Raises:
        ValueError: an adapter that is not listed once.
    """
    named = Counter(name for one in implementations for name in one["adapters"])
    odd = sorted(name for name in {*named, *records} if named[name] != 1 or name not in records)
    if odd:
        raise ValueError(f"a list of adapters must have each of them once, not so {odd}")
    total = sum(file["outputs"] for one in records.values() for file in one["files"])
    lines = [introduction, f"{len(records)} adapters, {total:,} outputs.", ""]
    lines += ["| implementation | policy | operations × formats | outputs | against its policy |"]
    lines += ["| --- | --- | --- | --- | --- |"]
    for one in implementations:
        for name in one["adapters"]:
            lines.append(_row(one["name"], name, records[name]))
    for one in implementations:
        lines += _about(one, records, reports)
    return "\n".join(lines).rstrip() + "\n"


def _row(title: str, name: str, record: Record) -> str:
    formats: dict[str, set[str]] = {}
    for file in record["files"]:
        formats.setdefault(f"{file['op']} {file['float']}", set()).add(file["format"])
    has = "<br>".join(f"{op} × {len(some)}" for op, some in formats.items())
    total = sum(file["outputs"] for file in record["files"])
    wrong = sum(one["count"] for _, one in _differences(record))
    named = "accumulation" in record["policy"] or "policy" in record["files"][0]
    said = "have its bits" if named else "inside"
    against = f"all {said}" if not wrong else f"all but {wrong:,} {said}"
    mode = name.partition(".")[2]
    link = f"[{title}{f', {mode}' * bool(mode)}](../../tools/ledger/records/{name}.json)"
    return f"| {link} | `{record['policy']}` | {has} | {total:,} | {against} |"


def _about(one: Record, records: Mapping[str, Record], reports: Mapping[str, str]) -> Iterator[str]:
    """What differs, with an example for each reason, and the reports."""
    groups: dict[str, list[tuple[str, Record, Record]]] = {}
    for name in one["adapters"]:
        known = _listed(name, [one])
        for file, found in _differences(records[name]):
            reasons = (str(each["why"]) for each in known if _is(each, file, found))
            why = next(reasons, "not explained")
            groups.setdefault(why, []).append((name, file, found))
    if not groups and not one["reports"]:
        return
    yield from ("", f"## {one['name']}", "")
    for why, some in groups.items():
        count = sum(found["count"] for _, _, found in some)
        asked = sum(found["asked"] for _, _, found in some)
        where = ", ".join(
            dict.fromkeys(f"{name.partition('.')[2] or name} `{f['op']}`" for name, f, _ in some)
        )
        kinds = "; ".join(dict.fromkeys(found["kind"] for _, _, found in some))
        yield f"- {where}, {count:,} of {asked:,} outputs ({kinds}): {why}."
        shown = min(some, key=lambda each: (not each[2]["example"], len(each[2]["example"])))
        if shown[2]["example"]:
            _, file, found = shown
            yield f"  - `{file['op']}` {file['format']} {file['float']}: {found['example']}"
    yield from (f"- Bug: [{reports[name]}](../reports/{name}.md)" for name in one["reports"])


def _differences(record: Record) -> Iterator[tuple[Record, Record]]:
    for file in record["files"]:
        yield from ((file, one) for one in file["differences"])


def _listed(adapter: str, known: Sequence[Record]) -> list[Record]:
    return [
        each
        for of in known
        for each in of.get("differences", ())
        if adapter in of["adapters"] and each.get("adapter", adapter) == adapter
    ]


def _is(known: Record, file: Record, found: Record) -> bool:
    """Whether a listed difference is this one: everything that it names agrees."""
    said = {"op": file["op"], "format": file["format"], "float": file["float"],
            "kind": found["kind"], "how": found["how"]}  # fmt: skip
    for name, value in said.items():
        wanted = known.get(name, value)
        if value not in (wanted if isinstance(wanted, list) else [wanted]):
            return False
    return True
