"""compressed-tensors 0.20.0: what it stored, read back as bfloat16."""

from compressed_tensors_adapter import decompress

POLICY = "ocp+scale_ff=inf"
PROFILE = "compressed_tensors"
FORMATS = ["mxfp8_e4m3", "mxfp6_e2m3", "mxfp4_e2m1"]
FLOATS = ["bf16"]
dequantize = decompress
