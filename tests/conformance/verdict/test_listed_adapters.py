"""Adapters of real implementations with their lists of known divergences."""

from __future__ import annotations

import dataclasses
import json

import pytest
from needs import needs
from shares import Share
from verify_helpers import ADAPTERS, RIGHT, Kit

from mxref.cases.records import stem_of
from mxref.conformance import Report, load_target, read_xfail, verify
from mxref.golden import VectorFile
from mxref.golden.vector_cases import made_files


@pytest.fixture(scope="module", params=["ml_dtypes", "gfloat"])
def adapter(
    request: pytest.FixtureRequest, everything: list[VectorFile], share: Share
) -> tuple[str, Report]:
    """A real implementation, compared once with the vectors, with its known divergences.

    gfloat is slow: without --complete it is asked one case in seven, and its divergences.
    """
    name: str = request.param
    needs(name)
    target = load_target(str(ADAPTERS / f"{name}_adapter.py"))
    known = read_xfail(ADAPTERS / f"{name}.xfail.json")
    ids = (key for key in known if " " not in key)
    listed = set(map(stem_of, ids)) - {file.stem for file in everything}  # made when asked for
    everything = [*everything, *(made_files()[stem]() for stem in sorted(listed))]
    if name == "gfloat":
        everything = [
            dataclasses.replace(
                file,
                cases=tuple(
                    case
                    for index, case in enumerate(file.cases)
                    if case.id in known or share.takes(index, 7)
                ),
            )
            for file in everything
        ]
    return name, verify(target, everything, target.policy, known)


@pytest.mark.sampled(12)
@pytest.mark.complete
def test_an_adapter_passes_with_its_known_divergences(adapter: tuple[str, Report]) -> None:
    _, report = adapter
    assert report.passed
    assert report.unlisted == []
    assert report.stale == []
    ids = [key for key in report.known if " " not in key]  # kinds are for what is computed
    assert len(report.failures) == len(ids) > 0


@pytest.mark.sampled(12)
def test_an_adapter_fails_without_any_of_them(adapter: tuple[str, Report]) -> None:
    name, report = adapter
    assert not dataclasses.replace(report, known={}).passed
    groups = json.loads((ADAPTERS / f"{name}.xfail.json").read_text())["groups"]
    assert len(groups) > 1
    for dropped in groups:
        known = {id: why for id, why in report.known.items() if id not in set(dropped["cases"])}
        without = dataclasses.replace(report, known=known)
        assert not without.passed
        assert {f.case.id for _, f in without.unlisted} == set(dropped["cases"])


@pytest.mark.parametrize(
    ("stem", "call"),
    [
        ("encode/e2m1.f16", "def encode(v, f): return np.ma.array(mxref.encode(v, f), mask=True)"),
        ("decode/e2m1.f32", "def decode(c, f): return np.ma.array(mxref.decode(c, f), mask=True)"),
    ],
)
def test_masked_answers_do_not_pass(kit: Kit, stem: str, call: str) -> None:
    run = kit.run(kit.target(RIGHT + call + "\n"), "--vectors", kit.vectors(stem))
    assert run.status == 1
    assert "the result must not be masked" in run.out
