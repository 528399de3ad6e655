"""A strict parser of vector files, which refuses a damaged one with line and reason."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from typing import Any

from mxref._version import VECTORS_VERSION
from mxref.bits.floats import LAYOUTS
from mxref.cases.parse_whole import columns_by, whole_cases
from mxref.cases.records import SPEC, Case, VectorFile
from mxref.cases.spelling import CASE, canonical, spelling
from mxref.cases.words import FLAGS, known_models, known_rules
from mxref.formats.catalog import BLOCK_FORMATS, CODE_FORMATS, E8M0, OTHER_BLOCK_FORMATS
from mxref.operations.layouts import SLOTS
from mxref.operations.product_words import PAIRS
from mxref.operations.registry import CALL_OPERATIONS, LAYOUT_OPERATIONS, REGISTRY
from mxref.policy.policy import Policy

__all__ = ["VectorError", "check_keys", "parse", "unique_keys"]

_HEADER = {
    "mxref_vectors": str,
    "spec": str,
    "op": str,
    "format": str,
    "float": str,
    "columns": list,
    "plain": int,
    "in_digits": int,
    "out_digits": int,
    "cases": int,
    "rule": str,
    "required": list,
    "rules": dict,
    "models": dict,
    "flags": dict,
}
_FORMATS = CODE_FORMATS, BLOCK_FORMATS, OTHER_BLOCK_FORMATS, (E8M0.name, *PAIRS)
#: Cached, since all files share their columns.
_policy = functools.cache(Policy.parse)
_OCP = Policy()
_NAME = re.compile(r"[\w-]+", re.ASCII)


class VectorError(ValueError):
    """A vector file or manifest that is damaged, or of another version."""


def parse(text: str, name: str) -> VectorFile:
    """The vector file of a text, which must be the canonical spelling.

    Raises:
        VectorError: the text is not canonical; the message names the line and the reason.
    """
    if "\r" in text:
        raise VectorError(
            f"{name}: has CR line ends instead of LF: check it out as binary, not as text"
        )
    lines = text.split("\n")
    if lines.pop() != "":
        raise VectorError(f"{name}:{len(lines) + 1}: must end with a line end, is it cut off?")
    header = _object(lines[0] if lines else "", _HEADER, f"{name}:1")
    _check_kind(header, f"{name}:1")
    _columns(header, f"{name}:1")
    cases, spelled = _cases(header, lines[1:], name)
    file = _file(header, cases, f"{name}:1")
    for number, (got, want) in enumerate(
        zip(lines, [next(file.lines()), *spelled], strict=True), 1
    ):
        if got != want:
            raise VectorError(f"{name}:{number}: is not in canonical form, expected {want[:200]}")
    return file


def _check_kind(header: dict[str, Any], where: str) -> None:
    """Refuse another version or standard, and an unknown operation, format or float type."""
    if header["mxref_vectors"] != VECTORS_VERSION or header["spec"] != SPEC:
        raise VectorError(
            f"{where}: must be for vectors version {VECTORS_VERSION} of {SPEC}, "
            f"got {header['mxref_vectors']!r} of {header['spec']!r}"
        )
    if header["op"] not in REGISTRY:
        raise VectorError(f"{where}: op must be one of {', '.join(REGISTRY)}")
    tables = (CALL_OPERATIONS[op].formats,) if (op := header["op"]) in CALL_OPERATIONS else _FORMATS
    known = any(header["format"] in table for table in tables)
    if not known or header["float"] not in (*LAYOUTS, *SLOTS):
        raise VectorError(
            f"{where}: format and float must be known ones, "
            f"got {header['format']!r} and {header['float']!r}"
        )


def _file(header: dict[str, Any], cases: tuple[Case, ...], where: str) -> VectorFile:
    if header["cases"] != len(cases) or not cases:
        raise VectorError(f"{where}: says {header['cases']} cases, the file has {len(cases)}")
    if not 1 <= header["plain"] <= len(header["columns"]):
        raise VectorError(f"{where}: plain must count columns, got {header['plain']}")
    for key in ("in_digits", "out_digits"):
        if not 1 <= header[key] <= 16:
            raise VectorError(f"{where}: {key} must be from 1 to 16, got {header[key]}")
    return VectorFile(
        op=header["op"],
        format=header["format"],
        float=header["float"],
        columns=_columns(header, where),
        plain=header["plain"],
        in_digits=header["in_digits"],
        out_digits=header["out_digits"],
        cases=cases,
    )


def _columns(header: dict[str, Any], where: str) -> tuple[str, ...]:
    columns = header["columns"]
    for column in columns:
        op, format = header["op"], header["format"]
        if column in REGISTRY[op].bounds(format):
            continue
        try:
            if header["op"] in CALL_OPERATIONS:  # whose policies have one spelling
                CALL_OPERATIONS[header["op"]].parse(header["format"], str(column))
                continue
            spelled = _spelling(column)
        except (ValueError, TypeError) as error:
            raise VectorError(f"{where}: column {column!r} is no policy: {error}") from None
        if spelled != column:
            raise VectorError(f"{where}: column {column!r} must be spelled {spelled!r}")
    if not columns or len(set(columns)) != len(columns):
        raise VectorError(f"{where}: columns must be different policies, at least one")
    return tuple(columns)


def _cases(
    header: dict[str, Any], lines: list[str], name: str
) -> tuple[tuple[Case, ...], list[str]]:
    """The cases, and the canonical spelling of each."""
    whole = whole_cases(header, lines)
    if whole is not None:
        return whole, lines
    cases: list[Case] = []
    spelled = []
    seen: set[str] = set()
    for number, line in enumerate(lines, 2):
        where = f"{name}:{number}"
        found = canonical(line, header["rule"])
        # The slow way accepts other spellings, and names what is wrong with a line.
        record = found or _object(line, CASE, where, optional=("name", "by", "rule", "flags"))
        case = _case(header, record, where)
        if case.id in seen:
            raise VectorError(f"{where}: name {case.name!r} must be new")
        seen.add(case.id)
        cases.append(case)
        spelled.append(line if found else spelling(record, header["rule"]))
    return tuple(cases), spelled


def _case(header: dict[str, Any], record: dict[str, Any], where: str) -> Case:
    by, several = _indices(header, record, where)
    rule = record.get("rule", header["rule"])
    name = record.get("name", record["in"])
    if not _NAME.fullmatch(name):
        raise VectorError(f"{where}: must have a name that is a word, got {name!r}")
    if "name" in record and " " not in record["in"]:
        raise VectorError(f"{where}: must have no name, since its input is its name, got {name!r}")
    flags, model = tuple(map(str, record.get("flags", ()))), record["model"]
    op = header["op"]
    for known, words in ((FLAGS, flags), (known_models(op), (model,)), (known_rules(op), (rule,))):
        for word in words:
            if word not in known:
                raise VectorError(f"{where}: {word!r} is no known flag, model or rule")
    answers = tuple([_words(words, header["out_digits"], where) for words in several])
    inputs = _words(record["in"], header["in_digits"], where)
    _check_words(header, inputs, answers, by, where)
    return Case(
        id=f"{header['op']}.{header['format']}.{header['float']}.{name}",
        inputs=inputs,
        answers=answers,
        by=by,
        required=rule in header["required"],
        rule=rule,
        model=model,
        flags=flags,
    )


def _indices(
    header: dict[str, Any], record: dict[str, Any], where: str
) -> tuple[tuple[int, ...], list[str]]:
    """The index of each column's answer, and the answers."""
    if isinstance(record["out"], str):
        if "by" in record:
            raise VectorError(f"{where}: by must be absent where out is one string")
        return (), [record["out"]]
    width, by = len(header["columns"]), record.get("by", "")
    indices = columns_by(by, len(record["out"]))
    if len(by) != width or indices is None:
        raise VectorError(
            f"{where}: by must name an answer of out for each of {width} columns and every answer "
            f"in order, got {by!r} for {len(record['out'])} answers"
        )
    if not all(isinstance(words, str) for words in record["out"]):
        raise VectorError(f"{where}: out must hold strings")
    if len(set(record["out"])) != len(record["out"]):
        raise VectorError(f"{where}: out must hold different answers")
    return indices, record["out"]


