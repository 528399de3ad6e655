"""The kit of tools/adopt for torchao: it passes with torchao, and fails on a planted bug."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from archive_helpers import archives_made, unpacked
from helpers import ROOT, run

#: What is planted: one mode for all, a bit of lane 31, the standard's answers for torchao's.
PLANTED = {
    "": ("", "", 0),
    "mode": ("ScaleCalculationMode[mode]", 'ScaleCalculationMode["FLOOR"]', 6),
    "bytes": ("got = np.", "codes[:, 31] ^= 1\n    got = np.", 8),
    "profile": ("torchao_0_18_{mode.lower()}", "ocp", 8),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_the_kit_for_torchao(
    planted: str, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    text = (ROOT / "tools/adopt/test_mx_blocks.py").read_text("utf-8")
    old, new, failed = PLANTED[planted]
    assert text.count(old) == 1 or not planted
    (tmp_path / "test_blocks.py").write_text(text.replace(old, new) if planted else text, "utf-8")
    folder = unpacked(archives_made(tmp_path_factory), "mxfp8_e4m3")
    words = (
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-c",
        os.devnull,
        "--rootdir",
        tmp_path,
    )
    environment = {**os.environ, "MXREF_VECTORS": str(folder)}
    result = run(sys.executable, *words, tmp_path / "test_blocks.py", cwd=tmp_path, env=environment)
    told = f"{failed} failed" if failed else "8 passed"
    assert (told in result.stdout, result.returncode) == (True, int(failed > 0)), result.stdout
