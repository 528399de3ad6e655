"""Numbers of E8M0 codes from the exponent field of a float64, then narrowed."""

import numpy as np


def decode_scale(codes):
    fields = codes.astype(np.uint64) + np.uint64(1023 - 127)
    numbers = (fields << np.uint64(52)).view(np.float64)
    numbers[codes == 255] = np.nan
    return numbers.astype(np.float32)