def _check_words(
    header: dict[str, Any],
    inputs: tuple[int, ...],
    outputs: tuple[tuple[int, ...], ...],
    by: tuple[int, ...],
    where: str,
) -> None:
    """Refuse a wrong number of words, and codes outside the format."""
    op, name, slot = header["op"], header["format"], header["float"]
    operation = REGISTRY[op]
    for index, output in enumerate(outputs):
        column = header["columns"][by.index(index) if by else 0]
        layout = _policy(column) if op in LAYOUT_OPERATIONS else _OCP
        try:
            counts = operation.counts(name, inputs, layout)
        except ValueError as error:
            raise VectorError(f"{where}: is no case of {op} {name}: {error}") from None
        if (len(inputs), len(output)) != counts:
            raise VectorError(f"{where}: {op} must have {counts[0]} words in and {counts[1]} out")
    try:
        operation.check_words(name, slot, inputs, outputs)
    except ValueError as error:
        raise VectorError(f"{where}: {error}") from None


def _words(text: object, digits: int, where: str) -> tuple[int, ...]:
    found = _hex_words(text, digits) if isinstance(text, str) else None
    if found is None:
        one = re.compile(f"[0-9a-f]{{{digits}}}")
        words = text.split(" ") if isinstance(text, str) else [repr(text)]
        wrong = next(word for word in words if not one.fullmatch(word))
        raise VectorError(f"{where}: a word must be {digits} lower-case hex digits, got {wrong!r}")
    return found


