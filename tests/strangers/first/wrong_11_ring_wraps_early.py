"""Every eighth call encodes under the scales of seven calls before: the ring's reader wraps early.
Kind: state
True cause: every 8th call: elements encoded under stale scales of an earlier call (ring buffer)
"""

import first_base as base
import numpy as np

FORMATS = ["mxfp8_e4m3"]
FLOATS = ["f32", "bf16"]

STAGES = 8
_ring = np.full((STAGES, 0), 127, np.uint8)
_calls = 0


def quantize(values: np.ndarray, block_format: str) -> tuple[np.ndarray, np.ndarray]:
    """Two passes, scales and then elements, with the scales handed over in a ring of stages."""
    global _ring, _calls
    n = values.shape[0]
    if n > _ring.shape[1]:
        _ring = np.pad(_ring, ((0, 0), (0, n - _ring.shape[1])), constant_values=127)
    write = _calls % STAGES
    read = write if write < STAGES - 1 else 0
    _calls += 1
    _ring[write, :n] = base.shared_scale(base.block_amax(values), block_format)
    codes = base.encode_blocks(values, _ring[read, :n], block_format)
    return _ring[write, :n].copy(), codes
