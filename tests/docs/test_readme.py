"""What the README and the pages of docs/ say is true: commands of the README, tables, numbers."""

from __future__ import annotations

import fnmatch
import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from helpers import ROOT
from safetensors.numpy import save_file

from mxref.cli import main
from mxref.conformance.checking import check
from mxref.conformance.checking.axis_sizes import FAR, LARGE, LONG, SMALL
from mxref.conformance.checking.target_speed import PACES
from mxref.formats.catalog import (
    BLOCK_FORMATS,
    E8M0,
    ELEMENT_FORMATS,
    OTHER_BLOCK_FORMATS,
    OTHER_CODE_FORMATS,
)
from mxref.operations.registry import REGISTRY
from mxref.policy.policy import READS
from mxref.profiles import PROFILES

README = (ROOT / "README.md").read_text("utf-8")


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text("utf-8")


def section(heading: str) -> str:
    start = README.index(f"\n## {heading}\n")
    return README[start : (README.find("\n## ", start + 1) + 1) or None]


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 175


@pytest.mark.parametrize(
    ("heading", "end"),
    [
        ("Regenerate the golden vectors", "mxref regen"),
        ("Run the tests", "pytest -n auto --dist worksteal"),
    ],
)
def test_the_two_commands_are_one_line_each(heading: str, end: str) -> None:
    blocks = re.findall(r"```sh\n(.*?)```", section(heading), re.DOTALL)
    assert len(blocks) == 1
    lines = blocks[0].splitlines()
    assert len(lines) == 1
    assert lines[0].endswith(end)
    assert subprocess.run(["bash", "-n", "-c", lines[0]], check=False).returncode == 0


def test_the_table_quantizes_by_every_format_and_rule_that_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (command,) = re.findall(r"`mxref (quantize .+?)`", section("You want … → do"))
    monkeypatch.chdir(tmp_path)
    numbers = np.random.default_rng(0).standard_normal((4, 64)).astype(np.float32)
    save_file({"weight": numbers}, "model.safetensors")
    words = command.split()
    assert main([*words, "--json"]) == 0
    made = json.loads(capsys.readouterr().out)["ways"]
    assert {one["format"] for one in made} == set(words[3:6:2])
    assert {one["policy"] for one in made} == set(words[7::2])


def test_the_install_line_names_the_extras_that_verbs_ask_for() -> None:
    asked = set()
    for path in (ROOT / "mxref").rglob("*.py"):
        asked |= set(re.findall(r'missing\w*\([^,]+, "(\w+)", ', path.read_text("utf-8")))
    assert {"io", "report", "dask"} <= asked
    named = set(re.findall(r"`(\w+)`", section("Install")))
    assert asked <= named


def test_what_verify_asks_of_a_fast_kernel(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a slow machine it asks less, so that the test of all examples leaves this line out."""
    timed = check.timed
    monkeypatch.setattr(check, "timed", lambda *given: (timed(*given)[0], 0.0))
    (asked,) = re.findall(r"^asked: the .+$", README, re.MULTILINE)
    kernel = ROOT / "tools" / "examples" / "my_kernel.py"
    assert main(["verify", str(kernel), "--in-process"]) == 0
    assert asked in capsys.readouterr().out.splitlines()


def test_the_lists_of_formats() -> None:
    text = section("Compute with it").partition("\n- Element formats: ")[2].partition("\n\n")[0]
    elements, blocks = " ".join(text.split()).split(" - Block formats: ")
    for names, own, others in (
        (elements, ELEMENT_FORMATS, OTHER_CODE_FORMATS),
        (blocks, BLOCK_FORMATS, OTHER_BLOCK_FORMATS),
    ):
        assert re.findall(r"`(.+?)`", names) == [" ".join(own), " ".join(others)]


def test_ci_runs_the_test_command() -> None:
    assert 'readme_command "Run the tests"' in (ROOT / ".ci" / "run").read_text("ascii")


def test_the_table_of_formats() -> None:
    table = {
        cells[0]: cells[1:]
        for line in page("bits.md").splitlines()
        if line.startswith("|")
        and len(cells := [c.strip() for c in line.strip("|").split("|")]) == 8
    }
    formats = [*ELEMENT_FORMATS.values(), E8M0]
    assert table[""] == [*ELEMENT_FORMATS, "e8m0 (scale)"]
    assert table["bits"] == [str(fmt.bits) for fmt in formats]
    assert table["emax"] == [str(fmt.emax) for fmt in formats]
    values = {"127/64": 127 / 64, "1/64 (step)": 1.0, "none": None}
    for row, name in (
        ("largest", "max_normal"),
        ("smallest normal", "min_normal"),
        ("smallest subnormal", "min_subnormal"),
    ):
        for cell, fmt in zip(table[row], formats, strict=True):
            if fmt.name == "int8" and row != "largest":
                continue  # it has a step of 1/64 throughout
            power = re.fullmatch(r"2\^(-?\d+)", cell)
            wanted = 2.0 ** int(power[1]) if power else values.get(cell, cell)
            got = getattr(fmt, name)
            assert got == (wanted if wanted is None else float(wanted)), (row, fmt.name)


def test_the_table_of_choices() -> None:
    listed: dict[str, set[str]] = {}
    for readers, names in re.findall(r"^\| (`.+?) \| `(.+?)` \|$", page("choices.md"), re.M):
        for op in re.findall(r"`([\w ]+)`", readers):
            listed.setdefault(op, set()).update(names.split())
    wanted = {op: set(names) for op, names in READS.items()}
    wanted["shared_scale"] -= {"scale_rule"}  # its argument `rule`
    assert listed == wanted


def test_the_table_of_profiles() -> None:
    rows = re.findall(r"^\| (`.+?`) \| .+ \|$", page("profiles.md"), re.MULTILINE)
    listed = [name for row in rows for name in re.findall(r"`([a-z]\w*\*?)`", row)]
    patterns = [name for name in listed if fnmatch.filter(PROFILES, name)]
    assert listed == patterns
    for name in PROFILES:
        assert any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns), name


def test_the_numbers_of_what_verify_asks() -> None:
    text = " ".join(page("check.md").split())
    (fast, most), (slow, fewer), (slower, few), (_, fewest) = PACES
    assert f"calls of {min(SMALL)} to {max(SMALL)} rows" in text
    assert f"of a format up to {max(LARGE):,}, of the first format up to {max(FAR):,}." in text
    assert f"each axis up to {max(LONG):,}, some up to {max(LARGE):,}" in text
    assert f"at most {most:,} elements." in text
    assert f"asked less: {fewer:,} if the vectors take more than {fast:g} s" in text
    assert f"{few:,} above {slow:g} s, {fewest:,} above {slower:g} s" in text
    blocks = REGISTRY["quantize"].questions
    numbers = max(one.questions for one in REGISTRY.values())
    assert f"{blocks:,} blocks or up to {numbers:,} numbers" in text
