"""Intel neural-compressor 3.10: its mx_quant is microxcaling's PyTorch path.

It gives numbers on the grid, no codes. `neural_compressor_nearest.py` and
`neural_compressor_even.py` round ties away from zero, and to even.
"""

from functools import partial

from _microxcaling import FLOATS, FORMATS, functions
from _peer import peer

__all__ = ["FLOATS", "FORMATS", "rounding"]
_PIN = "torch==2.13.0 prettytable && pip install --no-deps neural-compressor==3.10"
peer("torch", _PIN)
rounding = partial(functions, peer("neural_compressor.torch.algorithms.mx_quant.utils", _PIN))
