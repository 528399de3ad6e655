"""The record of an implementation of integer operations, by the choices that it claims.

It claims INTEGERS, choices of `mxref.integer`; an operation reads those that it has. Asked are the
vectors, and the parameters of every case again with random values in place of its own.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.cases.read import vectors_folder
from mxref.cases.records import VectorFile
from mxref.conformance.compare.product_intervals import nibbles_of, sums_inside
from mxref.conformance.verdict.cause.integer_causes import sums_of
from mxref.mutants import MUTANTS
from mxref.mutants.weight_only_mutants import OPERANDS
from mxref.operands.word_rows import padded, stripped
from mxref.operations.asked_call import AskedCall
from mxref.operations.registry import CALL_OPERATIONS, WEIGHT_ONLY_OPERATIONS
from mxref.targets.asked_files import read_for
from mxref.targets.calls import Answers, call_function
from mxref.targets.target import PythonTarget

__all__ = [
    "VALUES",
    "claimed_policy",
    "examine_integers",
    "integer_answer",
    "integer_files",
    "integer_rows",
]

Words = NDArray[np.uint64]
#: Random values in a case with one scale, and how often a case with other sizes is drawn.
VALUES, _TIMES = 1024, 8


def examine_integers(target: PythonTarget, claim: str, *, values: int = VALUES) -> dict[str, Any]:
    """The record of a target.

    Args:
        target: the implementation.
        claim: its choices, ``scaling=divide nan=lowest``.
        values: random values of a case.

    Raises:
        ValueError: the target has no operation that vectors cover.
    """
    files = integer_files(target)
    if not files:
        raise ValueError(f"target {target.name} must have an integer operation, it has none")
    return {
        "policy": claim,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "files": [_file(target, file, claimed_policy(file, claim), values) for file in files],
    }


def integer_files(target: PythonTarget, read: Iterable[VectorFile] = ()) -> list[VectorFile]:
    """The vector files of integer operations that a target is asked.

    Args:
        target: the implementation.
        read: files that have been read already.
    """
    files = read_for(
        vectors_folder(),
        target,
        target.policy,
        only=lambda op, *_: op in CALL_OPERATIONS,
        read=read,
    )
    return [
        file for file in files
        if file.op in CALL_OPERATIONS and target.covers(file.op, file.format, file.float)
    ]  # fmt: skip


def claimed_policy(file: VectorFile, claim: str) -> str:
    """The choices of a claim that an operation reads, spelled as a policy."""
    given = dict(part.split("=") for part in claim.split())
    known = CALL_OPERATIONS[file.op].choices(file.format)
    own = {name: given[name] for name in known if given.get(name) in known[name]}
    return CALL_OPERATIONS[file.op].spell(file.format, own)


def _file(target: PythonTarget, file: VectorFile, policy: str, values: int) -> dict[str, Any]:
    vectors, drawn = integer_rows(file, values)
    rows = [*vectors, *(row for row in drawn if integer_answer(file, row, policy) is not None)]
    asked = target.ask(file, padded(rows))
    bugs = {m: call_function(m.run, file, padded(rows)) for m in MUTANTS
            if m.op == file.op and file.format in m.formats and m.run is not None}  # fmt: skip
    found: dict[str, dict[str, Any]] = {}
    total, wrong = 0, []
    for i, row in enumerate(rows):
        want, got = integer_answer(file, row, policy), _given(asked, i)
        total += len(want or got or ())
        if want == got or (got and _is_sum(file, row, got, policy)):
            continue
        if want is None or got is None or len(want) != len(got):
            how = f"raises {asked.errors.get(i, 'nothing').partition(':')[0]}"
            one = found.setdefault(how, {"count": 0, "example": ""})
            one["count"] += len(want or got or ())
        else:
            wrong.append((i, want, got))
    named = [m for m, own in bugs.items() if all(_given(own, j) == g for j, _, g in wrong)]
    if wrong and file.op in WEIGHT_ONLY_OPERATIONS:  # whatever the order of additions
        some = padded([rows[j] for j, _, _ in wrong]), padded([got for _, _, got in wrong])
        named = [m for m in bugs if m.id in OPERANDS and sums_of(OPERANDS[m.id], file, *some)]
    for i, want, got in wrong:
        kind = f"{named[0].id}: {named[0].text}" if named else "not explained"
        places = [j for j, (a, b) in enumerate(zip(want, got, strict=True)) if a != b]
        shown = _example(file, rows[i], places[0], want, got)
        one = found.setdefault(kind, {"count": 0, "example": shown})
        one["count"] += len(places)
    return {
        "op": file.op, "format": file.format, "float": file.float, "policy": policy,
        "cases": {"vectors": len(vectors), "random": len(rows) - len(vectors)}, "outputs": total,
        "differences": [
            {"kind": kind, "how": "", "asked": total, **one} for kind, one in found.items()
        ],
    }  # fmt: skip


def integer_rows(
    file: VectorFile, values: int
) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """The cases of the vectors, and their parameters with random values.

    Args:
        file: with its cases.
        values: random values of a case.
    """
    vectors = [stripped(row) for row in file.input_words()]
    state = np.random.default_rng([*file.stem.encode()])
    return vectors, [row for case in vectors for row in _drawn(file, case, values, state)]


def integer_answer(file: VectorFile, row: tuple[int, ...], policy: str) -> tuple[int, ...] | None:
    """The answer of a policy; None where it refuses."""
    try:
        return CALL_OPERATIONS[file.op].answer(file.format, row, policy)
    except ValueError:
        return None


def _is_sum(file: VectorFile, row: tuple[int, ...], got: tuple[int, ...], policy: str) -> bool:
    """Whether an answer about a weight-only layer is inside the intervals of float32 sums."""
    if file.op not in WEIGHT_ONLY_OPERATIONS:
        return False
    nibbles = nibbles_of(file, policy)
    return bool(sums_inside(file, padded([row]), padded([got]), nibbles).all())


def _given(answers: Answers, i: int) -> tuple[int, ...] | None:
    return None if i in answers.errors else stripped(answers.words[i])


def _drawn(
    file: VectorFile, case: tuple[int, ...], values: int, state: np.random.Generator
) -> list[tuple[int, ...]]:
    """The parameters of a case with random values; floats are near its scale, or anything."""
    operation = CALL_OPERATIONS[file.op]
    asked, places = operation.call(file.format, case), operation.places(file.format, case)
    one = file.op.endswith("_affine") and asked.arguments[-1] is None
    size, times = len(case) - places, _TIMES
    if one or file.op == "rescale":
        size, times = values * (asked.shape[-1] if file.op == "rescale" else 1), 1
    if not size or file.op == "grid_sample":
        return []
    return [(*case[:places], *_words(file, asked, size, state).tolist()) for _ in range(times)]


def _words(
    file: VectorFile, asked: AskedCall, size: int, state: np.random.Generator
) -> NDArray[np.uint32]:
    first = asked.arguments[0]
    if file.op == "quantize_affine":
        x = state.integers(0, 1 << 32, size).astype(np.uint32)
        near = state.normal(size=size) * float(np.max(asked.arguments[1])) * 99
        with np.errstate(over="ignore"):
            x[::2] = near.astype(np.float32).view(np.uint32)[::2]
        is_nan = np.isnan(x.view(np.float32))
        return np.where(is_nan & ~np.isnan(first).any(), np.uint32(0), x).astype(np.uint32)
    if file.op.endswith("_int4"):
        ends = (-8, 8) if file.op == "pack_int4" else (0, 256)
        return state.integers(*ends, size).astype(np.int32).view(np.uint32)
    if file.op in WEIGHT_ONLY_OPERATIONS:
        return state.normal(size=size).astype(np.float32).view(np.uint32)
    info = np.iinfo(first.dtype)
    low, high = int(info.min), int(info.max)
    if file.op == "rescale":  # what the shifts, and int32 results, allow
        _, multiplier, shift, zero, *_ = asked.arguments
        ratio = float(np.max(multiplier / np.ldexp(1.0, shift)))
        most = min(1 << int(shift.min()) - 1, int((2**31 - 1) / ratio)) - 1
        low, high = max(low, zero - most), min(high, zero + most)
    return state.integers(low, high + 1, size).astype(np.int32).view(np.uint32)


def _example(
    file: VectorFile,
    row: tuple[int, ...],
    place: int,
    want: tuple[int, ...],
    got: tuple[int, ...],
) -> str:
    digits, places = file.out_digits, CALL_OPERATIONS[file.op].places(file.format, row)
    scale = f" under {' '.join(f'{word:08x}' for word in row[2:places])}"
    asked = f"{row[places + place]:08x}{scale}" if file.op.endswith("_affine") else f"word {place}"
    return f"{asked}: want {want[place]:0{digits}x}, got {got[place]:0{digits}x}"
