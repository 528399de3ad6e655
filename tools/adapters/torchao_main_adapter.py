"""torchao main, after pull request 4725 rewrote the numerics: blocks.

`MXREF_TORCHAO_MAIN` names the checkout, which takes the place of an installed torchao: so it is
loaded in a process of its own. `torchao_main_floor.py` and so on are its four scale modes.
"""

import sys

from _peer import checkout

_ROOT = checkout("MXREF_TORCHAO_MAIN", "github.com/pytorch/ao at 36027d82")
sys.path.insert(0, str(_ROOT))

from torchao_adapter import FLOATS, FORMATS, dequantize, functions, mx  # noqa: E402

__all__ = ["FLOATS", "FORMATS", "dequantize", "functions"]
if not mx.__file__.startswith(str(_ROOT)):
    raise ImportError(f"torchao main must be loaded before any other torchao, got {mx.__file__}")
