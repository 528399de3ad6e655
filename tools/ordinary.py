"""How many mutants of `encode` ordinary test data and comparisons catch, beside the vectors.

    python tools/ordinary.py --write README.md   # its table, in half a minute of processor time
    python tools/ordinary.py --class A --json

All inputs are float32. A mutant counts in a format where the vectors or many probes show that it is
wrong. All data are seeded and made of integers: the shares are the same on every machine.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F32, Parts, compose
from mxref.cases.answers import fast_answers
from mxref.cases.records import VectorFile
from mxref.cli.score_verb import chosen_files, chosen_mutants
from mxref.cli.screen import add_json_argument, add_vectors_argument, print_table, vectors_folder
from mxref.conformance.compare.compare import same_answers
from mxref.conformance.score import covers, score
from mxref.formats.catalog import ELEMENT_FORMATS, ElementFormat
from mxref.golden import read_vectors
from mxref.mutants import MUTANTS, Mutant
from mxref.numbers.element import decode
from mxref.operands.splitmix import splitmix64
from mxref.policy.policy import Policy
from mxref.support.whole_file import write_file
from mxref.targets.calls import call_operation

Words = NDArray[np.uint64]

COUNT = 1_000_000
_VECTORS = "these vectors"
_CHUNK = 1 << 15

#: Inputs of ONNX's own tests of `Cast` (onnx 1.22.0, backend/test/case/node/cast.py): those of FP8,
#: which are used for FP6 and INT8 as well, and those of FP4.
_ONNX_FP8 = (
    "0.47892547 0.48033667 0.49968487 0.81910545 0.47031248 0.7229038 1000000 1e-7 nan inf inf "
    "-inf -0.0000001 0.0000001 -1000000"
)
_ONNX_FP4 = "0.48 0.25 1.05 -3.5 -8 9 1000000 1e-7 nan inf inf -inf -4 0.01 -0.0"


@dataclass(frozen=True, slots=True)
class OrdinaryRow:
    """How many mutants a set of inputs and a comparison catch."""

    data: str
    comparison: str
    inputs: int  #: inputs of the format that has most
    killed: int
    total: int

    @property
    def share(self) -> float:
        """The share of the mutants that is caught."""
        return self.killed / self.total

    def as_json(self) -> dict[str, Any]:
        """The row as JSON has it."""
        return {**dataclasses.asdict(self), "share": self.share}


def compare(files: Sequence[VectorFile], mutants: Sequence[Mutant] = MUTANTS) -> list[OrdinaryRow]:
    """Count the mutants of `encode` that each set of inputs and comparison catches.

    A mutant counts once for each format.

    Args:
        files: vector files; those of `encode` from float32 to MX formats are used.
        mutants: the mutants to try.

    Raises:
        ValueError: no mutant has such a file.
    """
    files = [
        f for f in files if f.op == "encode" and f.float == "f32" and f.format in ELEMENT_FORMATS
    ]
    wrong = {
        (cell.mutant.id, cell.file): cell.verdict == "killed"
        for cell in score(files, mutants)
        if cell.applicable
    }
    if not wrong:
        raise ValueError("nothing to compare: no encode mutant has a file of float32")
    killed: dict[tuple[str, str], int] = {(_VECTORS, "bits"): sum(wrong.values())}
    inputs = {(_VECTORS, "bits"): max(len(file.cases) for file in files)}
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
    return [OrdinaryRow(*key, inputs[key], count, len(wrong)) for key, count in killed.items()]


Judge = Callable[[VectorFile, Mutant, Words, Words], bool]


def _sets(file: VectorFile) -> Iterator[tuple[str, str, Words, Judge]]:
    fmt = ELEMENT_FORMATS[file.format]
    yield _VECTORS, "one code allowed", file.input_words(), _differs_by_two
    yield "ONNX's own cast tests", "bits", _onnx(fmt), _differs
    yield "normal", "bits", _normal(0, 1), _differs
    yield "uniform up to 1.3 max", "bits", _uniform(fmt), _differs
    yield "random float patterns", "bits", _patterns(), _differs
    # Six standard deviations are the largest number of the format: nothing saturates.
    n, exponent = fmt.magnitude_parts(fmt.max_code)
    limit = 13 if fmt.bits == 4 else 18
    judge: Judge = lambda *arguments: _is_noisy(limit, *arguments)  # noqa: E731 - a parameter bound
    yield "normal, scaled", "SQNR of 18 dB (FP4 13)", _normal(exponent, n), judge


def _onnx(fmt: ElementFormat) -> Words:
    numbers = np.array((_ONNX_FP4 if fmt.bits == 4 else _ONNX_FP8).split(), np.float32)
    return _column(numbers.view(np.uint32))


def _normal(exponent: int, n: int) -> Words:
    """Nearly normal numbers: sums of 12 uniform numbers, minus 6.

    They are multiplied by n * 2**exponent / 6; by 2**exponent if n is 1.
    """
    draws = splitmix64(12, 12 * COUNT).reshape(12, COUNT) >> np.uint64(24)
    total = draws.sum(axis=0).astype(np.int64) - (6 << 40)  # in units of 2**-40
    if n != 1:
        total = total * n // 6
    return _column(_float32(total, exponent - 40))


def _uniform(fmt: ElementFormat) -> Words:
    """Uniform numbers of both signs, up to 1.3 times the largest number of the format."""
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
    """The answers of a mutant, a chunk at a time."""
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
    """Whether an answer is more than one code away; NaN is far from every number."""
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


#: The beginning of the table in a page.
HEADER = """\
| test data | numbers per format | compared by | caught |
|---|---|---|---|
"""


def with_table(text: str, rows: Sequence[OrdinaryRow]) -> str:
    """The text of a page with these rows in the place of those of its table.

    Raises:
        ValueError: the page has no such table.
    """
    before, header, after = text.partition(HEADER)
    if not header:
        raise ValueError(f"the page has no table with the header {HEADER.splitlines()[0]}")
    lines = []
    for row in sorted(rows, key=lambda row: -row.share):
        bold = "**" if (row.data, row.comparison) == (_VECTORS, "bits") else ""
        most = "at most " if row.data == _VECTORS else ""
        caught = f"{bold}{row.share * 100:.0f} %{bold} `{'#' * round(20 * row.share)}`"
        cells = (f"{bold}{row.data}{bold}", f"{most}{row.inputs:,}", row.comparison, caught)
        lines.append(f"| {' | '.join(cells)} |\n")
    _, end, rest = after.partition("\n\n")
    return before + header + "".join(lines) + end[1:] + rest


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, or the rows as JSON."""
    parser = argparse.ArgumentParser(
        prog="ordinary.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--set", default="encode", metavar="FILE", help="such as encode/e4m3.f32")
    parser.add_argument("--class", dest="group", metavar="CLASS", help="A, A17, or one mutant")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the table into this page")
    add_json_argument(parser)
    add_vectors_argument(parser)
    options = parser.parse_args(arguments)
    try:
        files = chosen_files(read_vectors(options.vectors or vectors_folder()), options.set)
        rows = compare(files, chosen_mutants(options.group))
        if options.write is not None:
            text = with_table(options.write.read_text("utf-8"), rows)
            write_file(options.write, text.encode("utf-8"))
    except (ValueError, OSError) as error:
        print(f"ordinary.py: error: {error}", file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps([row.as_json() for row in rows], indent=1))
        return 0
    table = [
        (row.data, row.comparison, str(row.inputs), f"{row.killed}/{row.total}", f"{row.share:.0%}")
        for row in rows
    ]
    print_table(("inputs", "compared by", "per format", "killed", ""), table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
