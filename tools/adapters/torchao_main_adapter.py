"""torchao main, after pull request 4725 rewrote the numerics: blocks in its four scale modes.

`MXREF_TORCHAO_MAIN` names the checkout, which takes the place of an installed torchao: so it needs
a process of its own.
"""

import sys
from types import SimpleNamespace

from _peer import checkout

_ROOT = checkout("MXREF_TORCHAO_MAIN", "github.com/pytorch/ao at 36027d82")
sys.path.insert(0, str(_ROOT))

from _torchao import FLOATS, FOLDER, FORMATS, blocks, dequantize  # noqa: E402

__all__ = ["CEIL", "EVEN", "FLOATS", "FLOOR", "FORMATS", "RCEIL", "dequantize"]
if not FOLDER.samefile(_ROOT):
    raise ImportError(f"torchao main and 0.18.0 take a process each: {FOLDER} was loaded first")

FLOOR = SimpleNamespace(PROFILE="torchao_main_floor", POLICY="ocp+nan=signed", **blocks("FLOOR"))
CEIL = SimpleNamespace(
    PROFILE="torchao_main_ceil", POLICY="ocp+scale_rule=ceil+nan=signed", **blocks("CEIL")
)
EVEN = SimpleNamespace(
    PROFILE="torchao_main_even", POLICY="ocp+scale_rule=even+nan=signed", **blocks("EVEN")
)
RCEIL = SimpleNamespace(
    PROFILE="torchao_main_rceil",
    POLICY="ocp+scale_rule=rceil_reciprocal+nan=signed",
    **blocks("RCEIL"),
)
