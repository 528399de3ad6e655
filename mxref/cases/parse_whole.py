"""Reading all cases of a flawless vector file at once, each with as many words as the others.

A flaw is not looked for here: the parser that goes line by line names it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.cases.records import DIGITS, Case
from mxref.cases.spelling import LINE
from mxref.cases.words import FLAGS, known_models, known_rules
from mxref.operations.registry import REGISTRY
from mxref.policy.policy import Policy

__all__ = ["columns_by", "whole_cases"]


def whole_cases(header: dict[str, Any], lines: Sequence[str]) -> tuple[Case, ...] | None:
    """The cases of a file by its lines, in canonical spelling; None if there may be a flaw.

    Args:
        header: the header of the file, of a known operation, with policies as columns.
        lines: the other lines.
    """
    try:
        return _cases(header, lines)
    except ValueError:  # no format of the operation, no number, no code
        return None


def _cases(header: dict[str, Any], lines: Sequence[str]) -> tuple[Case, ...] | None:
    operation = REGISTRY[header["op"]]
    matches = [LINE.fullmatch(line) for line in lines]
    if operation.varied or not matches or None in matches:
        return None
    parts = zip(*[match.groups() for match in matches if match], strict=True)
    names, inputs, alone, several, bys, rules, models, flags = parts
    count = operation.counts(header["format"], (), Policy())
    if count[0] == 1:  # such an input is the name
        names = (None,) if any(names) else inputs
    every = known_rules(operation.name)
    known = {*models} <= {*known_models(operation.name)} and {*rules} - {None} <= {*every}
    if not known or header["rule"] in rules or None in names or len({*names}) < len(names):
        return None
    flagged = {one: tuple(one.split('","')) if one else () for one in {*flags}}
    if not {flag for some in flagged.values() for flag in some} <= {*FLAGS}:
        return None
    answers = [
        [one] if one else more.split('","') for one, more in zip(alone, several, strict=True)
    ]
    width, indices = len(header["columns"]), {}
    for by, some in {(by, len(some)) for by, some in zip(bys, answers, strict=True)}:
        found = columns_by(by, some) if by else ()
        if found is None or len(found) not in (0, width):
            return None
        indices[by, some] = found
    words = _table(inputs, count[0], header["in_digits"])
    given = _table([one for some in answers for one in some], count[1], header["out_digits"])
    if words is None or given is None or any(len({*some}) < len(some) for some in answers):
        return None
    # A word is a code if the largest one is.
    largest = [tuple(some.max(axis=0).tolist()) for some in (words, given)]
    operation.check_words(header["format"], header["float"], largest[0], largest[1:])
    rows, left = map(tuple, words.tolist()), map(tuple, given.tolist())
    before = f"{header['op']}.{header['format']}.{header['float']}."
    required = {rule: rule in header["required"] for rule in (*every, header["rule"])}
    return tuple(
        [
            Case(
                before + name,
                row,
                tuple([next(left) for _ in some]),
                indices[by, len(some)],
                required[rule or header["rule"]],
                rule or header["rule"],
                model,
                flagged[flag],
            )
            for name, row, some, by, rule, model, flag in zip(
                names, rows, answers, bys, rules, models, flags, strict=True
            )
        ]
    )


def columns_by(by: str, count: int) -> tuple[int, ...] | None:
    """The digits of `by` as indices; None unless answers are numbered in order of first use."""
    used = "".join(dict.fromkeys(by))
    if len(used) < 2 or used != DIGITS[:count]:
        return None
    return tuple(map(DIGITS.index, by))


def _table(texts: Sequence[str], width: int, digits: int) -> NDArray[np.uint64] | None:
    """The words of texts, one a row; None unless each has so many words of so many digits."""
    step = digits + 1
    if digits % 2 or not 0 < digits <= 16 or {*map(len, texts)} != {width * step - 1}:
        return None
    marks = np.frombuffer(f"{' '.join(texts)} ".encode("ascii"), np.uint8).reshape(-1, step)
    if (marks[:, -1] != ord(" ")).any() or (marks[:, :-1] == ord(" ")).any():
        return None
    octets = np.frombuffer(bytes.fromhex(marks[:, :-1].tobytes().decode()), np.uint8)
    padded = np.zeros((len(marks), 8), np.uint8)
    padded[:, 8 - digits // 2 :] = octets.reshape(len(marks), -1)
    return padded.view(">u8").astype(np.uint64).reshape(-1, width)
