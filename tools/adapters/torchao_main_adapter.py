"""torchao main, after pull request 4725 rewrote the numerics: blocks.

`MXREF_TORCHAO_MAIN` names the checkout, which takes the place of an installed torchao: so it needs
a process of its own. `torchao_main_floor.py` and so on are its four scale modes.
"""

import sys

from _peer import checkout

_ROOT = checkout("MXREF_TORCHAO_MAIN", "github.com/pytorch/ao at 36027d82")
sys.path.insert(0, str(_ROOT))

from _torchao import FLOATS, FOLDER, FORMATS, dequantize, functions  # noqa: E402

__all__ = ["FLOATS", "FORMATS", "dequantize", "functions"]
if not FOLDER.samefile(_ROOT):
    raise ImportError(f"torchao main and 0.18.0 take a process each: {FOLDER} was loaded first")
