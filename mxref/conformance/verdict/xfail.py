"""Known divergences of a target: case ids with a reason and a link, held strictly.

A JSON object: ``target``, and ``groups``, each of ``reason``, ``link`` and ``cases``. A listed case
that passes is an error, so that the list cannot rot.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mxref.support.whole_file import read_file, write_file

if TYPE_CHECKING:
    from mxref.conformance.verdict.verify import Report

__all__ = ["XfailError", "read_xfail", "write_xfail"]

_NOT_EXPLAINED = "to be explained"


class XfailError(ValueError):
    """An xfail file that cannot be used."""


def read_xfail(path: Path) -> dict[str, str]:
    """Reason by case id.

    Raises:
        XfailError: not such a file, a group without reason or link, or an id listed twice.
    """
    reasons: dict[str, str] = {}
    for group in _groups(path):
        reason, link = group["reason"], group["link"]
        lack = _lack(group)
        if lack:
            raise XfailError(f"{path}: {lack}")
        for id in group["cases"]:
            if id in reasons:
                raise XfailError(f"{path}: {id!r} is listed twice")
            reasons[id] = f"{reason} ({link})"
    return reasons


def write_xfail(path: Path, base: Path, report: Report) -> int:
    """Write an xfail file for a report's failures; returns how many cases have no reason yet.

    Groups of the file `base` keep those of their cases that still fail, or were not compared. The
    other failures go into groups of their own, one for each kind, whose reason and link a person is
    to fill in; until then `read_xfail` refuses them.
    """
    left = {failure.case.id: (file, failure) for file, failure in report.failures}
    asked = report.asked
    groups = []
    for group in _groups(base) if base.exists() else []:
        cases = [id for id in group["cases"] if left.pop(id, None) or id not in asked]
        if cases:
            groups.append({**group, "cases": cases})
    kinds: dict[str, list[str]] = {}
    for id, (file, failure) in left.items():
        why = failure.error or f"{failure.case.rule} {' '.join(failure.case.flags)}"
        kinds.setdefault(f"{_NOT_EXPLAINED}: {file.op} {file.format} {why}".strip(), []).append(id)
    groups += [{"reason": kind, "link": "", "cases": cases} for kind, cases in kinds.items()]
    text = json.dumps({"target": report.target.name, "groups": groups}, indent=1) + "\n"
    write_file(path, text.encode("utf-8"))
    return sum(len(group["cases"]) for group in groups if _lack(group))


def _lack(group: dict[str, Any]) -> str:
    """The reason why a group is not complete; empty if it is."""
    reason, link = group["reason"], group["link"]
    if not reason or reason.startswith(_NOT_EXPLAINED):
        return f"every group must have a reason that you have written, got {reason!r}"
    if not link.startswith("http"):
        return f"group {reason!r} must have an http link, got {link!r}"
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
        for group in groups:
            if set(group) != {"reason", "link", "cases"}:
                raise KeyError("a group has reason, link and cases")
            if not isinstance(group["reason"], str) or not isinstance(group["link"], str):
                raise TypeError("reason and link are strings")
            ids = group["cases"]
            if not isinstance(ids, list) or not all(isinstance(id, str) for id in ids):
                raise TypeError("cases are ids")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise XfailError(f"{path} is no xfail file: {error!r}") from None
    return list(groups)
