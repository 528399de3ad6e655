"""The page of `mxref verify --html`: what it says, and that all of it can be read."""

from __future__ import annotations

import re
import sys
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import pytest
from browser import problems
from commands import Call
from helpers import table
from verify_helpers import RIGHT, VECTORS_ALONE, Vectors, target_file

from mxref._version import VECTORS_VERSION, __version__
from mxref.cli import main

#: Ties to zero, no sign of zero; every third lane wrong, scales rounded up; -1 as a NaN of E8M0.
WRONG = (Path(__file__).parent / "data" / "wrong_kernel.txt").read_text("utf-8")
REFERENCES = ("src", "href", "{http://www.w3.org/1999/xlink}href")
STEMS = (
    "encode/e2m1.f32",
    "shared_scale/e2m1.f16",
    "quantize/mxfp4_e2m1.f32",
    "dequantize/mxint8.f32",
    "decode_scale/e8m0.f32",
)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory, vectors: Vectors) -> dict[str, str]:
    """The pages of two targets, by name."""
    folder, texts = tmp_path_factory.mktemp("pages"), {}
    for name, source in (("wrong", WRONG), ("right", RIGHT)):
        path = folder / f"{name}.html"
        spec = target_file(folder, source, f"{name}.py")
        options = ["--vectors", vectors(*STEMS), *VECTORS_ALONE, "--html", str(path)]
        assert main(["verify", spec, *options]) == (name == "wrong")
        texts[name] = path.read_text("utf-8")
    return texts


def words_of(page: str) -> str:
    body = page[page.index("<body>") :]
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", body)).split())


def test_a_page_needs_nothing_else_and_closes_what_it_opens(pages: dict[str, str]) -> None:
    for text in pages.values():
        void = re.compile(r"<((?:meta|br|input|hr)\b[^>]*?)/?>")
        tree = ElementTree.fromstring(void.sub(r"<\1/>", text.partition(">")[2]))
        assert not {"script", "link", "img", "iframe"} & {
            one.tag.partition("}")[2] or one.tag for one in tree.iter()
        }
        loads = [one.get(name) or "#" for one in tree.iter() for name in REFERENCES]
        assert all(one.startswith("#") for one in loads)
        assert "url(http" not in text
        assert "@import" not in text
        assert len(text) < 500_000


def test_the_last_line_has_the_command_that_made_the_page(pages: dict[str, str]) -> None:
    for name, text in pages.items():
        command = re.findall(r"; made by (mxref verify .*)$", words_of(text))
        assert len(command) == 1
        assert command[0].endswith(f"/{name}.html")


def test_verdict_and_cause_stand_first(pages: dict[str, str]) -> None:
    text = words_of(pages["wrong"])
    assert text.startswith("FAIL ")
    heads = ["Causes", "First failing cases", "Plots of ", "What was compared"]
    places = [text.index(head) for head in heads]
    assert places == sorted(places)
    assert "violates " in text[: places[0]]
    assert "ocp+rounding=ties_to_zero" in text[: places[1]]
    right = words_of(pages["right"])
    assert right.startswith("PASS ")
    assert "conforms" in right
    assert "First failing cases" not in right


def test_the_bits_of_a_case(pages: dict[str, str]) -> None:
    text = words_of(pages["wrong"])
    # 0.75 is a tie of 0.5 and 1, and goes to the even code; the bits that differ are alone.
    assert "input: 3f400000 = 0x1.8p-1 = 0.75 0 sign 01111110 exponent 1" in text, text[:3000]
    assert "want: 02 = 1 0 sign 01 exponent 0 mantissa got: 01 = 0.5" in text
    wrong = "<span>0<b>0</b></span><small>exponent</small>"
    assert wrong in pages["wrong"]
    assert "<b>1</b></span><small>mantissa</small>" in pages["wrong"]


def test_what_a_target_says_is_escaped(pages: dict[str, str]) -> None:
    assert "<script>" not in pages["wrong"]
    assert "&lt;script&gt;alert" in pages["wrong"]


def test_all_of_it_can_be_read(pages: dict[str, str]) -> None:
    assert problems(pages) == []


def test_what_cannot_be_read_is_found() -> None:
    page = """<style>b { color: #000 } @media (prefers-color-scheme: dark) { b { color: #eee } }
    </style><body style="margin:0;background:#fff">
    <div style="width:500px;position:absolute;top:0">wide</div>
    <div style="position:absolute;top:4px">over</div><p style="color:#999;margin-top:4em">faint</p>
    <div style="overflow:hidden;white-space:nowrap;width:40px;">hidden hidden</div>
    <b>night</b><svg width=50 height=20><text x=30 y=10>beyond</text></svg>"""
    own = ("contrast 2.8: faint", "cut: beyond", "overlap: wide | over", "hidden: hidden hidden")
    phone = ("is wider than 360", *own)
    night = ("contrast 1.2: night",)
    assert sorted(problems({"page": page})) == sorted(
        f"page, {scheme}, {width} px: {what}"
        for width, some in ((360, phone), (700, own), (1200, own))
        for scheme, more in (("light", ()), ("dark", night))
        for what in (*some, *more)
    )


@pytest.mark.parametrize("package", ["jinja2", "matplotlib"])
def test_without_the_extra_a_sentence_names_it(
    package: str,
    tmp_path: Path,
    vectors: Vectors,
    monkeypatch: pytest.MonkeyPatch,
    call: Call,
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr("mxref.conformance.check", lambda *_: pytest.fail("asked in vain"))
    spec = target_file(tmp_path, WRONG)
    page = tmp_path / "page.html"
    folder = vectors("decode_scale/e8m0.f32")
    run = call("verify", spec, "--vectors", folder, *VECTORS_ALONE, "--html", page)
    assert (run.status, page.exists()) == (2, False)
    assert run.err == (
        f"mxref: error: a page or a picture needs the package {package}: "
        f"in a checkout of mxref, pip install -e '.[report]', elsewhere pip install {package}\n"
    )


DOUBLED = table("kernels")["rceil_twice_the_scale"]


@pytest.mark.sampled(6)
def test_where_only_scales_are_wrong_no_plot_by_lane_says_nothing(
    tmp_path: Path, vectors: Vectors
) -> None:
    page = tmp_path / "page.html"
    folder = vectors("quantize/mxfp4_e2m1.f32")
    policy = "--policy=ocp+scale_rule=rceil"
    words = ["--vectors", folder, *VECTORS_ALONE, policy, "--html", str(page)]
    assert main(["verify", target_file(tmp_path, DOUBLED), *words]) == 1
    text = page.read_text("utf-8")
    assert "wrong elements by lane" not in text
    assert "the first wrong block" in text
    assert "ocp+<wbr>scale_rule=rceil" in text
    assert f"mxref {__version__}, vectors {VECTORS_VERSION}" in text
