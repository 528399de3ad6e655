"""The job of docs/ci.md works when it is pasted: its steps run in an empty environment."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers import ROOT, run
from needs import needs
from pages import blocks

yaml = needs("yaml")


def job() -> Any:
    (block,) = [block for block in blocks(ROOT / "docs" / "ci.md") if block.language == "yaml"]
    ((_, found),) = yaml.safe_load(block.text)["jobs"].items()
    return found


def test_it_checks_out_and_sets_up_python() -> None:
    uses = [step["uses"] for step in job()["steps"] if "uses" in step]
    assert [name.partition("@")[0] for name in uses] == ["actions/checkout", "actions/setup-python"]
    version = job()["steps"][1]["with"]["python-version"]
    assert isinstance(version, str)  # 3.10 without quotes is 3.1
    assert job()["env"]["MXREF"].startswith("git+https://")


@pytest.mark.sampled(0)
def test_its_steps_run(tmp_path: Path) -> None:
    kernel = (ROOT / "tools" / "examples" / "my_kernel.py").read_text()
    (tmp_path / "my_kernel.py").write_text(kernel)
    run(sys.executable, "-m", "venv", tmp_path / "venv")
    path = f"{tmp_path / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "MXREF": f"file://{ROOT}"}
    steps = [step["run"] for step in job()["steps"] if "run" in step]
    for step in steps:
        done = run("bash", "-e", "-c", step, cwd=tmp_path, env=environment)
        assert done.returncode == 0, done.stdout + done.stderr
    assert "PASS" in done.stdout
    wrong = kernel.replace(">= _ABOVE_ODD", "> _ABOVE_ODD")
    (tmp_path / "my_kernel.py").write_text(wrong)
    assert run("bash", "-e", "-c", steps[-1], cwd=tmp_path, env=environment).returncode == 1


@pytest.mark.sampled(2)
def test_its_property_tests_find_a_bug_between_thresholds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (text,) = [
        block.text
        for block in blocks(ROOT / "docs" / "ci.md")
        if block.title == "test_properties.py"
    ]
    kernel = (ROOT / "tools" / "examples" / "my_kernel.py").read_text()
    kernel += """

def encode(values, format, right=encode):
    magnitudes, codes = np.abs(values), right(values, format)
    return np.where((magnitudes > 3.1) & (magnitudes < 3.3), codes & 8 | 6, codes)
"""
    (tmp_path / "my_kernel.py").write_text(kernel)
    (tmp_path / "test_properties.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "densely"]
    done = run(*command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert done.returncode == 1, done.stdout + done.stderr
    assert "FAILED test_properties.py::test_my_encode_densely" in done.stdout
