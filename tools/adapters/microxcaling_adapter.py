"""microxcaling (7bc41952), its PyTorch path: `_quantize_mx`, on tensors of the CPU.

`MXREF_MICROXCALING` names the checkout. Its rounding modes are NEAREST (ties away from zero), EVEN
and FLOOR; `microxcaling_cuda_adapter.py` is its C++.
"""

import sys
from types import SimpleNamespace

from _microxcaling import blocks
from _peer import checkout, peer

peer("torch", "torch==2.13.0")
_ROOT = checkout("MXREF_MICROXCALING", "github.com/microsoft/microxcaling at 7bc41952")
sys.path.insert(0, str(_ROOT))
_MX = peer("mx.mx_ops", "torch==2.13.0")

NEAREST = SimpleNamespace(PROFILE="microxcaling_torch", **blocks(_MX, "nearest"))
EVEN = SimpleNamespace(PROFILE="microxcaling_torch_even", **blocks(_MX, "even"))
FLOOR = SimpleNamespace(PROFILE="microxcaling_torch_floor", **blocks(_MX, "floor"))
