"""Wrong and right matrix products, written before their author saw a mutant or a test."""

from __future__ import annotations

import contextlib
import io
import math
import re
import tomllib
from pathlib import Path

import pytest
from limits import assert_limits, recorded
from planting import kernel_texts
from product_targets import limit_shapes

from mxref.cases.read import vectors_folder
from mxref.cases.records import VectorFile
from mxref.cli.verify_verb import print_report
from mxref.conformance import check, load_target
from mxref.conformance.checking import product_shapes
from mxref.conformance.checking.check import Extent
from mxref.targets.asked_files import read_for

FOLDER = Path(__file__).parent / "products"

MODULES = ("wrong", "right")
WRONG, RIGHT = (
    {name: one for name, one in tomllib.loads(text).items() if name != "begin"}
    for text in ((FOLDER / f"{name}.toml").read_text("utf-8") for name in MODULES)
)
#: Outputs times blocks of the largest product that is asked; and of kernels in which no shape
#: decides, every so many of the shapes are asked.
LARGEST, FEWER = 140_000, 12


@pytest.fixture(autouse=True)
def shapes_at_any_speed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where shapes decide, all are asked, of others a share; whatever time calls take."""
    named = str(request.node.name).partition("[")[2][:-1]
    step = FEWER if named and "said" not in WRONG.get(named, ()) else 1
    monkeypatch.setattr(product_shapes, "_SECONDS", math.inf)
    limit_shapes(monkeypatch, LARGEST, step)


@pytest.fixture(scope="module")
def products(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the modules of the kernels."""
    folder = tmp_path_factory.mktemp("products")
    (folder / "products_base.py").write_bytes((FOLDER / "products_base.py").read_bytes())
    for name in MODULES:
        texts = kernel_texts(FOLDER / f"{name}.toml").values()
        (folder / f"{name}_products.py").write_bytes("\n\n".join(texts).encode())
    return folder


def said(kernel: str, folder: Path, read_once: dict[str, VectorFile]) -> str:
    module = "wrong_products" if kernel in WRONG else "right_products"
    target = load_target(f"{folder / module}.py:{kernel}")
    files = read_for(vectors_folder(), target, target.policy, read=read_once.values())
    read_once.update((one.stem, one) for one in files if one.cases)
    with contextlib.redirect_stdout(io.StringIO()) as text:
        print_report(check(target, files, extent=Extent(elements=2_200_000)), 20)
    return text.getvalue()


@pytest.mark.sampled(0)
@pytest.mark.parametrize("kernel", WRONG)
def test_a_wrong_product_is_caught(
    kernel: str, products: Path, read_once: dict[str, VectorFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = recorded(monkeypatch)
    text = said(kernel, products, read_once)
    assert "\nPASS " not in text, text
    of = WRONG[kernel]
    assert of.get("said", "") in text, text
    if "least" in of:
        step = of.get("step")
        some = [one for one in asked if not step or one[step["unit"]] % step["count"]]
        assert_limits(text, of["least"], some)


@pytest.mark.sampled(0)
@pytest.mark.parametrize("kernel", RIGHT)
def test_a_right_product_passes(
    kernel: str, products: Path, read_once: dict[str, VectorFile]
) -> None:
    text = said(kernel, products, read_once)
    if kernel.endswith("aligned_13"):  # narrower than float32
        assert "conforms under ocp+accumulation=aligned_13" in text, text
        return
    assert "\nPASS " in text, text
    named = "sequential|pairwise|by_block|scales_last|aligned_25|aligned_35"
    if name := re.search(named, kernel):
        assert f"accumulation={name[0]}" in text or f" and {name[0]}" in text, text


@pytest.mark.sampled(6)
def test_a_small_sample(products: Path, read_once: dict[str, VectorFile]) -> None:
    kernel = "w02_m_tail_not_launched"
    text = said(kernel, products, read_once)
    assert WRONG[kernel]["said"] in text, text
    assert_limits(text, WRONG[kernel]["least"])
    text = said("r16_int32_blocks", products, read_once)
    assert "\nPASS " in text, text


def test_there_are_kernels() -> None:
    assert len(WRONG) == 50
    assert len(RIGHT) == 16
