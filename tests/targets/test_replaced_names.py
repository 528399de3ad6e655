"""Builtins and functions of NumPy that a target replaces: mxref goes on with its own."""

from __future__ import annotations

import builtins
from pathlib import Path

import numpy as np
import pytest

from mxref.cli import main
from mxref.support.own_names import names_kept

Capture, Patch = pytest.CaptureFixture[str], pytest.MonkeyPatch
#: Hides what is printed, calls every comparison equal, and takes away the last name of NumPy.
REPLACES = (
    "(setattr(builtins, 'print', lambda *_: None), setattr(np, 'all', lambda *_: True), "
    "setattr(np, 'flatnonzero', lambda _: []), delattr(np, list(vars(np))[-1]))"
)
#: Where it does so: each of these words of the target is replaced.
PLACES = ["IMPORT", "READ", "CALL", "RESULT"]
TEXT = """
import builtins
import numpy as np
import mxref
IMPORT
class Result:
    def __init__(self, codes): self.codes = codes
    def __array__(self, *_, **__): return [RESULT, self.codes][1]
def __getattr__(name): return [READ, None][1] if name == "MULTIPLES" else dir(5).no
def decode(codes, format):
    CALL
    return Result(mxref.decode(codes, format) WRONG)
"""


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("verb", ["verify", "identify"])
@pytest.mark.parametrize("status", [0, 1])
def test_a_target_cannot_change_a_verdict(
    status: int, verb: str, place: str, tmp_path: Path, monkeypatch: Patch, capsys: Capture
) -> None:
    text = TEXT.replace("WRONG", "* 3" * status)
    for word in PLACES:
        text = text.replace(word, REPLACES if word == place else "None")
    path = tmp_path / "kernel.py"
    path.write_text(text)
    for name in ("all", "flatnonzero"):
        monkeypatch.setattr(np, name, getattr(np, name))
    monkeypatch.setattr(builtins, "print", print)
    before = vars(np).copy()
    more = ["--sizes", "0", "--no-search"] if verb == "verify" else []
    assert main([verb, str(path), "--op", "decode", "--format", "e2m1", *more]) == status
    assert str(path) in capsys.readouterr().out
    assert all(getattr(np, name) is own for name, own in before.items())


def test_names_that_a_block_adds_stay() -> None:
    def fail() -> None:
        vars(np).update(add=7, added=5)
        raise RuntimeError

    with pytest.raises(RuntimeError), names_kept():
        fail()
    assert vars(np).pop("added") == 5
    assert np.add(2, 3) == 5
