"""Kernels with two and three faults: what `verify` says of them.

Half of the pairs are mutants of different stages; the other half, and the triples beside them, have
faults that nobody made a hypothesis of who wrote the diagnosis.
"""

from __future__ import annotations

from types import SimpleNamespace

import mutant_pairs
import pytest
from mutant_pairs import Fault

from mxref.cases.read import read_vectors, vectors_folder
from mxref.conformance import Extent, Report, check, target_of
from mxref.conformance.verdict.one_sentence import verdict_text

DRAWN = mutant_pairs.drawn(60, 15)


def report_on(format: str, faults: tuple[Fault, ...]) -> Report:
    """The vectors and the search, in the float types that all faults are made for."""
    floats = [
        float for float in ("f32", "f64", "f16", "bf16") if all(float in f.floats for f in faults)
    ]
    run = mutant_pairs.kernel(faults)
    target = target_of(SimpleNamespace(quantize=run, FORMATS=[format], FLOATS=floats), "pair")
    stems = {f"quantize/{format}.{float}" for float in floats}
    files = read_vectors(vectors_folder(), lambda stem: stem in stems)
    return check(target, files, extent=Extent(elements=0))


@pytest.mark.sampled(12)
@pytest.mark.parametrize(
    ("format", "faults"),
    DRAWN,
    ids=[f"{format}-{'-'.join(one.name for one in faults)}" for format, faults in DRAWN],
)
def test_mutants_of_two_and_three_stages(format: str, faults: tuple[Fault, ...]) -> None:
    """What is named gives all answers to the vectors and to the search; so does each fault alone.

    A pair that no question tells from one of its faults is that one.
    """
    report = report_on(format, faults)
    (row,) = report.rows
    assert row.failures
    assert row.causes, verdict_text(report)
    assert row.causes[0].complete, verdict_text(report)
    assert report.scope.searched or row.causes[0].kind == "policy"
