"""A kernel brings an operation of its own: the verbs of the command line know it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mxref.cli.command_line import main

FILE = Path(__file__).parents[2] / "tools" / "examples" / "gray.py"


def test_a_kernel_brings_its_operation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file of the operation gives vectors; OPERATIONS in that of the kernel, every verb."""
    monkeypatch.syspath_prepend(str(FILE.parent))
    kernel = tmp_path / "kernel.py"
    kernel.write_text(
        "from gray import OPERATIONS, of_lower\n\n\n"
        "def gray_encode(values, offset):\n    return of_lower(values, offset)\n"
    )
    assert main(["regen", "--formats", str(FILE), "--out", str(tmp_path / "vectors")]) == 0
    made = sorted(path.name for path in (tmp_path / "vectors" / "gray_encode").iterdir())
    assert made == ["uint16.bytes.jsonl", "uint8.bytes.jsonl"]
    assert main(["verify", str(kernel), "--op", "gray_encode"]) == 0
    assert "gray_encode (uint8, uint16) under neighbour=lower" in capsys.readouterr().out
    assert main(["identify", str(kernel)]) == 0
    assert "equals on 8 probes and 8 vectors: neighbour=lower" in capsys.readouterr().out
    assert main(["fuzz", str(kernel), "--examples", "5"]) == 0
