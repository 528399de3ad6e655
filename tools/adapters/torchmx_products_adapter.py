"""The linear layer of torchmx 0.1.0: `MXInferenceLinear`, which takes only bfloat16."""

from typing import Any

from _layers import functions
from _peer import peer

_PIN = "torch==2.13.0 torchao==0.6.1 && pip install --no-deps torchmx==0.1.0"
torch = peer("torch", _PIN)
_LAYERS = peer("torchmx.layers.mx_linear", _PIN)
_CONFIG = peer("torchmx.config", _PIN)

POLICY = "ocp"
FORMATS = ["mxfp8_e4m3", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4_e2m1"]
FLOATS = ["bf16"]


def _layer(x: Any, w: Any, bias: Any, name: str) -> Any:
    layer = torch.nn.Linear(w.shape[1], w.shape[0], bias=bias is not None, dtype=w.dtype)
    layer.weight = torch.nn.Parameter(w)
    if bias is not None:
        layer.bias = torch.nn.Parameter(bias)
    element = _CONFIG.MXConfig(f"float{name[4]}_{name[6:]}", 32)
    return _LAYERS.MXInferenceLinear.from_float(layer, _CONFIG.QLinearConfig(element, element))(x)


linear = functions(_layer, filled=True)["linear"]