@functools.lru_cache(maxsize=1 << 12)  # most answers are repeated short words
def _hex_words(text: str, digits: int) -> tuple[int, ...] | None:
    """The words of a text; None if it is malformed."""
    if not _hex_pattern(digits).fullmatch(text):
        return None
    return tuple([int(word, 16) for word in text.split(" ")])


@functools.cache
def _spelling(column: object) -> str:
    """The canonical spelling of a policy."""
    return str(Policy.parse(column))  # type: ignore[arg-type]


@functools.cache
def _hex_pattern(digits: int) -> re.Pattern[str]:
    return re.compile(f"[0-9a-f]{{{digits}}}( [0-9a-f]{{{digits}}})*")


def _object(
    line: str, keys: dict[str, Any], where: str, optional: tuple[str, ...] = ()
) -> dict[str, Any]:
    try:
        record = json.loads(line, object_pairs_hook=unique_keys)
    except (ValueError, RecursionError) as error:
        raise VectorError(f"{where}: is not a JSON object: {error}") from None
    check_keys(record, keys, where, optional)
    result: dict[str, Any] = record
    return result


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object for `json.loads` that refuses repeated keys."""
    record = dict(pairs)
    if len(record) != len(pairs):
        raise ValueError("a key stands twice")
    return record


def check_keys(
    record: object, keys: dict[str, Any], where: str, optional: tuple[str, ...] = ()
) -> None:
    """Refuse an object that lacks a key, has another one, or a value of another type."""
    if not isinstance(record, dict):
        raise VectorError(f"{where}: must be a JSON object")
    if record.keys() == keys.keys() and all(type(record[key]) is keys[key] for key in keys):
        return
    missing: Iterator[str] = (k for k in keys if k not in record and k not in optional)
    wrong = [f"lacks {key!r}" for key in missing]
    wrong += [f"has the unknown key {key!r}" for key in record if key not in keys]
    wrong += [
        f"has {value!r} as {key!r}"
        for key, value in record.items()
        if key in keys and (not isinstance(value, keys[key]) or isinstance(value, bool))
    ]
    if wrong:
        raise VectorError(f"{where}: {wrong[0]}")
