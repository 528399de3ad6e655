"""The linear layer of microxcaling (7bc41952) on tensors of the CPU, in its mode NEAREST.

`MXREF_MICROXCALING` names the checkout.
"""

import sys
from typing import Any

from _layers import functions
from _peer import checkout, peer

torch = peer("torch", "torch==2.13.0")
_ROOT = checkout("MXREF_MICROXCALING", "github.com/microsoft/microxcaling at 7bc41952")
sys.path.insert(0, str(_ROOT))
_LINEAR, _SPECS = peer("mx.linear", "torch==2.13.0"), peer("mx.specs", "torch==2.13.0")

POLICY = (
    "ocp+rounding=ties_to_away+zero_sign=dropped+scale_rule=floor_log2_float32"
    "+scale_overflow=nan+gradient_rows=sequences"
)
_NAMES = {"mxfp8_e5m2": "fp8_e5m2", "mxfp8_e4m3": "fp8_e4m3", "mxfp6_e3m2": "fp6_e3m2",
          "mxfp6_e2m3": "fp6_e2m3", "mxfp4_e2m1": "fp4_e2m1", "mxint8": "int8"}  # fmt: skip
FORMATS = [*_NAMES]
FLOATS = ["f32"]


def _layer(x: Any, w: Any, bias: Any, name: str) -> Any:
    form = _NAMES[name]
    specs = _SPECS.finalize_mx_specs(
        {"w_elem_format": form, "a_elem_format": form, "scale_bits": 8, "block_size": 32}
        | {"bfloat": 0, "fp": 0, "custom_cuda": False}
    )
    return _LINEAR.linear(x, w, bias, mx_specs=specs)


_BOTH = functions(_layer, filled=False)
linear, linear_gradients = _BOTH["linear"], _BOTH["linear_gradients"]
