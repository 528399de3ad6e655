"""Known divergences of a target: case ids and kinds with a reason and a link, held strictly.

A JSON object: ``target``, and ``groups``, each of ``reason``, ``link`` (a reference of any kind: an
address, a ticket, a path, a sentence) and ``cases``, ids of cases of the vectors. A group may have
``kinds`` for what is in no vector file: wrong answers to computed questions ("encode e4m3 MX-5.3.1
tie by +1 for 08..10": operation, format, clause, flags, and the change, in codes, where codes of
these magnitudes are right; answers with more flags are covered as well, and all changes by a kind
that names none), errors
("encode e4m3 ValueError: no NaN here"), and ways of calling ("quantize mxfp4_e2m1 size"). What is
listed and passes is an error, so that the list cannot rot.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mxref.cases.records import VectorFile
from mxref.conformance.compare.compare import Failure
from mxref.conformance.verdict.failure_kinds import kind_of, listed_as, narrow_kinds
from mxref.support.text import damage
from mxref.support.whole_file import read_file, write_file

if TYPE_CHECKING:
    from mxref.conformance.verdict.report import Report

__all__ = ["XfailError", "read_xfail", "refuse_missing_folder", "write_xfail"]

_NOT_EXPLAINED = "to be explained"
_KEYS = {"reason", "link", "cases"}


class XfailError(ValueError):
    """An xfail file that cannot be used."""


def read_xfail(path: Path) -> dict[str, str]:
    """Reason by case id, by kind and by way of calling.

    Raises:
        XfailError: not such a file, a group without reason or link, or something listed twice.
    """
    reasons: dict[str, str] = {}
    for group in _groups(path):
        reason, link = group["reason"], group["link"]
        lack = _lack(group)
        if lack:
            raise XfailError(f"{path}: {lack}")
        for key in _keys(group):
            if key in reasons:
                raise XfailError(f"{path}: {key!r} is listed twice")
            reasons[key] = f"{reason} ({link})"
    return reasons


def refuse_missing_folder(path: Path) -> None:
    """Refuse a file to write that is in no folder.

    Raises:
        XfailError: its folder does not exist.
    """
    if not path.parent.is_dir():
        raise XfailError(f"{path} must be in a folder that exists, and {path.parent} does not")


def write_xfail(path: Path, base: Path, report: Report) -> tuple[int, int, int]:
    """Write an xfail file for a report's failures.

    Returns how many groups it has, how many kinds are in groups without cases, and how many groups
    have no reason or no link yet.

    Groups of the file `base` keep those of their entries that still fail, or were not asked for.
    The other failures go into groups of their own, one for each kind, with the kind, and one for
    each way of calling, whose reason and link a person is to fill in; until then `read_xfail`
    refuses them. A kind that another one of fewer flags covers gets no group.

    Raises:
        XfailError: `base` is no xfail file, or `path` is in a folder that does not exist.
    """
    refuse_missing_folder(path)
    groups, kept, asked = [], set[str](), report.asked
    for group in _groups(base) if base.exists() else []:
        failed = report.under(_keys(group))
        cases = [id for id in group["cases"] if id in failed or id not in asked]
        kinds = [
            kind for kind in group.get("kinds", []) if kind in failed or not report.tells(kind)
        ]
        kept.update(cases, kinds)
        if cases or kinds:
            groups.append(_group(group["reason"], group["link"], cases, kinds))
    alike: dict[str, list[tuple[VectorFile, Failure]]] = {}
    for pair in sorted(report.failures, key=lambda pair: len(pair[1].case.flags)):
        if listed_as(*pair, kept) is None:
            alike.setdefault(kind_of(*pair), []).append(pair)
    new: dict[str, tuple[list[str], list[str]]] = {}
    covering: set[str] = set(kept)
    for kind, pairs in sorted(alike.items(), key=_without_cases):
        cases = [failure.case.id for _, failure in pairs if failure.case.model]
        if not cases:
            pairs = [pair for pair in pairs if listed_as(*pair, covering) is None]
        kinds = narrow_kinds(pairs) if report.scope.searched else []
        covering.update(kinds)
        if cases or kinds:
            new[kind] = (cases, kinds)
    new |= {use.key: ([], [use.key]) for use in report.uses if use.key not in kept}
    groups += [
        _group(f"{_NOT_EXPLAINED}: {kind}", "", cases, [one for one in kinds if one not in kept])
        for kind, (cases, kinds) in new.items()
    ]
    text = json.dumps({"target": report.target.name, "groups": groups}, indent=1) + "\n"
    write_file(path, text.encode("utf-8"))
    others = sum(len(group["kinds"]) for group in groups if not group["cases"])
    return len(groups), others, sum(bool(_lack(group)) for group in groups)


def _without_cases(alike: tuple[str, list[tuple[VectorFile, Failure]]]) -> bool:
    """Kinds of cases of the vectors come first, the others after them in their order."""
    return not any(failure.case.model for _, failure in alike[1])


def _group(reason: str, link: str, cases: list[str], kinds: list[str]) -> dict[str, Any]:
    group: dict[str, Any] = {"reason": reason, "link": link, "cases": cases}
    return group | {"kinds": kinds} if kinds else group


def _keys(group: dict[str, Any]) -> list[str]:
    return [*group["cases"], *group.get("kinds", [])]


def _lack(group: dict[str, Any]) -> str:
    """The reason why a group is not complete; empty if it is."""
    reason, link = group["reason"], group["link"]
    if not reason or reason.startswith(_NOT_EXPLAINED):
        return f"every group must have a reason that you have written, got {reason!r}"
    if not link.strip():
        return f"group {reason!r} must have a link (an address, a ticket, a sentence), got {link!r}"
    return ""


def _groups(path: Path) -> list[dict[str, Any]]:
    try:
        data = read_file(path)
    except OSError as error:
        raise XfailError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise XfailError(str(error)) from None
    try:
        record = json.loads(data.decode("utf-8"))
        groups = record["groups"]
        if not isinstance(groups, list) or not all(isinstance(one, dict) for one in groups):
            raise ValueError("groups are a list of objects")
        for group in groups:
            _check(group)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise XfailError(f"{path} is no xfail file: {damage(error)}") from None
    return list(groups)


def _check(group: Mapping[str, Any]) -> None:
    """Refuse a group that is none.

    Raises:
        ValueError: it is none.
    """
    if set(group) - {"kinds"} != _KEYS:
        raise ValueError("a group has reason, link and cases, and may have kinds")
    if not isinstance(group["reason"], str) or not isinstance(group["link"], str):
        raise ValueError("reason and link are strings")
    kinds = group.get("kinds", [])
    for some in (group["cases"], kinds):
        if not isinstance(some, list) or not all(isinstance(one, str) for one in some):
            raise ValueError("cases are ids, kinds are strings")
    if any(len(kind.split(" ", 2)) < 3 for kind in kinds):
        raise ValueError("a kind has an operation, a format, and a clause or what is wrong")
    if any(" " in id for id in group["cases"]):
        raise ValueError("an id has no blanks")
