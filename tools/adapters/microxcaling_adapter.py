"""microxcaling (7bc41952), its PyTorch path: `_quantize_mx`, on tensors of the CPU.

`MXREF_MICROXCALING` names the checkout. `microxcaling_torch_nearest.py` (ties away from zero),
`_even` and `_floor` are its rounding modes; `microxcaling_cuda_adapter.py` is its C++.
"""

import sys
from functools import partial

from _microxcaling import FLOATS, FORMATS, functions
from _peer import checkout, peer

__all__ = ["FLOATS", "FORMATS", "rounding"]
peer("torch", "torch==2.13.0")
_ROOT = checkout("MXREF_MICROXCALING", "github.com/microsoft/microxcaling at 7bc41952")
sys.path.insert(0, str(_ROOT))
rounding = partial(functions, peer("mx.mx_ops", "torch==2.13.0"))
