"""Level 2: exhaustive families of cases, recomputed and never stored; the manifest has digests.

A family is one operation, format, float type and policy over a set of inputs in a fixed order. Its
digest is the SHA-256 of all its answers in that order: codes as bytes, of a block the scale code
before the element codes, floats as little-endian patterns, NaN results as `ocp` gives them.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS
from mxref.cases.answers import exact_answers, fast_answers
from mxref.cases.product import product_blocks
from mxref.cases.records import words as hex_words
from mxref.formats.catalog import BLOCK_FORMATS, E8M0, ELEMENT_FORMATS, Specials
from mxref.golden.vector_cases import TO_CODE
from mxref.packing.elements import pack
from mxref.policy.policy import Policy
from mxref.policy.scale_rule import ScaleRule
from mxref.support.workers import in_order

__all__ = [
    "Computed",
    "DisagreementError",
    "Family",
    "compare",
    "compute",
    "compute_all",
    "entries",
    "families",
    "products",
    "select",
]

Words = NDArray[Any]
#: Float types with every pattern as an input.
_SHORT = ("bf16", "f16")
#: The slow twin checks one in SHARE answers, unless all are asked for.
SHARE = 7


class DisagreementError(RuntimeError):
    """The two references differ on a case, which the message names."""


@dataclass(frozen=True, slots=True)
class Family:
    """A family of cases.

    Args:
        op: operation.
        format: element, scale or block format.
        float: type of the float side.
        policy: the policy's spelling.
        inputs: a description of the inputs, in their order.
        chunks: yields the input words, one case a row, in parts of any size.
    """

    op: str
    format: str
    float: str
    policy: str
    inputs: str
    chunks: Callable[[], Iterator[Words]]

    @property
    def name(self) -> str:
        """The name, as in ``encode.e2m1.bf16.ocp+rounding=to_odd``."""
        return f"{self.op}.{self.format}.{self.float}.{self.policy}"


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


def families() -> list[Family]:
    """Every family, in the order of the manifest."""
    numbers = [*_encode(), *_dequantize(), *_encode_scale(), *_shared_scale()]
    return [*numbers, *_pack(), *_quantize()]


def select(beginning: str | None = None) -> list[Family]:
    """The families whose names start with `beginning`; all if it is None.

    >>> [family.name for family in select("dequantize.mxint8")]
    ['dequantize.mxint8.f32.ocp', 'dequantize.mxint8.bf16.ocp']

    Raises:
        ValueError: no name does.
    """
    every = families()
    found = [family for family in every if family.name.startswith(beginning or "")]
    if not found:
        raise ValueError(
            f"--only must be the beginning of a family's name, got {beginning!r}: "
            f"such as {every[0].name}"
        )
    return found


def compute(family: Family, share: int = 0, *, complete: bool = False) -> Computed:
    """A family's digest by the fast path, a share of whose answers the slow twin checks.

    Args:
        family: the family.
        share: which seventh, any integer.
        complete: let the slow twin check every answer.

    Raises:
        DisagreementError: the two differ.
    """
    policy = Policy.parse(family.policy)
    step = 1 if complete else SHARE
    digest = hashlib.sha256()
    cases = checked = 0
    for words in family.chunks():
        if family.op == "pack":  # in one call, since all cases have one length
            answers: Words = pack(words, family.format, policy)
        else:
            answers = fast_answers(family.op, family.format, family.float, words, policy)
        digest.update(answers.astype(answers.dtype.newbyteorder("<"), copy=False).tobytes())
        some = slice((share - cases) % step, None, step)
        compare(family.op, family.format, family.float, policy, words[some], answers[some])
        cases += len(words)
        checked += len(words[some])
    return Computed(family.name, cases, checked, digest.hexdigest())


def compute_all(
    chosen: Sequence[Family], share: int = 0, *, complete: bool = False, jobs: int = 1
) -> Iterator[Computed]:
    """`compute` for several families by several processes, the longest families first."""
    longest_first = sorted(chosen, key=lambda family: family.op != "quantize")
    yield from in_order(partial(compute, share=share, complete=complete), longest_first, jobs)


def entries(found: Iterable[Computed], old: Iterable[dict[str, Any]] = ()) -> list[dict[str, Any]]:
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


def compare(op: str, format: str, float: str, policy: Policy, words: Words, answers: Words) -> None:
    """Compare answers of the fast path with those of the slow twin.

    Raises:
        DisagreementError: they differ; the message names the first such case.
    """
    wanted = exact_answers(op, format, float, words.tolist(), policy)
    got = answers.tolist()
    for inputs, want, answer in zip(words.tolist(), wanted, got, strict=True):
        if want != tuple(answer):
            width, code = LAYOUTS[float].width // 4 if float in LAYOUTS else 2, 2
            digits = (width, code) if op in TO_CODE else (code, width)
            raise DisagreementError(
                f"the two references disagree on {op} {format} {float} under {policy}: in "
                f"{hex_words(tuple(inputs), digits[0])}, slow {hex_words(want, digits[1])}, "
                f"fast {hex_words(tuple(answer), digits[1])}"
            )


def _range(count: int) -> Iterator[Words]:
    yield np.arange(count, dtype=np.uint32)[:, np.newaxis]


def _policies(**choices: list[str]) -> list[str]:
    """Policies with every combination of members."""
    found = [Policy()]
    for name, members in choices.items():
        found = [policy.replace(**{name: member}) for policy in found for member in members]
    return [str(policy) for policy in found]


def _members(choice: str) -> list[str]:
    values = [member.value for member in Policy.members(choice)]
    return [value for value in values if not value.startswith("stochastic")]


def _encode() -> Iterator[Family]:
    every = partial(_range, 1 << 16)
    for fmt in ELEMENT_FORMATS.values():
        choices = {"rounding": _members("rounding")}
        if fmt.specials is not Specials.NONE:
            choices["overflow"] = _members("overflow")
        for float in _SHORT:
            for policy in _policies(**choices):
                yield Family("encode", fmt.name, float, policy, "0000 to ffff", every)


def _dequantize() -> Iterator[Family]:
    about = (
        "scales 00 to ff, for each the element codes in order, 32 a block, the last one repeated"
    )
    for block in BLOCK_FORMATS:
        for float in ("f32", "bf16"):
            yield Family("dequantize", block, float, "ocp", about, partial(products, block))


def products(block: str) -> Iterator[Words]:
    """Every element code under every scale code of a block format, 32 a block, its scale first."""
    count = BLOCK_FORMATS[block].element.code_count
    codes = np.minimum(np.arange(max(count, 32)), count - 1).reshape(-1, 32)
    for scale in range(256):
        scales = np.full((len(codes), 1), scale)
        yield np.concatenate([scales, codes], axis=1).astype(np.uint8)


def _encode_scale() -> Iterator[Family]:
    every = partial(_range, 1 << 16)
    for float in _SHORT:
        for policy in _policies(scale_rounding=_members("scale_rounding")):
            yield Family("encode_scale", E8M0.name, float, policy, "0000 to ffff", every)


def _shared_scale() -> Iterator[Family]:
    every = partial(_range, 1 << 15)
    for fmt in ELEMENT_FORMATS.values():
        for float in _SHORT:
            for policy in _policies(scale_rule=[rule.value for rule in ScaleRule]):
                yield Family("shared_scale", fmt.name, float, policy, "0000 to 7fff", every)


def _pack() -> Iterator[Family]:
    quads = "every four codes, 0000 to ffff, the first one in the highest digit"
    pairs = "every two codes in every two of four places, the others 15 and 2a"
    for policy in _policies(fp4_packing=_members("fp4_packing")):
        yield Family("pack", "e2m1", "bytes", policy, quads, _quads)
    for name in ("e3m2", "e2m3"):
        for policy in _policies(fp6_packing=_members("fp6_packing")):
            yield Family("pack", name, "bytes", policy, pairs, _pairs)


def _quads() -> Iterator[Words]:
    numbers = np.arange(1 << 16)[:, np.newaxis]
    yield (numbers >> np.array([12, 8, 4, 0]) & 15).astype(np.uint8)


def _pairs() -> Iterator[Words]:
    first, second = np.divmod(np.arange(1 << 12), 64)
    for places in itertools.combinations(range(4), 2):
        codes = np.tile(np.array([0x15, 0x2A, 0x15, 0x2A], np.uint8), (len(first), 1))
        codes[:, places[0]], codes[:, places[1]] = first, second
        yield codes


def _quantize() -> Iterator[Family]:
    # The published text names the module as it was called when these vectors were made.
    about = "every scale code with every odd-rounded key: mxref.golden.product"
    for block in BLOCK_FORMATS:
        for text in _policies(scale_rule=["floor", "rceil", "even"]):
            chunks = partial(product_blocks, block, Policy.parse(text))
            yield Family("quantize", block, "f32", text, about, chunks)
