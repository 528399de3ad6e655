"""Known divergences of a target: case ids with a reason and a link, held strictly.

A JSON object: ``target``, and ``groups``, each of ``reason``, ``link`` and ``cases``. A listed case
that passes is an error, so that the list cannot rot.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mxref.golden.regen import write_file

__all__ = ["XfailError", "read_xfail", "write_xfail"]

_NOT_EXPLAINED = "not explained yet"


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
        if not link.startswith("http") or not reason or reason == _NOT_EXPLAINED:
            raise XfailError(f"{path}: every group must have a reason and a link, got {reason!r}")
        for id in group["cases"]:
            if id in reasons:
                raise XfailError(f"{path}: {id!r} is listed twice")
            reasons[id] = f"{reason} ({link})"
    return reasons


def write_xfail(path: Path, target: str, failed: Iterable[str]) -> int:
    """Write an xfail file for these failures; returns how many have no reason yet.

    Groups that the file already has keep those of their cases that still fail; the other failures
    go into a group of their own, whose reason and link a person is to fill in.
    """
    left = dict.fromkeys(failed)
    groups = []
    for group in _groups(path) if path.exists() else []:
        cases = [id for id in group["cases"] if id in left]
        for id in cases:
            left.pop(id, None)
        if cases:
            groups.append({**group, "cases": cases})
    if left:
        groups.append({"reason": _NOT_EXPLAINED, "link": "", "cases": list(left)})
    text = json.dumps({"target": target, "groups": groups}, indent=1) + "\n"
    write_file(path, text.encode("utf-8"))
    return len(left)


def _groups(path: Path) -> list[dict[str, Any]]:
    try:
        record = json.loads(path.read_text("utf-8"))
        groups = record["groups"]
        for group in groups:
            if set(group) != {"reason", "link", "cases"}:
                raise KeyError("a group has reason, link and cases")
            if not isinstance(group["reason"], str) or not isinstance(group["link"], str):
                raise TypeError("reason and link are strings")
            if not all(isinstance(id, str) for id in group["cases"]):
                raise TypeError("cases are ids")
    except OSError as error:
        raise XfailError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise XfailError(f"{path} is no xfail file: {error!r}") from None
    return list(groups)
