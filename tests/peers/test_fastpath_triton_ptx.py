"""The Triton fast path as it is compiled: its PTX, interpreted on a CPU, and counts of its code.

No GPU takes part.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from helpers import ROOT
from sass_counts import grown
from triton_counts import COUNTS, KERNELS, over, table
from triton_process import child

SHARES = 6
#: Bugs in the compiled kernels: an architecture, and words of the first thing said to be wrong.
FOUND_BY = json.loads((ROOT / "tests/helpers/data/triton/found_by.json").read_text("utf-8"))
ARCHITECTURES = ["80", "90", "100"]
#: Operations of level 1 that one process asks, and their files.
OPERATIONS = {
    ("quantize",): 24,
    ("dequantize",): 24,
    ("encode", "shared_scale", "decode"): 42,
}


def compiled(*what: str, folder: Path) -> Any:
    """What `triton_ptx_checks` finds, with compiled kernels in a folder."""
    environment = {"TRITON_CACHE_DIR": str(folder), "TRITON_INTERPRET": "0"}
    return child(*what, script="triton_ptx_checks", **environment)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("operations", OPERATIONS, ids="+".join)
def test_level_1(architecture: str, operations: tuple[str, ...], tmp_path: Path) -> None:
    verdict, files, cases, wrong, texts = compiled(
        "vectors", architecture, *operations, folder=tmp_path
    )
    assert wrong == 0
    assert verdict.startswith("conforms"), verdict
    assert files == OPERATIONS[operations]
    assert cases > 2000
    assert texts >= 21


@pytest.mark.sampled(1)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_rounding_by_given_bits(architecture: str, tmp_path: Path) -> None:
    found = compiled("chance", architecture, folder=tmp_path)
    assert len(found) == 12
    assert all(cases >= 240 and wrong == 0 for cases, wrong in found.values())


@pytest.mark.sampled(1)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_matrices(architecture: str, tmp_path: Path) -> None:
    """Tails of tiles both ways, strides, layouts, rules, chance, and lines 2**32 bytes apart."""
    found = compiled("matrices", architecture, folder=tmp_path)
    assert len(found) == 7 + 3 + 2 + 1
    assert not {name: wrong for name, (answers, wrong) in found.items() if wrong or not answers}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_planted_bugs_are_caught(architecture: str, tmp_path: Path) -> None:
    """Each of them; what finds it is in the table of the README."""
    found_by = {name: by for name, (of, by) in FOUND_BY.items() if of == architecture}
    said = compiled("bugs", architecture, *found_by, folder=tmp_path)
    assert said.keys() == found_by.keys()
    assert {name: said[name] for name, by in found_by.items() if by not in said[name]} == {}


def test_the_budget() -> None:
    """Instructions for an element of which the kernels may have at most so many, and no stack."""
    committed = json.loads(COUNTS.read_text())
    assert list(committed) == [kernel.name for kernel in KERNELS]
    assert over(committed) == []
    assert all(counts["spills"] == 0 for counts in committed.values())
    high = {name: {**counts, "issued": counts["issued"] * 3} for name, counts in committed.items()}
    assert len(over(high)) == len(KERNELS)


def test_the_page_has_the_counts() -> None:
    page = (ROOT / "docs" / "performance.md").read_text()
    assert table(json.loads(COUNTS.read_text())) in page


@pytest.mark.sampled(1)
@pytest.mark.parametrize("share", range(SHARES))
def test_no_kernel_has_grown(share: int, tmp_path: Path) -> None:
    committed = json.loads(COUNTS.read_text())
    before = {kernel.name: committed[kernel.name] for kernel in KERNELS[share::SHARES]}
    assert grown(compiled("counts", str(share), str(SHARES), folder=tmp_path), before) == []
