"""What ``mxref export`` and ``mxref regen`` refuse, in one sentence, and write nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import Example, caller, examples

REFUSED = Path(__file__).parent / "data" / "refused.txt"


@pytest.mark.parametrize("example", examples(REFUSED))
def test_refused(
    example: Example,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "full").mkdir()
    (tmp_path / "full/other.txt").touch()
    before = {*tmp_path.rglob("*")}
    example.check(caller(capsys))
    assert {*tmp_path.rglob("*")} == before
