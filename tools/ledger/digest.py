"""What a record is of, in four parts; where one of them is another now, the record is stale.

=============  ==================================================================================
``profile``    what the profile answers, or the claimed policy or choices do, and what `ocp` does
``questions``  what is put to the adapter: the vectors, a thin share of the ledger's own rounds,
               and how many of them there are
``adapter``    the code of the adapter and of what it imports from tools/adapters
``library``    the versions that the adapter pins, with which alone it is run
=============  ==================================================================================

Code of mxref and of this tool is no part, what it does is: a module that is moved or renamed makes
no record stale. No library is needed, since a record keeps what the adapter said that it has.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ledger.asks import random_elements, rounds
from ledger.claims import Adapter, meaning
from ledger.examine import profile_files, speaks_of, wanted
from ledger.integers import VALUES, claimed_policy, integer_answer, integer_files, integer_rows
from ledger.libraries import files_of, pins
from ledger.products import OUTPUTS, dot_count, dot_rounds, layer_rounds, product_files
from mxref.bits.floats import LAYOUTS
from mxref.cases.records import VectorFile
from mxref.operands.word_rows import NO_WORD, padded, stripped
from mxref.operations.layers import fast_layer, layer_bounds
from mxref.operations.product_words import pair_formats
from mxref.operations.products import bounds, outputs
from mxref.operations.registry import PRODUCT_OPERATIONS, WEIGHT_ONLY_OPERATIONS
from mxref.policy.policy import Policy
from mxref.targets.calls import Answers
from mxref.targets.target import PythonTarget, TargetError, target_of

__all__ = ["PARTS", "Digests", "said"]

Words = NDArray[np.uint64]
Part = str | NDArray[Any]
Rounds = list[tuple[str, Words]]
PARTS = ("profile", "questions", "adapter", "library")
#: A digest is of one scale in `_SHARE` of the block product and of one block in `_THIN` of those,
#: and of so many random elements, outputs and values.
_SHARE, _THIN, _ELEMENTS, _OUTPUTS, _VALUES = 8, 17, 4096, 256, 16
#: Cases of a round that is not thinned.
_SMALL = 1 << 12
#: Operations that give floats, whose NaN are one.
_TO_FLOATS = (
    *("decode", "decode_scale", "dequantize", "dequantize_affine"),
    *(*PRODUCT_OPERATIONS, *WEIGHT_ONLY_OPERATIONS),
)


def said(target: PythonTarget) -> dict[str, Any]:
    """What an adapter says that it has; no formats if it names none, no policy but its own."""
    own = target.profile is None or target.policy != target.profile.policy
    functions = target.operations.items()
    return {
        "operations": {op: [*getattr(function, "floats", ())] for op, function in functions},
        "formats": sorted(target.formats) if target.claims_formats else [],
        "floats": sorted(target.floats),
        "policy": str(target.policy) if own else "",
    }


def _hollow(adapter: Adapter, has: Mapping[str, Any]) -> PythonTarget:
    """A target that covers what an adapter does, and cannot be asked."""
    claims = {"POLICY": has["policy"], "FORMATS": has["formats"], "FLOATS": has["floats"],
              "PROFILE": adapter.profile}  # fmt: skip
    given = {name: claim for name, claim in claims.items() if claim}
    target = target_of(SimpleNamespace(encode=print, **given), adapter.name)
    operations: dict[str, Any] = {
        op: SimpleNamespace(**({"floats": floats} if floats else {}))
        for op, floats in has["operations"].items()
    }
    return dataclasses.replace(target, operations=operations)


class Digests:
    """The parts of all records; what several adapters share is computed once."""

    def __init__(self) -> None:
        self._files: dict[str, VectorFile] = {}
        self._asked: dict[tuple[str, str], Rounds] = {}
        self._pairs: dict[tuple[str, ...], tuple[str, str]] = {}

    def parts(self, adapter: Adapter, has: Mapping[str, Any], share: int) -> dict[str, str]:
        """The parts of a record by name.

        Args:
            adapter: the adapter.
            has: what it said that it has, as `said` gives it.
            share: 1 of how many cases it is asked.
        """
        target = _hollow(adapter, has)
        if adapter.profile:
            pairs = [*self._of_profile(target, share)]
        elif adapter.integers:
            pairs = [*self._of_integers(target, adapter.integers, share)]
        else:
            pairs = [*self._of_products(target, share)]
        code = sorted(meaning(path.read_text("utf-8")) for path in files_of(adapter.path))
        return {
            "profile": _hash(answers for _, answers in pairs),
            "questions": _hash([f"1/{share}", *(questions for questions, _ in pairs)]),
            "adapter": _hash([adapter.mode, *code]),
            "library": ", ".join(map(str, pins(adapter.path))),
        }

    def changed(self, adapter: Adapter, record: Mapping[str, Any], share: int) -> list[str]:
        """The parts that are not as they were when an adapter was run; of a fresh record none.

        Other questions have other answers, which say nothing of the profile.
        """
        try:
            now = self.parts(adapter, record["has"], share)
        except TargetError:  # it has something that there is no more
            return ["questions"]
        found = [part for part in PARTS if record["of"][part] != now[part]]
        return [part for part in found if part != "profile" or "questions" not in found]

    def _read(self, files: Iterable[VectorFile]) -> list[VectorFile]:
        """The files, kept for the next adapter."""
        found = [*files]
        self._files |= {file.stem: file for file in found if file.cases}
        return found

    def _of_profile(self, target: PythonTarget, share: int) -> Iterator[tuple[str, str]]:
        """For each file digests of the questions and of the answers."""
        profile = target.profile
        assert profile is not None
        files = self._read(profile_files(target, self._files.values()))
        random = random_elements(files)
        for file in files:
            if not speaks_of(profile, file):
                yield f"not {file.stem}", ""
                continue
            rule = profile.policy.choices()["scale_rule"] if file.op == "quantize" else ""
            if (file.stem, rule) not in self._asked:
                self._asked[file.stem, rule] = [*_thinned(file, profile.policy)]
            asked = self._asked[file.stem, rule]
            key = (profile.name, str(target.policy), file.stem)
            if key not in self._pairs:
                answers = (some for _, words in asked for some in wanted(target, file, words))
                self._pairs[key] = (
                    _hash(part for origin, words in asked for part in (origin, words)),
                    _hash(part for some in answers for part in _answered(file, some)),
                )
            questions, own = self._pairs[key]
            yield f"{file.stem} {random.get(file.stem, 0) // share} {questions}", own

    def _of_products(self, target: PythonTarget, share: int) -> Iterator[tuple[str, str]]:
        """The same of products: the answers of the policy, and the bounds of float32 sums."""
        files, policy = self._read(product_files(target, self._files.values())), str(target.policy)
        count = dot_count(files, OUTPUTS // share)
        for file in files:
            key = (policy, file.stem)
            if key not in self._pairs:
                parts = _dots if file.op == "matmul" else _layers
                asked, answers = zip(*parts(file, target.policy), strict=True)
                self._pairs[key] = _hash(asked), _hash(part for some in answers for part in some)
            questions, own = self._pairs[key]
            yield f"{file.stem} {count} {questions}", own

    def _of_integers(
        self, target: PythonTarget, claim: str, share: int
    ) -> Iterator[tuple[str, str]]:
        """The same of integer operations: the answers of the claimed choices."""
        for file in self._read(integer_files(target, self._files.values())):
            policy = claimed_policy(file, claim)
            key = (policy, file.stem)
            if key not in self._pairs:
                rows = [row for some in integer_rows(file, _VALUES) for row in some]
                answers = [integer_answer(file, row, policy) for row in rows]
                refused = [str(i) for i, answer in enumerate(answers) if answer is None]
                words = _one_nan(file, padded([answer or () for answer in answers]))
                self._pairs[key] = _hash([padded(rows)]), _hash([words, *refused])
            questions, own = self._pairs[key]
            yield f"{file.stem} {max(VALUES // share, 16)} {questions}", own


def _thinned(file: VectorFile, policy: Policy) -> Iterator[tuple[str, Words]]:
    """Level 1, and a thin share of the ledger's rounds."""
    for origin, words in rounds(file, policy, _ELEMENTS * _SHARE, _SHARE):
        some = origin == "level 1" or len(words) <= _SMALL
        yield origin, words if some else words[::_THIN]


