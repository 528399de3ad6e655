"""The JSON Schema of the vectors, of their manifest and of thresholds, from their vocabulary."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from mxref._version import VECTORS_VERSION
from mxref.bits.floats import LAYOUTS
from mxref.cases.records import DIGITS, SPEC
from mxref.cases.words import FLAGS, models, rules
from mxref.formats.catalog import BLOCK_FORMATS, CODE_FORMATS, E8M0, OTHER_BLOCK_FORMATS
from mxref.operations.layouts import SLOTS
from mxref.operations.own_choices import DEFAULT
from mxref.operations.product_words import BOUNDS, PAIRS
from mxref.operations.registry import CALL_OPERATIONS, OPERATIONS, REGISTRY
from mxref.policy.policy import Policy

__all__ = ["schema", "schema_lines"]

_DIGITS = (2, 3, 4, 8, 16)


def schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a header or a case, of the manifest and of thresholds.

    >>> sorted(schema()["$defs"]["case"]["properties"])
    ['by', 'flags', 'in', 'model', 'name', 'out', 'rule']
    """
    words = {"type": "string", "pattern": f"^({'|'.join(map(_words, _DIGITS))})$"}
    choices = "|".join(
        f"{name}=({'|'.join(member.value for member in Policy.members(name))})"
        for name in Policy().choices()
    )
    asked = [(op, format) for op in CALL_OPERATIONS for format in CALL_OPERATIONS[op].formats]
    bounds = "|".join(
        dict.fromkeys((*BOUNDS, *(c for op, format in asked for c in REGISTRY[op].bounds(format))))
    )
    integers = _integer_policies(asked)
    formats = [*CODE_FORMATS, E8M0.name, *BLOCK_FORMATS, *OTHER_BLOCK_FORMATS, *PAIRS]
    formats += [format for _, format in asked if format not in formats]
    formats = list(dict.fromkeys(formats))
    header = {
        "mxref_vectors": {"const": VECTORS_VERSION},
        "spec": {"const": SPEC},
        "op": {"enum": list(OPERATIONS)},
        "format": {"enum": formats},
        "float": {
            "enum": [*LAYOUTS, *SLOTS],
            "description": "the float type; `bytes` or a layout where the format says the types",
        },
        "columns": _set(
            {"type": "string", "pattern": f"^(ocp([+]({choices}))*|{bounds}|{integers})$"}, 1
        ),
        "plain": {"type": "integer", "minimum": 1},
        "in_digits": {"enum": list(_DIGITS)},
        "out_digits": {"enum": list(_DIGITS)},
        "cases": {"type": "integer", "minimum": 1},
        "rule": {"enum": list(rules())},
        "required": {
            **_set({"enum": list(rules())}, 0),
            "description": "clauses whose cases have one right answer, that of the first column",
        },
        "rules": _texts(rules()),
        "models": _texts(models()),
        "flags": _texts(FLAGS),
    }
    case = {
        "name": {"type": "string", "pattern": "^[0-9A-Za-z_-]+$"},
        "in": words,
        "out": {"oneOf": [words, {**_set(words, 2), "maxItems": len(DIGITS)}]},
        "by": {"type": "string", "pattern": "^[0-9a-z]{2,}$"},
        "rule": {"enum": list(rules())},
        "model": {"enum": list(models())},
        "flags": _set({"enum": list(FLAGS)}, 1),
    }
    one_answer = {"properties": {"out": {"type": "string"}}, "not": {"required": ["by"]}}
    several = {"properties": {"out": {"type": "array"}}, "required": ["by"]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of an mxref vector file: the header, or a case",
        "oneOf": [{"$ref": "#/$defs/header"}, {"$ref": "#/$defs/case"}],
        "$defs": {
            "header": _object(header, list(header)),
            "case": {
                **_object(case, ["in", "out", "model"]),
                "oneOf": [one_answer, several],
            },
            "manifest": _manifest(),
            "thresholds": _thresholds(words),
        },
    }


def _integer_policies(asked: list[tuple[str, str]]) -> str:
    """The pattern of policies of operations with choices of their own, each choice once."""
    members: dict[str, dict[str, None]] = {}
    for op, format in asked:
        for name, some in CALL_OPERATIONS[op].choices(format).items():
            members.setdefault(name, {}).update(dict.fromkeys(some))
    one = "|".join(f"{name}=({'|'.join(some)})" for name, some in members.items())
    return f"{DEFAULT}|({one})([+]({one}))*"


def _manifest() -> dict[str, Any]:
    """The schema of `manifest.json`."""
    text = {"type": "string"}
    digest = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
    cases = {"type": "integer", "minimum": 0}
    file = {"file": text, "sha256": digest, "cases": cases}
    names = dict.fromkeys(("name", "op", "format", "float", "policy", "inputs"), text)
    family = {**names, "cases": cases, "sha256": digest}
    manifest = {
        "mxref_vectors": {"const": VECTORS_VERSION},
        "spec": {"const": SPEC},
        "files": _set(_object(file, list(file)), 1),
        "columns": {"type": "object", "additionalProperties": _set(text, 1)},
        "level2": _set(_object(family, list(family)), 0),
    }
    return _object(manifest, ["mxref_vectors", "spec", "files", "columns"])


def _thresholds(words: dict[str, Any]) -> dict[str, Any]:
    """The schema of a file of thresholds."""
    steps = {"codes": words, "from": words}
    table = {
        "float": {"enum": list(LAYOUTS)},
        "rounding": {"enum": [member.value for member in Policy.members("rounding")]},
        "sign": {"enum": ["+", "-"]},
        **steps,
        "beyond": {"type": "object", "additionalProperties": _object(steps, list(steps))},
    }
    document = {
        "mxref_vectors": {"const": VECTORS_VERSION},
        "thresholds": {"type": "string"},
        "floats": _set({"enum": list(LAYOUTS)}, 1),
        "tables": _set(_object(table, ["float", "rounding", "sign", *steps]), 0),
    }
    return _object(document, list(document))


def schema_lines() -> Iterator[str]:
    """The canonical text of the schema, without line ends."""
    yield from json.dumps(schema(), indent=1).split("\n")


def _words(digits: int) -> str:
    word = f"[0-9a-f]{{{digits}}}"
    return f"{word}( {word})*"


def _set(items: dict[str, Any], least: int) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": least, "uniqueItems": True}


def _texts(vocabulary: Mapping[str, str]) -> dict[str, Any]:
    return _object({name: {"const": text} for name, text in vocabulary.items()}, [])


def _object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
