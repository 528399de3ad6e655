"""Wrong and right matrix products, written before their author saw a mutant or a test."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from limits import assert_limits, recorded
from product_targets import limit_shapes

from mxref.cases.read import vectors_folder
from mxref.cases.records import VectorFile
from mxref.cli.verify_verb import print_report
from mxref.conformance import check, load_target
from mxref.conformance.checking import product_shapes
from mxref.conformance.checking.call_rules import SHORTER
from mxref.conformance.checking.check import Extent
from mxref.targets.asked_files import read_for

FOLDER = Path(__file__).parent / "products"


def names(file: str) -> list[str]:
    """The kernels of a file, in its order."""
    found = re.findall(
        r"^(?:def )?([wr]\d\d_\w+)(?:\(| = kernel)", (FOLDER / file).read_text(), re.M
    )
    return list(dict.fromkeys(found))


def least(kernel: str) -> dict[str, int]:
    """The least counts from which on a kernel is wrong, as it says itself."""
    text = (FOLDER / "wrong_products.py").read_text()
    text = text[text.index(f"def {kernel}(") :].partition("\n@kernel")[0]
    found = {}
    for unit, (before, more) in LEAST.get(kernel[:3], {}).items():
        (count,) = re.findall(re.escape(before) + r"(\d+)", text)
        found[unit] = int(count) + more
    return found


#: What a true report says of those that the vectors alone do not show, or do not explain.
TRUE = {
    "w02": ", and a number of rows that is no multiple of 32 (",
    "w03": "wrong only in products with ",
    "w04": "wrong only in products with ",
    "w05": "wrong only in products with ",
    "w07": "in rows from number 128 on",
    "w08": "wrong only in products with ",
    "w10": "wrong only in products with ",
    "w12": "a number of summed elements that is no multiple of 128",
    "w13": "a number of summed elements that is no multiple of 128",
    "w14": "scales the last block of a tile of 128 as the next tile",
    "w16": ", and a number of summed elements that is no multiple of 3 (",
    "w19": "wrong only in products with ",
    "w31": "squares_0_1_2: 2 products of magnitudes to 4, want 41000000",
    "w37": "the same product gave two answers",
    "w39": "arrays with columns first in memory",
    "w40": "the result of a call is overwritten by ",
    "w49": "in rows from number 65 on",
}
#: From which counts on some are wrong: by the unit what stands before the count in the kernel, and
#: what is to be added to it.
LEAST = {
    "w02": {"rows": (r"if m > ", 1)},
    "w03": {"columns": (r"np.arange(len(sb)) % ", 1)},
    "w04": {SHORTER: (r"y.shape[0] >= ", 0)},
    "w05": {SHORTER: (r"if m >= ", 0)},
    "w08": {"rows": (r"whole groups of ", 0)},
    "w10": {"outputs": (r"len(sa) * len(sb) >= ", 0)},
    "w16": {"summed elements": (r"K >= ", 0)},
    "w19": {"summed elements": (r"beyond K = ", 32)},  # in whole blocks
}
#: Those that are right where a count is a multiple of another one.
STEPS = {"w02": ("rows", 32), "w16": ("summed elements", 3)}
#: Outputs times blocks of the largest product that is asked; and of kernels in which no shape
#: decides, every so many of the shapes are asked.
LARGEST, FEWER = 140_000, 12


@pytest.fixture(autouse=True)
def shapes_at_any_speed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where shapes decide, all are asked, of others a share; whatever time calls take."""
    named = str(request.node.name).partition("[")[2][:3]
    step = FEWER if named not in TRUE and named else 1
    monkeypatch.setattr(product_shapes, "_SECONDS", math.inf)
    limit_shapes(monkeypatch, LARGEST, step)


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
    kernel: str,
    capsys: pytest.CaptureFixture[str],
    read_once: dict[str, VectorFile],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = recorded(monkeypatch)
    text = said(kernel, "wrong_products.py", capsys, read_once)
    assert "\nPASS " not in text, text
    assert TRUE.get(kernel[:3], "") in text, text
    if kernel[:3] in LEAST:
        unit, step = STEPS.get(kernel[:3], ("rows", 0))
        assert_limits(text, least(kernel), [one for one in asked if not step or one[unit] % step])


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
    kernel = "w02_m_tail_not_launched"
    text = said(kernel, "wrong_products.py", capsys, read_once)
    assert TRUE["w02"] in text, text
    assert_limits(text, least(kernel))
    text = said("r16_int32_blocks", "right_products.py", capsys, read_once)
    assert "\nPASS " in text, text


def test_there_are_kernels() -> None:
    assert len(names("wrong_products.py")) == 50
    assert len(names("right_products.py")) == 16
