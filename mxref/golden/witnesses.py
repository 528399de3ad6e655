"""The cases of the vectors that show what a member of a choice changes."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mxref.bits.floats import LAYOUTS
from mxref.bits.simplicity import simplicity
from mxref.cases.answers import answerable, exact_answers, reads
from mxref.cases.names import names_of
from mxref.cases.read import by_stem, read_listed, read_manifest
from mxref.cases.records import Case, VectorFile
from mxref.operations.registry import REGISTRY
from mxref.policy.policy import Policy

__all__ = ["Witness", "witness"]

#: Operations in the order in which a case is looked for: whole blocks say most.
_FIRST = ("quantize", "encode", "shared_scale", "encode_scale", "dequantize", "decode")
#: Float types in that order; other slots name the layout of bytes.
_FLOATS = ("f32", "f64", "bf16", "f16")
#: Formats whose blocks are looked at before the others.
_FORMATS = ("mxfp4_e2m1", "e2m1", "mxfp8_e4m3", "e4m3")
#: Choices that make no difference under `ocp` -> the policy under which both answers are taken.
_SHOWN_UNDER = {
    "clamp": "ocp+overflow=nonsaturating",
    "tiny_scale": "ocp+scale_rounding=ties_to_away",
    "scale_byte": "ocp+scale_place=before",
    "scale_place": "ocp+scale_place=before",
}

Words = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Witness:
    """The simplest case of a file in which a member of a choice gives another answer.

    Args:
        file: the file.
        case: the case.
        first: the answer of `ocp`, or of the default of integer operations; () for an error.
        other: the answer of the member.
        under: the policy of the first answer, since some choices change nothing under `ocp`.
        count: number of cases of the file with another answer.
        flags: how many of them have each flag, the most frequent first.
    """

    file: VectorFile
    case: Case
    first: Words
    other: Words
    under: str
    count: int
    flags: Mapping[str, int]


def witness(
    folder: Path, choice: str, member: str, format: str | None = None, *, integer: bool = False
) -> Witness | None:
    """The first file with a case in which a member gives another answer; None if there is none.

    Args:
        folder: of the vectors.
        choice: the choice's name.
        member: the member's spelling.
        format: the format of the file; any if None.
        integer: whether the choice is one of integer operations, which no policy has.

    >>> from mxref.cases.folder import vectors_folder
    >>> found = witness(vectors_folder(), "zero_block", "one")
    >>> found.case.id, hex(found.first[0]), hex(found.other[0])
    ('quantize.mxfp4_e2m1.f32.zeros', '0x0', '0x7f')
    """
    entries = by_stem(read_manifest(folder))
    first = Policy() if integer else Policy.parse(_SHOWN_UNDER.get(choice, "ocp"))
    policy = None if integer else first.replace(**{choice: member})
    for stem in sorted(entries, key=_rank):
        op, name, slot = names_of(stem)
        known = REGISTRY[op].own_choices
        if policy is not None:
            known = choice in reads(op, name) and answerable(op, name, slot, policy)
        if not known or format not in (None, name):
            continue
        file = read_listed(folder, entries[stem])
        if file is None:
            continue
        if policy is not None:
            other = _answers(file, policy)
            if not any(other):  # the operation does not have the member
                continue
            found = _in_file(file, str(first), _answers(file, first), other)
        elif f"{choice}={member}" in file.columns:
            index = file.columns.index(f"{choice}={member}")
            both = ([case.output(i) for case in file.cases] for i in (0, index))
            found = _in_file(file, file.columns[0], *both)
        else:
            continue
        if found is not None:
            return found
    return None


def _answers(file: VectorFile, policy: Policy) -> list[Words]:
    """The answers of a file's cases under a policy, which may have no column; () for an error."""
    if str(policy) in file.columns:
        index = file.columns.index(str(policy))
        return [case.output(index) for case in file.cases]
    where = (file.op, file.format, file.float)
    try:
        return exact_answers(*where, [case.inputs for case in file.cases], policy)
    except ValueError:
        return [_answer(where, case.inputs, policy) for case in file.cases]


def _answer(where: tuple[str, str, str], words: Words, policy: Policy) -> Words:
    try:
        return exact_answers(*where, [words], policy)[0]
    except ValueError:  # of a member that raises it
        return ()


def _in_file(
    file: VectorFile, under: str, first: Sequence[Words], other: Sequence[Words]
) -> Witness | None:
    found = [
        Witness(file, case, a, b, under, 0, {})
        for case, a, b in zip(file.cases, first, other, strict=True)
        if a != b
    ]
    if not found:
        return None
    flags = Counter(flag for one in found for flag in one.case.flags)
    counts = [sum(word != 0 for word in one.case.inputs) for one in found]
    fewest = min(counts)
    least = [one for one, count in zip(found, counts, strict=True) if count == fewest]
    simplest = min(least, key=lambda one: _simple(one.case.inputs, file))
    return dataclasses.replace(simplest, count=len(found), flags=dict(flags.most_common()))


def _rank(stem: str) -> tuple[int, ...]:
    op, format, slot = names_of(stem)
    places = ((_FLOATS, slot), (_FIRST, op), (_FORMATS, format))
    return tuple(
        known.index(one) if one in known else len(known) * (known is not _FLOATS)
        for known, one in places
    )


def _simple(words: Sequence[int], file: VectorFile) -> list[Any]:
    """A key that is smaller for simpler inputs, of those with as many that are not zero."""
    some = [word for word in words if word]
    layout = LAYOUTS.get(file.float)
    row = file.row
    floats = not (row.from_codes or row.varied or row.random_bits)
    keys = [simplicity(word, layout) for word in some] if floats and layout else some
    return sorted(keys, reverse=True)