def _answered(file: VectorFile, answers: Answers | Words) -> Iterator[str | Words]:
    """Answers, and the errors without their texts."""
    if isinstance(answers, Answers):
        yield from (f"{i} {text.partition(':')[0]}" for i, text in sorted(answers.errors.items()))
        answers = answers.words
    yield _one_nan(file, answers)


def _dots(file: VectorFile, policy: Policy) -> Iterator[tuple[Part, list[Part]]]:
    """Operands, and the outputs of a policy with the bounds."""
    formats = pair_formats(file.format)
    for origin, a, b in dot_rounds(file, _OUTPUTS):
        own = _one_nan(file, outputs(a, b, formats, file.float, str(policy)))
        narrow, wide = (bounds(a, b, formats, file.float, how) for how in ("nearest", "any"))
        yield (
            f"{origin} {[row.words for row in a]} {[row.words for row in b]}",
            [own, *narrow, *wide],
        )


def _layers(file: VectorFile, policy: Policy) -> Iterator[tuple[Part, list[Part]]]:
    """Layers, and what a policy gives with the bounds."""
    names = file.op, file.format, file.float
    for _, inputs in layer_rounds(file):
        for row in map(stripped, inputs):
            own = _one_nan(file, fast_layer(*names, row, str(policy)))
            yield str(row), [own, *layer_bounds(*names, row, policy)]


def _one_nan(file: VectorFile, words: Words) -> Words:
    """Answers with one NaN where they are floats, whose NaN no comparison tells apart."""
    if file.op not in _TO_FLOATS:
        return words
    layout = LAYOUTS[file.float]
    is_nan = (words & np.uint64(layout.sign_bit - 1) > layout.inf_bits) & (words != NO_WORD)
    return np.where(is_nan, np.uint64(layout.nan_bits), words)


def _hash(parts: Iterable[Part]) -> str:
    """A digest of texts and numbers, the same on every machine."""
    hashed = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            if part.dtype != np.uint64:  # bounds, whose NaN are one
                part = np.where(np.isnan(part), np.nan, part.astype(np.float64))
            hashed.update(
                f"{part.shape}".encode() + part.astype(part.dtype.newbyteorder("<")).tobytes()
            )
        else:
            hashed.update(f"{part}\n".encode())
    return hashed.hexdigest()[:16]
