"""What ``mxref export`` and ``mxref regen`` refuse, in one sentence, and write nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from data_files import assert_answered, transcript

REFUSED = transcript(Path(__file__).parent / "data" / "refused.txt")


@pytest.mark.parametrize(("command", "answer"), REFUSED)
def test_refused(
    command: str,
    answer: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "full").mkdir()
    (tmp_path / "full/other.txt").touch()
    before = {*tmp_path.rglob("*")}
    assert_answered(command, answer, capsys)
    assert {*tmp_path.rglob("*")} == before
