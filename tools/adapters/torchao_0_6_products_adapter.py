"""Linear layers of torchao 0.6.1, whose MX is emulated: dequantized, then torch's products.

TRAINING is `MXLinear`, INFERENCE `MXInferenceLinear`. It is the environment of torchmx.
"""

from types import SimpleNamespace
from typing import Any

from _layers import functions
from _peer import peer

_PIN = "torch==2.13.0 torchao==0.6.1"
torch = peer("torch", _PIN)
_OLD = peer("torchao.prototype.mx_formats.mx_linear", _PIN)
if not hasattr(_OLD, "MXInferenceLinear"):
    raise ImportError(f"torchao must be 0.6.1, another one is installed: pip install {_PIN}")
_TYPES = {"mxfp8_e5m2": torch.float8_e5m2, "mxfp8_e4m3": torch.float8_e4m3fn,
          "mxfp6_e3m2": "fp6_e3m2", "mxfp6_e2m3": "fp6_e2m3", "mxfp4_e2m1": "fp4_e2m1"}  # fmt: skip


def _linear(w: Any, bias: Any) -> Any:
    """A layer of torch whose parameters are the given tensors."""
    layer = torch.nn.Linear(w.shape[1], w.shape[0], bias=bias is not None, dtype=w.dtype)
    layer.weight = torch.nn.Parameter(w.detach())
    if bias is not None:
        layer.bias = torch.nn.Parameter(bias.detach())
    return layer


def _training(x: Any, w: Any, bias: Any, name: str) -> Any:
    layer = _OLD.MXLinear.from_float(_linear(w, bias), _TYPES[name], 32)
    given = {"weight": w} | ({} if bias is None else {"bias": bias})
    return torch.func.functional_call(layer, given, (x,))


def _inference(x: Any, w: Any, bias: Any, name: str) -> Any:
    return _OLD.MXInferenceLinear.from_float(_linear(w, bias), _TYPES[name], 32)(x)


_BOTH: dict[str, Any] = {"FORMATS": [*_TYPES], "FLOATS": ["f32", "bf16"]}
TRAINING = SimpleNamespace(
    POLICY="ocp+backward_operands=reused", **_BOTH, **functions(_training, filled=True)
)
INFERENCE = SimpleNamespace(
    POLICY="ocp+weight_axis=out+activations=kept",
    linear=functions(_inference, filled=True)["linear"],
    **_BOTH,
)
