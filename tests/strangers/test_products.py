"""Wrong and right matrix products, written before their author saw a mutant or a test."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from mxref.cases.read import vectors_folder
from mxref.cases.records import VectorFile
from mxref.cli.verify_verb import print_report
from mxref.conformance import check, load_target
from mxref.conformance.checking import product_shapes
from mxref.conformance.checking.check import Extent
from mxref.targets.asked import read_for

FOLDER = Path(__file__).parent / "products"


def names(file: str) -> list[str]:
    """The kernels of a file, in its order."""
    found = re.findall(
        r"^(?:def )?([wr]\d\d_\w+)(?:\(| = kernel)", (FOLDER / file).read_text(), re.M
    )
    return list(dict.fromkeys(found))


#: What a true report says of those that the vectors alone do not show, or do not explain.
TRUE = {
    "w02": "33 rows and more, and a number of rows that is no multiple of 32",
    "w03": "65 columns and more",
    "w04": "128 rows and more, and 128 columns and more",
    "w05": "16 rows and more, and 16 columns and more",
    "w07": "in rows from number 128 on",
    "w08": "128 rows and more",
    "w10": "more than 33,024 outputs",
    "w12": "a number of summed elements that is no multiple of 128",
    "w13": "a number of summed elements that is no multiple of 128",
    "w14": "scales the last block of a tile of 128 as the next tile",
    "w16": "more than 480 summed elements",
    "w19": "more than 1,024 summed elements",
    "w31": "squares_0_1_2: 2 products of magnitudes to 4, want 41000000",
    "w37": "the same product gave two answers",
    "w39": "arrays with columns first in memory",
    "w40": "the result of a call is overwritten by the next call",
    "w49": "in rows from number 65 on",
}
#: Outputs times blocks of the largest product that is asked; and of kernels in which no shape
#: decides, every so many of the shapes are asked.
LARGEST, FEWER = 140_000, 12


@pytest.fixture(autouse=True)
def shapes_at_any_speed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where shapes decide, all are asked, whatever time calls take; of others a share."""
    shapes = [shape for shape in product_shapes._SHAPES if math.prod(shape) <= LARGEST]
    named = str(request.node.name).partition("[")[2][:3]
    if named in TRUE or not named:
        monkeypatch.setattr(product_shapes, "_SECONDS", math.inf)
    else:
        shapes = shapes[::FEWER]
    monkeypatch.setattr(product_shapes, "_SHAPES", shapes)


def said(
    kernel: str, file: str, capsys: pytest.CaptureFixture[str], read_once: dict[str, VectorFile]
) -> str:
    target = load_target(f"{FOLDER / file}:{kernel}")
    files = read_for(vectors_folder(), target, target.policy, read=read_once.values())
    read_once.update((one.stem, one) for one in files if one.cases)
    print_report(check(target, files, extent=Extent(elements=2_200_000)), 20)
    return capsys.readouterr().out


@pytest.mark.sampled(0)
@pytest.mark.parametrize("kernel", names("wrong_products.py"))
def test_a_wrong_product_is_caught(
    kernel: str, capsys: pytest.CaptureFixture[str], read_once: dict[str, VectorFile]
) -> None:
    text = said(kernel, "wrong_products.py", capsys, read_once)
    assert "\nPASS " not in text, text
    assert TRUE.get(kernel[:3], "") in text, text


@pytest.mark.sampled(0)
@pytest.mark.parametrize("kernel", names("right_products.py"))
def test_a_right_product_passes(
    kernel: str, capsys: pytest.CaptureFixture[str], read_once: dict[str, VectorFile]
) -> None:
    text = said(kernel, "right_products.py", capsys, read_once)
    if kernel.endswith("aligned_13"):  # narrower than float32
        assert "conforms under ocp+accumulation=aligned_13" in text, text
        return
    assert "\nPASS " in text, text
    name = next(
        (
            n
            for n in (
                "sequential",
                "pairwise",
                "by_block",
                "scales_last",
                "aligned_25",
                "aligned_35",
            )
            if n in kernel
        ),
        "",
    )
    assert not name or f"accumulation={name}" in text or f" and {name}" in text, text


@pytest.mark.sampled(6)
def test_a_small_sample(
    capsys: pytest.CaptureFixture[str], read_once: dict[str, VectorFile]
) -> None:
    text = said("w02_m_tail_not_launched", "wrong_products.py", capsys, read_once)
    assert TRUE["w02"] in text, text
    text = said("r16_int32_blocks", "right_products.py", capsys, read_once)
    assert "\nPASS " in text, text


def test_there_are_kernels() -> None:
    assert len(names("wrong_products.py")) == 50
    assert len(names("right_products.py")) == 16
