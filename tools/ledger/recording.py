"""The tally of one operation, format and float type as plain data with examples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ledger.question_kinds import HOWS, KINDS, clause_of, hows, kinds
from ledger.reasons import answers_of, reasons
from ledger.tally import Found, Tally, same_bits
from mxref.bits.floats import LAYOUTS
from mxref.bits.simplicity import simplicity
from mxref.cases.records import VectorFile
from mxref.conformance.compare.compare import same_answers
from mxref.conformance.fuzzing.simplify import simplest
from mxref.conformance.sweeping.plan import OwnTarget
from mxref.formats.catalog import E8M0
from mxref.operands.word_rows import NO_WORD, same_width
from mxref.policy.policy import Policy
from mxref.profiles import Profile
from mxref.targets.profile_target import profile_target
from mxref.targets.target import PythonTarget, Target

__all__ = ["hex_text", "record"]

Words = NDArray[np.uint64]
_OCP = OwnTarget(Policy())
#: The number of residuals of one kind that a record shows.
_SHOWN = 3
#: Operations on floats, whose examples are simplified.
_SIMPLIFIED = ("encode", "encode_scale", "shared_scale", "quantize")


def record(
    tally: Tally,
    target: PythonTarget,
    profile: Profile,
    shown: set[tuple[str, ...]],
    *,
    silent: bool,
) -> dict[str, Any]:
    """The tally as plain data.

    Args:
        tally: of one operation, format and float type.
        target: the implementation.
        profile: the profile that it claims.
        shown: kinds of differences that already have an example; new ones are added.
        silent: whether the profile does not model it.
    """
    file = tally.file
    differences = []
    for (kind, how), found in sorted(tally.differences.items(), key=_order(file.op)):
        one: dict[str, Any] = {
            "kind": kind,
            "how": how,
            "asked": tally.asked[kind],
            "count": found.count,
            "clause": clause_of(file.op, file.format, kind, how),
            "reasons": reasons(profile, file, found.inputs),
        }
        if (file.op, kind, how) not in shown:
            shown.add((file.op, kind, how))
            one["example"] = _difference(file, target, profile, kind, how, found)
        differences.append(one)
    return {
        "op": file.op,
        "format": file.format,
        "float": file.float,
        "silent": silent,
        "cases": tally.cases,
        "residuals": [
            {
                "kind": kind,
                "how": how,
                "count": found.count,
                "examples": _residuals(file, target, profile, how, found),
            }
            for (kind, how), found in tally.residuals.items()
        ],
        "differences": differences,
    }


def hex_text(row: Words, digits: int) -> str:
    """Words in hex; of repeated words one with their number.

    >>> hex_text(np.array([0x3F80, 0, 0, 0], np.uint64), 4)
    '3f80 0000*3'
    """
    text: list[str] = []
    words = row[row != np.uint64(NO_WORD)].tolist()
    while words:
        same = next((i for i, word in enumerate(words) if word != words[0]), len(words))
        text.append(f"{words[0]:0{digits}x}" + (f"*{same}" if same > 1 else ""))
        words = words[same:]
    return " ".join(text)


def _order(op: str) -> Callable[[tuple[tuple[str, str], Found]], tuple[int, int]]:
    return lambda one: (list(KINDS[op]).index(one[0][0]), HOWS.index(one[0][1]))


def _difference(
    file: VectorFile, target: Target, profile: Profile, kind: str, how: str, found: Found
) -> dict[str, str]:
    """The simplest case of its kind: the profile's simplest, if the target confirms it."""

    def differs(cases: Words, other: Target) -> NDArray[np.bool_]:
        ocp, got = same_width(answers_of(_OCP, file, cases), answers_of(other, file, cases))
        is_kind = kinds(file, cases, ocp) == list(KINDS[file.op]).index(kind)
        is_how = hows(file, got, ocp) == HOWS.index(how)
        differing: NDArray[np.bool_] = ~same_answers(file, ocp, got).all(axis=1) & is_kind & is_how
        return differing

    case, got, ocp = min(found.kept, key=lambda kept: _simplicity(file, kept[0]))
    if how == HOWS[-1]:
        return _texts(file, case)
    if file.op in _SIMPLIFIED:
        own = profile_target(profile)
        simple = simplest(lambda cases: differs(cases, own), file, case)[np.newaxis]
        if differs(simple, target)[0]:
            case, got, ocp = (
                w[0]
                for w in (simple, answers_of(target, file, simple), answers_of(_OCP, file, simple))
            )
    return _texts(file, case, got=got, ocp=ocp)


def _residuals(
    file: VectorFile, target: Target, profile: Profile, how: str, found: Found
) -> list[dict[str, str]]:
    """A few answers that are not the profile's, the simplest first.

    A case that gets another answer when it is asked alone is not simplified.
    """
    own = profile_target(profile)

    def differs(cases: Words) -> NDArray[np.bool_]:
        return ~same_bits(file, answers_of(own, file, cases), answers_of(target, file, cases))

    texts = []
    for case, got, want in sorted(found.kept, key=lambda kept: _simplicity(file, kept[0]))[:_SHOWN]:
        if file.op in _SIMPLIFIED and how in HOWS and differs(case[np.newaxis])[0]:
            case = simplest(differs, file, case)
            got, want = (answers_of(one, file, case[np.newaxis])[0] for one in (target, own))
        texts.append(_texts(file, case, got=got, profile=want))
    return [text for i, text in enumerate(texts) if text not in texts[:i]]


def _simplicity(file: VectorFile, case: Words) -> tuple[Any, ...]:
    """A sort key that is smaller for cases with fewer nonzero words and simpler ones."""
    words = case.tolist()
    if file.op == "dequantize":
        return abs(words[0] - E8M0.bias), words[1]
    if file.op not in _SIMPLIFIED:
        return len(words), words
    layout = LAYOUTS[file.float]
    keys = sorted((simplicity(word, layout) for word in {*words}), reverse=True)
    return sum(word != 0 for word in words), keys


def _texts(file: VectorFile, case: Words, **answers: Words) -> dict[str, str]:
    """Question and answers in hex."""
    found = {"format": file.format, "float": file.float, "in": hex_text(case, file.in_digits)}
    return found | {name: hex_text(words, file.out_digits) for name, words in answers.items()}
