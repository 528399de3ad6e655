"""What docs/field.md says is true: each thread's command gives the lines of its answer."""

from __future__ import annotations

import re

import pytest
from helpers import ROOT
from pages import answered, output_of

TEXT = (ROOT / "docs" / "field.md").read_text("utf-8")
THREADS = re.findall(
    r"^### \[(\S+)\]\((https://github\.com/\S+)\): .+\n\n"
    r"(.+\?)\n\n```text\n\$ mxref (.+)\n((?:.+\n)+)```",
    TEXT,
    re.MULTILINE,
)


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
    assert answered("asked: 126 calls of 65,573 rows\n", "asked: 9 calls of 7 rows\n")
    assert not answered("126 calls\n", "9 calls\n")


@pytest.mark.sampled(12)
@pytest.mark.parametrize(
    ("command", "answer"), [pytest.param(*thread[3:], id=thread[0]) for thread in THREADS]
)
def test_a_thread(command: str, answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    _, output = output_of(f"mxref {command}")
    assert answered(answer, output), output
