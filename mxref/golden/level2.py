"""Level 2: exhaustive families of cases, recomputed and never stored; the manifest has digests.

A family is one operation, format, float type and policy over a set of inputs in a fixed order. Its
digest is the SHA-256 of all its answers in that order. Codes are bytes, with a block's scale code
before its element codes. Floats and codes of 16 bits are little-endian patterns, and NaN results
are those of `ocp`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.cases.answers import exact_answers
from mxref.cases.records import words as hex_words
from mxref.golden.families import Family, default_families, families, products, select
from mxref.operations.operation import AnyPolicy
from mxref.operations.registry import REGISTRY
from mxref.packing.elements import pack
from mxref.support.workers import in_order

__all__ = [
    "Computed",
    "DisagreementError",
    "Family",
    "compare",
    "compute",
    "compute_all",
    "default_families",
    "families",
    "manifest_entries",
    "products",
    "select",
]

Words = NDArray[Any]
#: The slow twin checks one in this many answers, unless all are asked for.
CHECKED = 7


class DisagreementError(RuntimeError):
    """The two references differ on a case, which the message names."""


@dataclass(frozen=True, slots=True)
class Computed:
    """A family's digest.

    Args:
        name: the family's name.
        cases: number of cases.
        checked: number of cases to which the slow twin gave the same answer.
        sha256: the digest.
    """

    name: str
    cases: int
    checked: int
    sha256: str


def compute(family: Family, *, complete: bool = False) -> Computed:
    """A family's digest by the fast path; the slow twin checks every seventh answer.

    Args:
        family: the family.
        complete: let the slow twin check every answer.

    Raises:
        DisagreementError: the two differ.
    """
    one, policy = REGISTRY[family.op], family.policy
    _, digits = one.digits(family.format, family.float)
    word = np.dtype(f"<u{digits // 2}")
    step = 1 if complete else CHECKED
    digest = hashlib.sha256()
    cases = checked = 0
    for words in family.chunks():
        if family.op == "pack":  # in one call, since all cases have one length
            answers: Words = pack(words, family.format, policy)
        else:
            answers = one.fast(family.format, family.float, words, policy)
        digest.update(answers.astype(word, copy=False).tobytes())
        some = slice(-cases % step, None, step)
        compare(family.op, family.format, family.float, policy, words[some], answers[some])
        cases += len(words)
        checked += len(words[some])
    return Computed(family.name, cases, checked, digest.hexdigest())


def compute_all(
    chosen: Sequence[Family], *, complete: bool = False, jobs: int = 1
) -> Iterator[Computed]:
    """`compute` for several families by several processes, the longest families first."""
    longest_first = sorted(chosen, key=lambda family: REGISTRY[family.op].blocks != "numbers")
    yield from in_order(partial(compute, complete=complete), longest_first, jobs)


def manifest_entries(
    found: Iterable[Computed], old: Iterable[dict[str, Any]] = ()
) -> list[dict[str, Any]]:
    """The manifest's entries in the order of families, new ones in place of old ones."""
    digests = {entry["name"]: entry for entry in old}
    digests |= {one.name: {"cases": one.cases, "sha256": one.sha256} for one in found}
    return [
        {
            "name": family.name,
            "op": family.op,
            "format": family.format,
            "float": family.float,
            "policy": family.policy,
            "inputs": family.inputs,
            "cases": digests[family.name]["cases"],
            "sha256": digests[family.name]["sha256"],
        }
        for family in families()
        if family.name in digests
    ]


def compare(
    op: str, format: str, float: str, policy: AnyPolicy, words: Words, answers: Words
) -> None:
    """Compare answers of the fast path with those of the slow twin.

    Raises:
        DisagreementError: they differ; the message names the first such case.
    """
    wanted = exact_answers(op, format, float, words.tolist(), policy)
    got = answers.tolist()
    for inputs, want, answer in zip(words.tolist(), wanted, got, strict=True):
        if want != tuple(answer):
            digits = REGISTRY[op].digits(format, float)
            raise DisagreementError(
                f"the two references disagree on {op} {format} {float} under {policy}: in "
                f"{hex_words(tuple(inputs), digits[0])}, slow {hex_words(want, digits[1])}, "
                f"fast {hex_words(tuple(answer), digits[1])}"
            )
