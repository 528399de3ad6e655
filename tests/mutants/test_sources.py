import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from mxref.mutants import MUTANTS
from mxref.mutants.sources import SOURCES, link, sources

ROOT = Path(__file__).parents[2]
BY_ID = {mutant.id: mutant for mutant in MUTANTS}
#: The forms of citations; a thread begins with a name and a number other than 0.
FORMS = (
    r"[\w-]+/[\w.-]+#[1-9][0-9]*",
    r"[\w-]+/[\w.-]+@[0-9a-f]{7,40}:[\w./-]+\.[a-z]+",
    r"[a-z][\w-]*==[0-9][\w.]*:[\w./]+",
    r"arXiv:[0-9]{4}\.[0-9]{5}",
    r"docs/(reports|ledger)/[\w-]+\.md",
)


@pytest.mark.parametrize("citation", SOURCES)
def test_a_citation_has_a_form_and_a_page_is_there(citation: str) -> None:
    assert any(re.fullmatch(form, citation) for form in FORMS)
    if citation.startswith("docs/"):
        assert (ROOT / citation).is_file()


@pytest.mark.parametrize("citation", SOURCES)
def test_every_id_is_that_of_a_mutant(citation: str) -> None:
    """One that is listed itself: what is inside blocks has the sources of its mutant of encode."""
    patterns = SOURCES[citation].split()
    assert patterns
    for pattern in patterns:
        named = [one for one in MUTANTS if fnmatchcase(one.id, pattern)]
        assert named
        assert not any(one.lifted_from for one in named)
        assert all(citation in one.seen for one in named)


def test_an_id_is_named_once_beside_a_citation() -> None:
    for citation, patterns in SOURCES.items():
        for mutant in MUTANTS:
            assert sum(fnmatchcase(mutant.id, one) for one in patterns.split()) < 2, citation


def test_the_sources_of_a_mutant() -> None:
    assert BY_ID["A16b"].seen == ("onnx/onnx#7784",)
    assert BY_ID["A16bq"].seen == ("onnx/onnx#7784",)
    assert BY_ID["A3"].seen == ()
    assert list(sources("C5cq")) == ["vllm-project/vllm#53110", "vllm-project/vllm#53668"]
    assert list(BY_ID["L1.17"].seen) == ["ooples/AiDotNet.Tensors#440"]
    for mutant in MUTANTS:
        if mutant.lifted_from:
            assert mutant.seen == BY_ID[mutant.lifted_from].seen


GITHUB = "https://github.com/"
ADDRESSES = {
    "google-ai/a.b-c#12": f"{GITHUB}google-ai/a.b-c/issues/12",
    "microsoft/mx@7bc41952:mx/ops.py": f"{GITHUB}microsoft/mx/blob/7bc41952/mx/ops.py",
    "arXiv:2403.00232": "https://arxiv.org/abs/2403.00232",
    "numpy==2.4.6:exp2": "numpy==2.4.6:exp2",
    "docs/ledger/gguf.md": "docs/ledger/gguf.md",
}


@pytest.mark.parametrize("citation", ADDRESSES)
def test_the_address_of_a_citation(citation: str) -> None:
    assert link(citation) == ADDRESSES[citation]
