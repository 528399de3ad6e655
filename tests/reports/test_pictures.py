"""Pictures of `mxref plot` and `mxref score`: right, legible and always the same."""

from __future__ import annotations

import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from browser import problems, refuse_other_drawing
from commands import Call
from helpers import ROOT
from verify_helpers import Vectors

from mxref.cli import main
from mxref.formats import block_format
from mxref.mutants import MUTANTS
from mxref.policy.scale_rule import ScaleRule
from mxref.reports import pictures
from mxref.reports.drawing import drawing
from mxref.reports.pictures import PICTURES, drawn

COMMITTED = ROOT / "docs" / "pictures"


@pytest.fixture(scope="module")
def every() -> dict[str, str]:
    return {name: drawn(name, "svg").decode() for name in PICTURES}


def test_the_committed_pictures_are_those_drawn_now(every: dict[str, str]) -> None:
    refuse_other_drawing()
    for name, text in every.items():
        assert (COMMITTED / f"{name}.svg").read_text("utf-8") == text, name
    assert sum(path.stat().st_size for path in COMMITTED.iterdir()) <= 400_000


@pytest.mark.sampled(2)
def test_two_runs_draw_the_same_bytes(tmp_path: Path) -> None:
    code = "from mxref.reports.pictures import drawn; import sys\n"
    code += "sys.stdout.buffer.write(drawn('block', 'svg') + drawn('block', 'png'))"
    settings = tmp_path / "matplotlibrc"  # settings of the user do not matter
    settings.write_text("font.size: 20\nsvg.fonttype: path\naxes.grid: False\n")
    environment = {"PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo", "MATPLOTLIBRC": str(settings)}
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment)
    assert other.stdout == drawn("block", "svg") + drawn("block", "png")


@pytest.mark.sampled(2)
def test_all_of_them_can_be_read(every: dict[str, str]) -> None:
    some = {name: every[name] for name in every} | {
        "roundings of e4m3": drawn("roundings", "svg", "mxfp8_e4m3").decode(),
        "rules of int8": drawn("rules", "svg", "mxint8").decode(),
    }
    shown = {
        name: f'<body style="margin:0">{text[text.index("<svg") :]}' for name, text in some.items()
    }
    found = [one for one in problems(shown) if "is wider" not in one and "360 px" not in one]
    assert found == []


@pytest.mark.parametrize("format", ["mxfp4_e2m1", "mxfp8_e4m3", "mxint8"])
def test_scale_rules_change_at_their_limits(format: str) -> None:
    """Where a bar ends is the limit that `ScaleRule.limit` derives from exact fractions."""
    fmt = block_format(format)
    picture = PICTURES["rules"]
    with drawing(*picture.size) as figure:
        picture.draw(figure, fmt, np.float32(pictures.BLOCK))
        axes = figure.axes[0]
        names = [label.get_text() for label in axes.get_yticklabels()]
        for place, name in zip(axes.get_yticks(), names, strict=True):
            ends = sorted(
                x for line in axes.lines if line.get_ydata()[0] == place for x in line.get_xdata()
            )
            limit = ScaleRule(name).limit(fmt.element).limit
            while limit >= 2:
                limit /= 2
            inner = [x for x in ends if 1 < x < 2]
            assert {Fraction(x) for x in inner} == ({limit} if limit != 1 else set()), name


def test_help_names_every_picture(call: Call) -> None:
    text = call("plot", "--help").out
    names = re.findall(r"^  (\w+)  +[a-z]", text[text.index("pictures:") :], re.MULTILINE)
    assert names[: len(PICTURES)] == [*PICTURES]


def test_data_are_drawn(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("w.npy", np.linspace(-1, 1, 40, dtype=np.float16))
    assert call("plot", "block", "--data", "w.npy", "-o", "a.svg").status == 0
    values = np.linspace(-1, 1, 40, dtype="f2")[:32]
    assert Path("a.svg").read_bytes() == drawn("block", "svg", None, values)


# --- the picture of mxref score -------------------------------------------------------------------


def texts(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def test_kills_by_class(
    tmp_path: Path, vectors: Vectors, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "kills.svg"
    words = ["score", "--vectors", vectors("encode/int8.bf16"), "--picture"]
    assert main([*words, "kills.pdf"]) == 2
    assert "--picture must end in .svg or .png, got kills.pdf" in capsys.readouterr().err
    assert main([*words, str(path)]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    said = re.search(r"PASS (\d+) mutants, (\d+) of \2 killed .* (\d+) equivalent", last)
    assert said
    found = [re.fullmatch(r"(\d+) of \1, (\d+) mutants", text) for text in texts(path.read_text())]
    rows = [(int(one[1]), int(one[2])) for one in found if one]
    classes = [text for text in texts(path.read_text()) if re.match("[A-Z]: ", text)]
    assert classes == ["A: rounding", "B: range, zero, NaN", "F: INT8"]  # what encode has
    assert len(rows) == 3
    assert tuple(map(sum, zip(*rows, strict=True))) == (int(said[2]), int(said[1]))


def test_the_committed_picture_has_what_the_readme_says() -> None:
    """The pairs add up to the museum's; `.ci/run` draws it again."""
    found = texts((COMMITTED / "kills.svg").read_text("utf-8"))
    rows = [re.fullmatch(r"(\d+) of (\d+), (\d+) mutants", text) for text in found]
    killed = [(int(one[1]), int(one[2]), int(one[3])) for one in rows if one]
    assert all(one == two for one, two, _ in killed)
    assert sum(count for _, _, count in killed) == len(MUTANTS)
