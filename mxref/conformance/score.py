"""The mutants that the vectors catch: every mutant against every file that has cases for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.cases.answers import fast_answers
from mxref.cases.probes import probes
from mxref.cases.records import VectorFile
from mxref.conformance.compare.compare import Failure, same_answers, wanted_answers
from mxref.conformance.compare.product_intervals import widened
from mxref.mutants import Mutant, equivalent, mutants_of
from mxref.operands.word_rows import stripped
from mxref.operations.own_choices import DEFAULT
from mxref.operations.registry import DOT_OPERATIONS, WEIGHT_ONLY_OPERATIONS
from mxref.policy.policy import Policy
from mxref.targets.calls import call_operation

__all__ = ["Cell", "covers", "first_kill", "score", "sole_killers"]

Words = NDArray[Any]

#: Number of words compared at a time: intermediate arrays stay in the cache.
_CHUNK = 1 << 15


@dataclass(frozen=True, slots=True)
class Cell:
    """One mutant against one vector file.

    Args:
        mutant: the mutant.
        file: path of the file below `vectors/`, without its suffix.
        killers: number of cases of each coverage model that catch the mutant.
        verdict: `killed`; `survived`: wrong somewhere, but no case shows it; `equivalent`: right
            everywhere, as listed in `mxref.mutants`; `unlisted`: right on all probes, but not
            listed as equivalent; `mislisted`: listed as equivalent, but wrong.
    """

    mutant: Mutant
    file: str
    killers: Mapping[str, int]
    verdict: str

    @property
    def applicable(self) -> bool:
        """Whether the mutant is wrong for this format and float type."""
        return self.verdict not in ("equivalent", "unlisted")

    @property
    def fails(self) -> bool:
        """Whether the vectors lack a case, or the list of equivalent mutants is wrong."""
        return self.verdict not in ("equivalent", "killed")


def covers(mutant: Mutant, file: VectorFile) -> bool:
    """Whether a file has cases for a mutant."""
    has = mutant.run is not None and not mutant.waiting and mutant.op == file.op
    return has and file.format in mutant.formats and file.float in mutant.floats


def score(
    files: Sequence[VectorFile],
    mutants: Sequence[Mutant] | None = None,
    without: Collection[str] = (),
) -> Iterator[Cell]:
    """Try every mutant on every file that has cases for it, file by file.

    Args:
        files: files that `mxref.golden.read_vectors` returned.
        mutants: the mutants to try; None for all of the operations of the files.
        without: coverage models whose cases are left out.
    """
    for file in files:
        every = mutants_of(file.op) if mutants is None else mutants
        asked = [mutant for mutant in every if covers(mutant, file)]
        yield from _score_file(file, asked, without) if asked else ()


def _score_file(
    file: VectorFile, mutants: Sequence[Mutant], without: Collection[str]
) -> Iterator[Cell]:
    inputs = file.input_words()
    models = np.array([case.model for case in file.cases])
    wanted: dict[str, Words] = {}
    others: dict[str, tuple[Words, Words]] = {}
    for mutant in mutants:
        name, policy = mutant.policy, Policy.parse(mutant.policy)
        if name not in wanted:
            wanted[name] = wanted_answers(file, policy)[1]
        wrong = _wrong(mutant, file, inputs, wanted[name])
        differs = bool(wrong.any())
        if not differs:
            if name not in others:
                others[name] = _probes(file, policy)
            differs = _differs(mutant, file, *others[name])
        killers = Counter(models[wrong].tolist())
        for model in without:
            killers.pop(model, None)
        listed = equivalent(mutant.id, file.format, file.float) is not None
        if differs:
            verdict = "mislisted" if listed else "killed" if killers else "survived"
        else:
            verdict = "equivalent" if listed else "unlisted"
        yield Cell(mutant, file.stem, killers, verdict)


def _probes(file: VectorFile, policy: Policy) -> tuple[Words, Words]:
    """Many inputs of the operation of a file, and their answers."""
    inputs = probes(file.op, file.format, file.float)
    return inputs, fast_answers(file.op, file.format, file.float, inputs, policy)


def _answers(mutant: Mutant, file: VectorFile, inputs: Words) -> Words:
    """What a mutant answers."""
    if mutant.run is None:
        raise ValueError(f"mutant {mutant.id} cannot be run: {mutant.waiting}")
    return call_operation(mutant.run, file, inputs)


def _wrong(mutant: Mutant, file: VectorFile, inputs: Words, wanted: Words) -> NDArray[np.bool_]:
    """A mask of the inputs that a mutant answers wrongly, compared as `verify` does."""
    answers = _answers(mutant, file, inputs)
    same: NDArray[np.bool_] = np.all(same_answers(file, wanted, answers, inputs), axis=1)
    if file.op in DOT_OPERATIONS and mutant.policy != "ocp":
        return ~same  # one that names an adder is held to its bits
    policy = DEFAULT if file.op in WEIGHT_ONLY_OPERATIONS else Policy.parse(mutant.policy)
    return ~widened(file, same, inputs, answers, policy)


def _differs(mutant: Mutant, file: VectorFile, inputs: Words, right: Words) -> bool:
    """Whether a mutant is wrong for any of many inputs."""
    step = max(1, _CHUNK // inputs.shape[1])
    parts = (slice(start, start + step) for start in range(0, len(inputs), step))
    return any(
        _wrong(mutant, file, inputs[part], right[part].astype(np.uint64)).any() for part in parts
    )


def first_kill(mutant: Mutant, file: VectorFile) -> Failure | None:
    """The first case of a file that a mutant answers wrongly, or None."""
    inputs = file.input_words()
    wanted = wanted_answers(file, Policy.parse(mutant.policy))[1]
    wrong = _wrong(mutant, file, inputs, wanted)
    if not wrong.any():
        return None
    index = int(np.argmax(wrong))
    got = _answers(mutant, file, inputs)[index]
    case = file.cases[index]
    return Failure(index, case, stripped(wanted[index]), stripped(got))


def sole_killers(cells: Sequence[Cell]) -> dict[str, list[Cell]]:
    """The cells that only one coverage model catches, by this model."""
    found: dict[str, list[Cell]] = {}
    for cell in cells:
        if len(cell.killers) == 1:
            found.setdefault(next(iter(cell.killers)), []).append(cell)
    return found
