"""The clause of the standard that an answer or a policy violates, if any."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import numpy as np

from mxref.bits.floats import LAYOUTS
from mxref.cases.answers import codes_under_scale, fast_answers, reads
from mxref.cases.records import Case, VectorFile
from mxref.cases.words import SECTIONS
from mxref.conformance.compare.compare import Failure, same_answers
from mxref.conformance.compare.tensor_cases import blocks_of, tensors_of
from mxref.formats.scale_kinds import has_power_scales
from mxref.operands.word_rows import padded, stripped
from mxref.policy.choices import Standing
from mxref.policy.policy import Policy
from mxref.targets.calls import code_format, without_cases

__all__ = [
    "CONTRADICTED",
    "clauses_violated",
    "contradicting",
    "is_legal",
    "lacking",
    "standing_of",
    "violated",
]

#: The clause of SPEC_NOTES on each choice that has members which contradict the standard.
CONTRADICTED = {
    "clamp": "N10",
    "zero_sign": "N25",
    "underflow_sign": "N25",
    "scale_rule": "N2",
    "scale_overflow": "N8",
    "scale_underflow": "N7",
    "int8_emax": "N16",
    "scaling": "N19",
    "scale_00": "N22",
    "scale_ff": "N22",
    "scale_byte": "N32",
    "accumulation": "N43",
}

#: Choices about elements that the standard leaves open, tried in turn.
_FREE_IN_BLOCKS: tuple[dict[str, str], ...] = (
    {},
    {"int8_range": "full"},
    {"zero_sign": "dropped"},
    {"underflow_sign": "dropped"},
    {"zero_sign": "dropped", "underflow_sign": "dropped"},
)
#: The clause about scales and the elements under them.
_OF_BLOCKS = "MX-6.3"
#: The roundings that give the two neighbours of a number.
_DIRECTED = ("toward_negative", "toward_positive")


def violated(file: VectorFile, failure: Failure, policy: Policy) -> str | None:
    """The clause that requires another answer than the target's; None if there is none."""
    if failure.got is None:
        return None
    if file.op == "quantize_tensor":
        blocks = _wrong_blocks(file, failure)
        return next((clause for one in blocks if (clause := violated(*one, policy))), None)
    if file.row.blocks != "numbers" or not has_power_scales(file.format):
        if failure.case.required:
            return failure.case.rule
        return _excluded(file, failure.case, failure.got)
    # The choice of the scale is free (MX 6.3); the elements under the target's own scale are not.
    if "nan_block" in failure.case.flags:
        return None
    if failure.got[0] == 0xFF:  # a NaN block without a reason
        return None if "zero_block" in failure.case.flags else _OF_BLOCKS
    got = np.array([failure.got], np.uint64)
    for choice in _FREE_IN_BLOCKS:
        codes = codes_under_scale(file, failure.case.inputs, failure.got[0], policy, choice)
        wanted = np.append(got[0, :1], codes.astype(np.uint64))[np.newaxis]
        if same_answers(file, wanted, got).all():
            return None
    return _OF_BLOCKS


def clauses_violated(failures: Iterable[tuple[VectorFile, Failure]], policy: Policy) -> set[str]:
    """The clauses that require other answers than those of a target."""
    found: set[str] = set()
    for file, failure in failures:
        if _clause(file, failure.case) in found:
            continue
        if (clause := violated(file, failure, policy)) is not None:
            found.add(clause)
    return found


def _clause(file: VectorFile, case: Case) -> str:
    """The one clause that a wrong answer may violate."""
    if file.op in ("quantize", "quantize_tensor") and has_power_scales(file.format):
        return _OF_BLOCKS
    if case.required or case.rule.startswith("MX-"):
        return case.rule
    return SECTIONS.get(file.format, "formats")


def _wrong_blocks(file: VectorFile, failure: Failure) -> Iterator[tuple[VectorFile, Failure]]:
    """The wrong blocks of a tensor, as failures of `quantize`; none of an answer of another size.

    A tail that is stored short is filled up with the zeros that it is computed with.
    """
    inputs, got = padded([failure.case.inputs]), padded([failure.got or ()])
    from mxref.golden.reasons import reason

    numbers, of = blocks_of(inputs), without_cases("quantize", file.format, file.float)
    every = np.arange(numbers.shape[0] * 33).reshape(-1, 33).astype(np.uint64)
    for tail in ("short", "zero_padded"):
        places = tensors_of(inputs, every, Policy().replace(tail=tail))
        if places.shape == got.shape == (1, len(failure.want)):
            break
    else:
        return
    want, answer = np.zeros_like(every), np.zeros_like(every)
    want.flat[places[0]], answer.flat[places[0]] = failure.want, got[0]
    for i in np.flatnonzero(~same_answers(of, want, answer).all(axis=1)).tolist():
        row, right = stripped(numbers[i]), stripped(want[i])
        required, rule, flags = reason(of.op, of.format, of.float, row, right)
        case = Case("", row, (right,), (), required, rule, "", flags)
        yield of, Failure(i, case, right, stripped(answer[i]))


