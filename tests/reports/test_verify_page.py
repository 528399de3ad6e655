"""The pages of verify, diff and quantize: what they say, and that all of it can be read."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
import sys
from functools import partial
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from browser import problems
from commands import Call
from helpers import table
from made_once import texts_once
from safetensors.numpy import save_file
from verify_helpers import RIGHT, VECTORS_ALONE, Vectors, target_file

from mxref._version import VECTORS_VERSION, __version__
from mxref.bits.floats import F32
from mxref.cli import main
from mxref.conformance.differing.difference import BlockBytes, Example
from mxref.reports.diff_page import _plots
from mxref.reports.quantize_page import write_quantize_page
from mxref.support.spread import SMALLEST, Spread

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
    return texts_once(tmp_path_factory, "verify_pages", partial(made_pages, vectors))


def made_pages(vectors: Vectors, folder: Path) -> dict[str, str]:
    """The pages of two targets, by name."""
    texts = {}
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


@pytest.mark.parametrize("extent", [["--quick"], ["--sizes", "40"]])
def test_a_page_of_a_kernel_that_passes_has_no_empty_part(
    tmp_path: Path, vectors: Vectors, extent: list[str]
) -> None:
    page = tmp_path / "page.html"
    options = ["--vectors", vectors("encode/e2m1.f32"), *extent, "--html", str(page)]
    assert main(["verify", target_file(tmp_path, RIGHT), *options]) == 0
    text = page.read_text("utf-8")
    heads = re.findall(r"<h2>(.*?)</h2>", text)
    asked = ["What was asked"] * ("--quick" not in extent)
    assert heads == ["What was compared", *asked]
    assert not re.search(r"</h2>\s*(<h2>|<p class=.faint.>mxref)", text)
    columns = re.findall(r"<th(?: [^>]*)?>(.*?)</th>", text)
    assert columns == ["", "operation", "format", "compared with", "cases", "failed", "known"]
    assert len(re.findall(r"<td [^>]*>(?!</td>)", text)) == len(columns)  # of one row


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


@pytest.mark.parametrize("packages", ["jinja2", "matplotlib", "jinja2 and matplotlib"])
@pytest.mark.parametrize("verb", ["verify", "quantize", "diff"])
def test_without_the_extra_a_sentence_names_every_missing_package(
    packages: str,
    verb: str,
    tmp_path: Path,
    vectors: Vectors,
    monkeypatch: pytest.MonkeyPatch,
    call: Call,
) -> None:
    missing = packages.split(" and ")
    for name in [name for name in sys.modules if name.partition(".")[0] in missing]:
        monkeypatch.delitem(sys.modules, name)
    for package in missing:
        monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr("mxref.conformance.check", lambda *_: pytest.fail("asked in vain"))
    page = tmp_path / "page.html"
    words = {
        "verify": (target_file(tmp_path, WRONG), "--vectors", vectors("decode_scale/e8m0.f32")),
        "quantize": ("no_such_file.npy", "--format", "mxfp4_e2m1"),  # it is not even looked for
        "diff": ("ocp", "torchao_0_18_rceil", "--format", "mxfp4_e2m1"),
    }
    run = call(verb, *words[verb], "--html", page)
    assert (run.status, page.exists()) == (2, False)
    many = "packages" if len(missing) > 1 else "package"
    assert run.err == (
        f"mxref: error: a page or a picture needs the {many} {packages}: in a checkout of mxref, "
        f"pip install -e '.[report]', elsewhere pip install {' '.join(missing)}\n"
    )


@pytest.mark.parametrize(
    ("words", "file"),
    [
        ("quantize no_such_file.gguf --format mxfp4_e2m1", "no_such_file.gguf"),
        ("quantize no_such_file.npy --format mxfp4_e2m1 -o out.gguf", "out.gguf"),
        ("diff ocp torchao_0_18_rceil --format mxfp4_e2m1 --data x.gguf", "x.gguf"),
    ],
)
def test_of_a_gguf_file_the_sentence_names_its_package_too(
    words: str, file: str, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    missing = ["gguf", "jinja2", "matplotlib"]
    for name in [name for name in sys.modules if name.partition(".")[0] in missing]:
        monkeypatch.delitem(sys.modules, name)
    for package in missing:
        monkeypatch.setitem(sys.modules, package, None)
    run = call(*words.split(), "--html", "page.html")
    assert (run.status, run.err) == (
        2,
        f"mxref: error: a page of {file} needs the packages gguf, jinja2 and matplotlib: in a "
        "checkout of mxref, pip install -e '.[io,report]', elsewhere pip install gguf jinja2 "
        "matplotlib\n",
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


# --- the page of mxref diff -----------------------------------------------------------------------


#: Casts with another code, with an error, and with other readings of the same codes.
CASTS = {
    "torch cuda --format e8m0 --float bf16": 3,
    "ocp ocp+nan_to_finite=error --format e2m1 --float bf16": 1,
    "ocp+scale_of_zero=nan ocp+scale_00=zero+scale_ff=inf --format e8m0 --float bf16": 3,
    "ocp ocp --format e2m1 --float bf16": 0,
}


BOTH = "fbgemm_mx4_floor mlx_0_32 --format mxfp4_e2m1 --data w.npy"
SAME = "ocp ocp --format mxfp8_e4m3"


@pytest.fixture(scope="module")
def diff_pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return texts_once(tmp_path_factory, "diff_pages", made_diff_pages)


def made_diff_pages(folder: Path) -> dict[str, str]:
    """The page of each command, and what it prints."""
    np.save(folder / "w.npy", np.random.default_rng(1).normal(size=(8, 96)).astype(np.float32))
    found = {}
    for command, differ in {BOTH: 1, SAME: 0, **CASTS}.items():
        words = command.replace("w.npy", str(folder / "w.npy")).split()
        words += ["--json"] * (command in CASTS) + ["--html", str(folder / "page.html")]
        with contextlib.redirect_stdout(io.StringIO()) as said:
            assert main(["diff", *words]) == (differ > 0)
        found[f"{command}, printed"] = said.getvalue()
        found[command] = (folder / "page.html").read_text("utf-8")
    return found


def text_of(page: str) -> str:
    assert not re.search(r"<(script|link|img)|src=", page)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page))


def test_all_of_the_differences_can_be_read(diff_pages: dict[str, str]) -> None:
    assert problems({name: diff_pages[name] for name in (BOTH, SAME, *CASTS)}) == []


def test_the_last_line_has_the_command_of_diff(diff_pages: dict[str, str]) -> None:
    for command in (SAME, *CASTS):
        assert f"; made by <code>mxref diff {command} " in diff_pages[command]


def test_what_it_says(diff_pages: dict[str, str]) -> None:
    assert "no difference" in diff_pages[SAME]
    text = text_of(diff_pages[BOTH])
    kinds = re.search(r": (\d+ kinds of difference)", diff_pages[f"{BOTH}, printed"])
    assert kinds
    assert kinds[1] in text
    assert text.count("quantizing, ") + text.count("reading, ") == int(kinds[1].split()[0])
    assert "errors on w.npy" in text


def test_casts_have_a_page(diff_pages: dict[str, str]) -> None:
    for command, kinds in CASTS.items():
        found = json.loads(diff_pages[f"{command}, printed"])
        assert len(found["casting"]) + len(found["reading"]) == kinds
        text = text_of(diff_pages[command])
        texts = re.split(r"(?=casting, |reading, )", text)[1:]
        shown = [*found["casting"], *found["reading"]]
        for one, said_of_it in zip(shown, texts, strict=True):
            assert f"ing, {one['kind']}: {one.get('numbers', one.get('codes'))} " in said_of_it
            if "code" in one:
                words = [one["code"], one["a"], one["b"]]
            else:
                words = [one["in"]]
                for side in (one["a"], one["b"]):
                    keys = ("code", "read", "read_by_the_other")
                    words += [side[key] for key in keys if key in side]
                assert said_of_it.count("an error") == ("error" in one["a"]) + ("error" in one["b"])
            assert all(f": {word} " in said_of_it for word in words)
        assert ("no difference" in text) == (not kinds)
        assert "numbers with another code" in text


def test_a_spread_counts_by_the_binade_of_the_relative_error() -> None:
    spread = Spread()
    wanted = np.array([1.0, 1.0, 1.0, 3.0, 0.0, 0.0, 1.0, np.inf, 1.0, 1.0])
    got = np.array([1.0, 1.25, 1.249, 0.0, 0.0, 1.0, np.nan, 1.0, 1 + 2.0**-40, 9.0])
    spread.add(wanted, got)
    found = {SMALLEST + k: int(n) for k, n in enumerate(spread.counts) if n}
    assert (spread.exact, found) == (2, {-24: 1, -3: 1, -2: 1, 0: 1, 1: 2})


def test_a_block_is_drawn_where_two_sides_read_other_numbers() -> None:
    one, two, inf, nan = 0x3F800000, 0x40000000, F32.inf_bits, F32.nan_bits
    read, other = BlockBytes(127, (2,), (one,), (one,)), BlockBytes(128, (2,), (two,), (two,))
    found: Any = SimpleNamespace(a="a", b="b", layout=F32)
    error = BlockBytes(None, (), (), ())
    pairs = {
        "other numbers": (read, other),
        "the same numbers": (read, read),
        "an error and an answer": (error, read),
        "an answer and an error": (read, error),
    }
    drawn = {
        (name, word): [title for title, _ in _plots(found, Example("kind", 1, (word,), *pair))]
        for name, pair in pairs.items()
        for word in (two, 0, inf, nan)
    }
    text = "kind: the block and what is read, in units of 2^1"
    assert {case: some for case, some in drawn.items() if some} == {("other numbers", two): [text]}


# --- the page of mxref quantize -------------------------------------------------------------------


@pytest.mark.sampled(3)
def test_a_page_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    generator = np.random.default_rng(0)
    tensors = {
        f"layers.{i}.<weight>": generator.normal(size=(4, 64)).astype(np.float32) for i in range(3)
    }
    save_file({**tensors, "ids": np.arange(3)}, tmp_path / "w.safetensors")
    page = tmp_path / "page.html"
    words = ["quantize", str(tmp_path / "w.safetensors"), "--format", "mxfp4_e2m1"]
    assert main([*words, "--html", str(page)]) == 0
    said = capsys.readouterr().out
    assert main(words) == 0
    assert capsys.readouterr().out == said
    html = page.read_text("utf-8")
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", html))
    for line in said.splitlines():
        figures = line.split()[-6:]
        if line.startswith("layers"):
            assert f" {float(figures[0]):.2f} " in text
        elif line.startswith("total"):
            assert all(f" {figure} " in text for figure in figures)
    assert "ids: it holds I64, no floats" in text
    assert f"made by {shlex.join(['mxref', *words, '--html', str(page)])}" in text
    assert "<weight>" not in html
    assert not re.search(r"<(script|link|img)|src=", html)
    several = tmp_path / "several.html"
    names = [f"mxfp8_e4m3 by ocp+scale_rule={rule}" for rule in "abcdefgh"]
    spreads = {name: Spread() for name in names}
    for place, one in enumerate(spreads.values()):
        one.add(np.arange(1.0, 100), np.arange(1.0, 100) + place)
    write_quantize_page(
        several,
        "weights.npy",
        tables={"All tensors": (["way", "sqnr_db"], [[name, "18.1"] for name in names])},
        ratios={name: [1.0, None, 3.0] for name in names},
        errors=spreads,
    )
    assert several.read_text("utf-8").count("<svg") == 4
    assert problems({"one": html, "several": several.read_text("utf-8")}) == []
