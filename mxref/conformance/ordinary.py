"""The encode mutants against ordinary test data and ordinary comparisons, beside the vectors.

Every set has float32 inputs; a mutant counts where the vectors or many probes show that it is
wrong. All data are seeded and made of integers, so the shares are the same on every machine.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F32, Parts, compose
from mxref.cases.answers import fast_answers
from mxref.cases.records import VectorFile
from mxref.cases.splitmix import splitmix64
from mxref.conformance.compare.compare import same_answers
from mxref.conformance.score import covers, score
from mxref.formats.catalog import ELEMENT_FORMATS, ElementFormat
from mxref.mutants import MUTANTS, Mutant
from mxref.numbers.element import decode
from mxref.policy.policy import Policy
from mxref.targets.calls import call_operation

__all__ = ["Row", "compare"]

Words = NDArray[np.uint64]

COUNT = 1_000_000
_CHUNK = 1 << 15

#: The inputs of ONNX's own tests of `Cast` (onnx 1.22.0, backend/test/case/node/cast.py): of FP4,
#: and of FP8, which serve for the other formats, too.
_SPECIALS = ("nan", "inf", "inf", "-inf")
_ONNX_FP8 = (
    *("0.47892547", "0.48033667", "0.49968487", "0.81910545", "0.47031248", "0.7229038"),
    *("1000000", "1e-7", *_SPECIALS, "-0.0000001", "0.0000001", "-1000000"),
)
_ONNX_FP4 = (
    *("0.48", "0.25", "1.05", "-3.5", "-8", "9", "1000000", "1e-7"),
    *(*_SPECIALS, "-4", "0.01", "-0.0"),
)


@dataclass(frozen=True, slots=True)
class Row:
    """A set of inputs and a comparison: how many mutants it catches, of how many."""

    data: str
    comparison: str
    inputs: int  #: in the largest format
    killed: int
    total: int

    @property
    def share(self) -> float:
        """The share that is caught."""
        return self.killed / self.total

    def as_json(self) -> dict[str, Any]:
        """As plain data."""
        return {**dataclasses.asdict(self), "share": self.share}


def compare(files: Sequence[VectorFile], mutants: Sequence[Mutant] = MUTANTS) -> list[Row]:
    """How many encode mutants (one for each format) each set and comparison catches.

    Args:
        files: vector files; those of `encode` from float32 are used.
        mutants: the mutants to try.
    """
    files = [file for file in files if file.op == "encode" and file.float == "f32"]
    wrong = {
        (cell.mutant.id, cell.file): cell.verdict == "killed"
        for cell in score(files, mutants)
        if cell.applicable
    }
    if not wrong:
        raise ValueError("nothing to compare: no encode mutant has a file of float32")
    killed: dict[tuple[str, str], int] = {("vectors", "bits"): sum(wrong.values())}
    inputs = {("vectors", "bits"): max(len(file.cases) for file in files)}
    for file in files:
        own = [m for m in mutants if covers(m, file) and (m.id, file.stem) in wrong]
        for data, comparison, words, judge in _sets(file):
            key = (data, comparison)
            inputs[key] = max(inputs.get(key, 0), len(words))
            right = {
                policy: _right(file, words, policy)
                for policy in dict.fromkeys(mutant.policy for mutant in own)
            }
            caught = (judge(file, mutant, words, right[mutant.policy]) for mutant in own)
            killed[key] = killed.get(key, 0) + sum(caught)
    return [Row(*key, inputs[key], count, len(wrong)) for key, count in killed.items()]


Judge = Callable[[VectorFile, Mutant, Words, Words], bool]


def _sets(file: VectorFile) -> Iterator[tuple[str, str, Words, Judge]]:
    fmt = ELEMENT_FORMATS[file.format]
    yield "vectors", "1 code allowed", file.input_words(), _differs_by_two
    yield "ONNX's cast tests", "bits", _onnx(fmt), _differs
    yield "normal", "bits", _normal(0, 1), _differs
    yield "uniform to 1.3 max", "bits", _uniform(fmt), _differs
    yield "random patterns", "bits", _patterns(), _differs
    # Six standard deviations are the largest number, so that nothing saturates.
    n, exponent = fmt.magnitude_parts(fmt.max_code)
    limit = 13 if fmt.bits == 4 else 18
    judge: Judge = lambda *arguments: _is_noisy(limit, *arguments)  # noqa: E731 - a parameter bound
    yield "normal, scaled", "SQNR 18 dB (FP4 13)", _normal(exponent, n), judge


def _onnx(fmt: ElementFormat) -> Words:
    numbers = np.array(_ONNX_FP4 if fmt.bits == 4 else _ONNX_FP8, np.float32)
    return _column(numbers.view(np.uint32))


def _normal(exponent: int, n: int) -> Words:
    """Nearly normal: 12 uniform numbers less 6, times n * 2**exponent / 6, or times 1 if n is 1."""
    draws = splitmix64(12, 12 * COUNT).reshape(12, COUNT) >> np.uint64(24)
    total = draws.sum(axis=0).astype(np.int64) - (6 << 40)  # its unit is 2**-40
    if n != 1:
        total = total * n // 6
    return _column(_float32(total, exponent - 40))


def _uniform(fmt: ElementFormat) -> Words:
    """Uniform within 1.3 times the largest number to both sides."""
    n, exponent = fmt.magnitude_parts(fmt.max_code)
    draws = (splitmix64(13, COUNT) >> np.uint64(23)).astype(np.int64) - (1 << 40)
    return _column(_float32(draws * (13 * n) // 10, exponent - 40))


def _patterns() -> Words:
    return (splitmix64(32, COUNT) >> np.uint64(32))[:, np.newaxis]


def _float32(numbers: NDArray[np.int64], exponent: int) -> NDArray[Any]:
    exponents = np.full(numbers.shape, exponent)
    return compose(Parts.finite(numbers < 0, np.abs(numbers), exponents), F32)


def _column(bits: NDArray[Any]) -> Words:
    return bits.astype(np.uint64)[:, np.newaxis]


def _right(file: VectorFile, words: Words, policy: str) -> Words:
    answers = fast_answers(file.op, file.format, file.float, words, Policy.parse(policy))
    return answers.astype(np.uint64)


def _answers(file: VectorFile, mutant: Mutant, words: Words) -> Iterator[tuple[slice, Words]]:
    """A mutant's answers, a chunk at a time."""
    if mutant.run is None:
        raise ValueError(f"mutant {mutant.id} cannot be run: {mutant.waiting}")
    for start in range(0, len(words), _CHUNK):
        part = slice(start, start + _CHUNK)
        yield part, call_operation(mutant.run, file, words[part])