def _excluded(file: VectorFile, case: Case, got: tuple[int, ...]) -> str | None:
    """The clause that rules an answer out where it leaves two others open."""
    match file.op, case.rule:
        case "encode", "MX-5.3.1-T3":  # both overflow methods of FP8
            open_to_it = (padded([case.output(column)]) for column in range(file.plain))
            legal = any(same_answers(file, one, padded([got])).all() for one in open_to_it)
        case "encode", "N25":  # the sign of a zero
            fmt = code_format(file)
            zero = got[0] < fmt.code_count and fmt.sign_and_magnitude(got[0])[1] == 0
            legal = zero and not fmt.is_nan(got[0])
        case "encode", "N15":  # -127/64 or -2
            legal = got[0] in (0x81, 0x80)
        case "encode_stochastic", "N18":  # one of the two neighbours, by any rounding
            legal = _is_rounded(file, case.inputs[0], got[0])
        case "decode", "N25":
            legal = got[0] & (LAYOUTS[file.float].sign_bit - 1) == 0
        case _:
            legal = True
    return None if legal else _clause(file, case)


def _is_rounded(file: VectorFile, number: int, got: int) -> bool:
    """Whether some rounding and overflow of a number gives a code, but for the sign of a zero."""
    fmt, one = code_format(file), np.array([[number]], np.uint64)
    given = fmt.sign_and_magnitude(got) if got < fmt.code_count else (False, got)
    for rounding, overflow in itertools.product(_DIRECTED, Policy.members("overflow")):
        policy = Policy().replace(rounding=rounding, overflow=overflow.value)
        code = int(fast_answers("encode", file.format, file.float, one, policy)[0, 0])
        own = fmt.sign_and_magnitude(code)
        if own == given or own[1] == given[1] == 0 or (fmt.is_nan(code) and fmt.is_nan(got)):
            return True
    return False


def is_legal(policy: str, asked: Iterable[tuple[str, str]]) -> bool:
    """Whether no choice of a policy contradicts the standard.

    Args:
        policy: its spelling.
        asked: operations and formats; what these do not read is no matter.

    >>> is_legal("ocp+zero_sign=dropped", [("encode", "e2m1")])
    True
    >>> is_legal("ocp+zero_sign=dropped", [("encode", "e2m1"), ("quantize", "mxfp8_e4m3")])
    False
    """
    return not contradicting(policy, asked)


def contradicting(policy: str, asked: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The choices of a policy that contradict the standard, with the members that it makes.

    Args:
        policy: its spelling.
        asked: operations and formats; what these do not read is no matter.

    >>> contradicting("ocp+scale_overflow=wrap+scale_rule=rceil", [("quantize", "mxint8")])
    {'scale_overflow': 'wrap'}
    """
    chosen, asked = Policy.parse(policy).choices(), list(asked)
    return {
        name: value
        for name, value in chosen.items()
        if any(
            name in reads(op, format) and standing_of(name, value, format) is Standing.CONTRADICTS
            for op, format in asked
        )
    }


def lacking(policy: str, asked: Iterable[tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """What a policy lacks: choices that the standard requires a member of, with it and its own.

    Where the standard requires what the policy contradicts, that is a violation of a clause.

    >>> lacking("ocp+rounding=to_odd+nan=signed", [("encode", "e4m3")])
    {'rounding': ('ties_to_even', 'to_odd')}
    """
    chosen, default = Policy.parse(policy).choices(), Policy().choices()
    asked = list(asked)
    return {
        name: (default[name], chosen[name])
        for name in default
        if chosen[name] != default[name]
        and any(
            standing_of(name, default[name], format) is Standing.REQUIRED
            and standing_of(name, chosen[name], format) is not Standing.CONTRADICTS
            for op, format in asked
            if name in reads(op, format)
        )
    }


def standing_of(name: str, value: str, format: str) -> Standing:
    """The standing of a member of a choice in the standard, in a format."""
    member = next(m for m in Policy.members(name) if m.value == value)
    return member.standing_in(format)
