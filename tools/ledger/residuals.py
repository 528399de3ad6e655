"""Answers that are not the profile's: each must be explained in implementations.json."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from ledger.example_text import answer_text, question_text

__all__ = ["labels", "residual_lines", "residuals", "stem", "unlisted"]

Record = Mapping[str, Any]


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
    found = [(file, residual) for file in record["files"] for residual in residuals(file)]
    lines = [
        f"{stem(file)}: {residual['count']:,} x {residual['kind']}, {residual['how']}"
        for file, residual in found
        if not any(_is(one, file, residual) for one in known)
    ]
    if record["share"] == 1:
        gone = [one for one in known if not any(_is(one, *pair) for pair in found)]
        lines += [f"listed, but not found: {one['why']}" for one in gone]
    return lines


def residuals(file: Record) -> list[Record]:
    """The residuals of a file; that the profile says nothing of the file is one of them."""
    silent = {"kind": "all", "how": "the profile says nothing of it", "count": 0, "examples": ()}
    return [*file["residuals"], *[silent] * file["silent"]]


def _is(known: Record, file: Record, residual: Record) -> bool:
    """Whether a listed residual is this one: everything that it names agrees."""
    said = {"op": file["op"], "format": file["format"], "float": file["float"],
            "kind": residual["kind"], "how": residual["how"]}  # fmt: skip
    return all(known.get(name, value) == value for name, value in said.items())


def stem(file: Record) -> str:
    """Operation, format and float type."""
    return f"{file['op']} {file['format']} {file['float']}"


def labels(names: Collection[str]) -> dict[str, str]:
    """What a page calls each adapter: its mode where all are of one file, else its whole name."""
    stems = {name.partition(".")[0] for name in names}
    return {name: name.partition(".")[2] or name if len(stems) == 1 else name for name in names}


def residual_lines(records: Mapping[str, Record], one: Record) -> Iterator[str]:
    """Answers that are not the profile's: why, in which files, how many, and an example."""
    groups: dict[str, list[tuple[str, Record, Record]]] = {}
    for name, record in records.items():
        for file in record["files"]:
            for residual in residuals(file):
                known: Record = next(
                    (k for k in one.get("residuals", ()) if _is(k, file, residual)), {}
                )
                why = known.get("why", "not explained")
                if "report" in known:
                    why += f" ([report](../reports/{known['report']}.md))"
                groups.setdefault(why, []).append((name, file, residual))
    if not groups:
        return
    label = labels(records)
    yield from ("## What differs from the profile", "")
    for why, some in groups.items():
        where = ", ".join(dict.fromkeys(f"{label[name]} {file['op']}" for name, file, _ in some))
        count = sum(residual["count"] for _, _, residual in some)
        yield f"- {f'{count:,} cases of ' * bool(count)}{where}: {why}."
        for _, file, residual in some:
            if residual["examples"]:
                op, example = file["op"], residual["examples"][0]
                got, want = (answer_text(op, example, example[w]) for w in ("got", "profile"))
                yield f"  - {question_text(op, example)} gives {got}, the profile has {want}"
                break
    yield ""
