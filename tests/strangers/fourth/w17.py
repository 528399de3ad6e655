"""Numbers of E8M0 codes: the code is the exponent field of a float32."""

import numpy as np


def decode_scale(codes):
    return (codes.astype(np.uint32) << np.uint32(23)).view(np.float32)
