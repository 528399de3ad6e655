"""AMD Quark 0.13: its copy of the Triton kernels, run by Triton's interpreter without a GPU.

EVEN, UP and DOWN are MXFP4 in its rounding modes of the scale. What the kernels read back is left
out: the interpreter of Triton 3.9 gets the bits of bfloat16 wrong.
"""

import os
from types import SimpleNamespace
from typing import Any

from _peer import array, peer, tensor
from numpy.typing import NDArray

import mxref

os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported

_PIN = "torch==2.13.0 triton==3.9.0 && pip install --no-deps amd-quark==0.13"
torch = peer("torch", _PIN)
mxfp = peer("quark.torch.kernel.mx.triton", _PIN)

FORMATS = ["mxfp4_e2m1"]
FLOATS = ["bf16", "f16"]


def _blocks(mode: str, policy: str) -> dict[str, Any]:
    """`downcast_to_mxfp` in a rounding mode, and its claims but for the profile."""

    def quantize(values: NDArray[Any], block_format: str) -> tuple[NDArray[Any], NDArray[Any]]:
        rounding = mxfp.DequantScaleRoundingMode[mode]
        elements, scales = mxfp.downcast_to_mxfp(
            tensor(values), torch.uint8, -1, DEQUANT_SCALE_ROUNDING_MODE=rounding
        )[:2]
        return array(scales)[:, 0], mxref.unpack(array(elements), "e2m1", 32)

    policy = f"ocp+rounding=ties_to_away+nan_to_finite=signed_max+block_nan=ignore{policy}"
    return {"POLICY": policy, "FORMATS": FORMATS, "FLOATS": FLOATS, "quantize": quantize}


EVEN = SimpleNamespace(
    PROFILE="quark_triton_even", **_blocks("EVEN", "+scale_rule=even+block_inf=largest_scale")
)
UP = SimpleNamespace(
    PROFILE="quark_triton_up", **_blocks("ROUND_UP", "+scale_rule=rceil+scale_underflow=flush")
)
DOWN = SimpleNamespace(
    PROFILE="quark_triton_down", **_blocks("ROUND_DOWN", "+scale_underflow=flush")
)
