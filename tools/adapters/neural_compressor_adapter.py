"""Intel neural-compressor 3.10: its mx_quant is microxcaling's PyTorch path.

It gives numbers on the grid, no codes. NEAREST rounds ties away from zero.
"""

from types import SimpleNamespace

from _microxcaling import blocks
from _peer import peer

_PIN = "torch==2.13.0 prettytable && pip install --no-deps neural-compressor==3.10"
peer("torch", _PIN)
_MX = peer("neural_compressor.torch.algorithms.mx_quant.utils", _PIN)

NEAREST = SimpleNamespace(PROFILE="microxcaling_torch", **blocks(_MX, "nearest"))
EVEN = SimpleNamespace(PROFILE="microxcaling_torch_even", **blocks(_MX, "even"))
