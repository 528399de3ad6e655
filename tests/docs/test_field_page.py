"""What docs/field.md says is true: each thread's command gives the lines of its answer."""

from __future__ import annotations

import re
import shlex

import pytest
from helpers import ROOT

from mxref.cli import main

TEXT = (ROOT / "docs" / "field.md").read_text("utf-8")
THREADS = re.findall(
    r"^### \[(\S+)\]\((https://github\.com/\S+)\): .+\n\n"
    r"(.+\?)\n\n```text\n\$ mxref (.+)\n((?:.+\n)+)```",
    TEXT,
    re.MULTILINE,
)


def answered(page: str, output: str) -> bool:
    """Whether lines of the page come in this order; ``...`` stands for any lines, or any words."""
    lines = [re.escape(line.strip()).replace(r"\.\.\.", ".*") for line in page.splitlines()]
    pattern = "\n".join("(?:.*\n)*?.*" if line == ".*" else line for line in lines)
    text = "\n".join(line.strip() for line in output.splitlines())
    return re.fullmatch(pattern + "(?:\n)*", text) is not None


def test_every_thread_is_read() -> None:
    assert len(THREADS) == TEXT.count("\n### ") >= 25
    for name, link, *_ in THREADS:
        repository, number = name.split("#")
        assert re.fullmatch(rf"https://github\.com/{repository}/(issues|pull)/{number}", link)
        assert f"#{number}" in TEXT.partition("\n## ")[0]  # by what is seen
    kernels = {path.name for path in (ROOT / "tools" / "field").glob("*.py")}
    assert kernels == set(re.findall(r"tools/field/(\w+\.py)", TEXT))


def test_what_an_answer_is() -> None:
    assert answered("a\n...\nb ... d\n", "a\nx\n  b c d\n")
    assert answered("...\nb\n...\n", "a\nb\nc\n")
    assert not answered("...\nb\n", "a\nb\nc\n")
    assert not answered("a\nc\n", "a\nb\nc\n")


@pytest.mark.sampled(12)
@pytest.mark.parametrize(
    ("command", "answer"), [pytest.param(*thread[3:], id=thread[0]) for thread in THREADS]
)
def test_a_thread(
    command: str,
    answer: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(ROOT)
    args = shlex.split(command)
    main([*args, "--in-process"] if args[0] in ("verify", "identify") else args)
    output = capsys.readouterr().out
    assert answered(answer, output), output
