"""Right: the base as it is, every function of it.
Kind: right
True cause: nothing is wrong
"""

import first_base as base

FORMATS = ["e4m3", "mxfp8_e4m3"]
FLOATS = ["f32", "bf16"]

encode = base.encode
decode = base.decode
encode_scale = base.encode_scale
decode_scale = base.decode_scale
shared_scale = base.shared_scale
quantize = base.quantize
dequantize = base.dequantize
pack = base.pack
unpack = base.unpack
quantize_tensor = base.quantize_tensor
