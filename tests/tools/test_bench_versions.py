"""tools/benchmark/versions.py: the calls, and the arithmetic of two versions in turns."""

from __future__ import annotations

import io
from typing import Any

import pytest
from benchmark import versions


def test_each_call_is_answered_with_its_seconds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(versions, "MANY", 2048)
    found = versions.calls()
    for name, call in found.items():
        op, format, kind, *_ = name.split()
        result: Any = call()
        if op == "quantize":
            assert result.format.name == format
            result = result.codes
        assert result.size == (versions.FEW if kind == "small" else 2048), name
        wanted = {"f32": "float32", "bf16": "bfloat16", "small": "float32"}.get(kind)
        assert result.dtype == ("uint8" if op in ("encode", "quantize") else wanted), name
    versions.serve(io.StringIO("encode e4m3 f32\t2\nquantize nvfp4 small\t1\n"))
    names, *seconds = capsys.readouterr().out.splitlines()
    assert names.split("\t") == [*found]
    assert [float(one) > 0 for one in seconds] == [True, True]


class Said:
    """A version whose calls take as long as is said, one after the other."""

    def __init__(self, *seconds: float) -> None:
        self.left, self.asked = list(seconds), list[int]()

    def seconds(self, _: str, many: int = 1) -> float:
        self.asked.append(many)
        return self.left.pop(0)


def test_ratios_are_medians_of_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "ROUNDS", 3)
    slow, fast = Said(9.0, 0.01, 0.02, 0.04, 0.09), Said(9.0, 0.001, 0.01, 0.01, 0.03)
    line = versions.measured("encode e4m3 small", (slow, fast))  # type: ignore[arg-type]
    assert " ".join(line.split()) == "encode e4m3 small 40000.00 -> 10000.00 us 3.00 x"
    assert (slow.asked, fast.asked) == ([1, 1, 5, 5, 5], [1, 1, 50, 50, 50])
    monkeypatch.setattr(versions, "MANY", 10**6)
    same = Said(*[0.0025] * 5), Said(*[0.001] * 5)
    line = versions.measured("encode e4m3 f32", same)  # type: ignore[arg-type]
    assert line.split()[3:] == ["2.50", "->", "1.00", "ns", "2.50", "x"]
