"""The canonical spelling of a case in a vector file, which one regular expression reads."""

from __future__ import annotations

import re
from typing import Any

from mxref.cases.records import json_line

__all__ = ["CASE", "LINE", "canonical", "spelling"]

#: Keys of a case in their order, and types of their values.
CASE = {
    "name": str,
    "in": str,
    "out": (str, list),
    "by": str,
    "rule": str,
    "model": str,
    "flags": list,
}
#: A case in canonical spelling; that its rule differs from the usual one is checked afterwards.
LINE = re.compile(
    r'\{(?:"name":"(?P<name>[\w-]+)",)?"in":"(?P<inputs>[0-9a-f ]+)",'
    r'"out":(?:"(?P<out>[0-9a-f ]+)"|\["(?P<several>[0-9a-f ",]+)"\],"by":"(?P<by>[0-9a-z]+)")'
    r'(?:,"rule":"(?P<rule>[\w.-]+)")?,"model":"(?P<model>\w+)"'
    r'(?:,"flags":\["(?P<flags>[\w",]+)"\])?\}',
    re.ASCII,
)


def canonical(line: str, usual: str) -> dict[str, Any] | None:
    """The object of a line in canonical spelling; None for another line."""
    match = LINE.fullmatch(line)
    if match is None:
        return None
    name, inputs, out, several, by, rule, model, flags = match.groups()
    if rule == usual:
        return None
    record = {"in": inputs, "out": out or several.split('","'), "model": model}
    more = {"name": name, "by": by, "rule": rule, "flags": flags and flags.split('","')}
    return record | {key: value for key, value in more.items() if value is not None}


def spelling(record: dict[str, Any], usual: str) -> str:
    """The canonical line of a record whose words were checked: only its keys may be wrong."""
    unsaid = {"rule": usual, "flags": []}
    said = {key: record[key] for key in CASE if key in record}
    return json_line({key: value for key, value in said.items() if unsaid.get(key) != value})
