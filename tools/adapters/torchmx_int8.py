"""torchmx 0.1.0: INT8, whose elements are plain integers.

So its scales are 6 lower than those of MX.
"""

from torchmx_adapter import FLOATS, dequantize, quantize, shared_scale

__all__ = ["FLOATS", "dequantize", "quantize", "shared_scale"]
PROFILE = "torchmx"
POLICY = "ocp"
FORMATS = ["int8", "mxint8"]
