"""compressed-tensors 0.20.0: MXFP8 (E4M3).

Its `even` rounds amax to one bit of mantissa, as for FP4: the scale goes up from 448 on.
"""

from compressed_tensors_adapter import FLOATS, encode, quantize, shared_scale

__all__ = ["FLOATS", "encode", "quantize", "shared_scale"]
POLICY = "ocp+scale_rule=rceil"
PROFILE = "compressed_tensors"
FORMATS = ["e4m3", "mxfp8_e4m3"]
