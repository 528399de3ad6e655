"""What profiles are said to have changed is what the two of them do differently."""

from __future__ import annotations

import numpy as np
import pytest

from mxref.cli import main
from mxref.profiles import PROFILES, Profile
from mxref.profiles.history import CHANGES, VersionChange


def made(profile: Profile, change: VersionChange) -> str:
    if change.op == "decode":
        return str(profile.decode(np.uint8([int(change.given)]), change.format)[0])
    x = np.float32([change.given] + [0] * 31)
    if change.op == "encode":
        return f"{profile.encode(x, change.format)[0]:02x}"
    blocks = profile.quantize(x, change.format)
    return f"{blocks.scale_codes[0]:02x} {blocks.codes[0]:02x}"


@pytest.mark.parametrize("change", CHANGES, ids=lambda one: f"{one.after}: {one.what}")
def test_a_change(change: VersionChange) -> None:
    both = PROFILES[change.before], PROFILES[change.after]
    assert tuple(made(profile, change) for profile in both) == change.codes
    assert both[0].source.partition(",")[0] == both[1].source.partition(",")[0]
    assert both[0].version != both[1].version


def test_explain(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("torch", "torch_2_12"):
        assert main(["explain", name]) == 0
        lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
        assert "history  from 2.12.0 (torch_2_12) to 2.13.0 (torch):" in lines
        source = "(pytorch/pytorch#178817):"
        assert f"numbers beyond 448 and infinities are cast to 448, not to NaN {source}" in lines
        assert "encode e4m3: 512 -> 7e, was 7f" in lines
        assert "all of it: mxref diff torch_2_12 torch --format e4m3" in lines
    assert main(["explain", "mlx_0_31"]) == 0
    assert "decode e4m3: code 7f -> nan, was 480.0" in capsys.readouterr().out
    assert main(["explain", "cuda"]) == 0
    assert "history" not in capsys.readouterr().out