def _differs(file: VectorFile, mutant: Mutant, words: Words, right: Words) -> bool:
    return any(
        not same_answers(file, right[part], got).all()
        for part, got in _answers(file, mutant, words)
    )


def _differs_by_two(file: VectorFile, mutant: Mutant, words: Words, right: Words) -> bool:
    """Whether an answer is more than one code away; NaN is one class, far from all numbers."""
    position = np.array(
        [
            1000 if fmt.is_nan(code) else -magnitude if negative else magnitude
            for fmt in [ELEMENT_FORMATS[file.format]]
            for code in range(fmt.code_count)
            for negative, magnitude in [fmt.sign_and_magnitude(code)]
        ]
    )
    return any(
        bool((np.abs(position[right[part]] - position[got]) > 1).any())
        for part, got in _answers(file, mutant, words)
    )


def _is_noisy(limit: int, file: VectorFile, mutant: Mutant, words: Words, right: Words) -> bool:
    """Whether the ratio of signal to quantization noise is below a limit in dB."""
    signal = noise = 0.0
    for part, got in _answers(file, mutant, words):
        x = words[part].astype(np.uint32).view(np.float32).astype(np.float64)
        error = x - decode(got, file.format, np.float64)
        signal += float((x * x).sum())
        noise += float((error * error).sum())
    return not noise * 10 ** (limit / 10) <= signal
