"""Qwix 0.1.8 (Google, on JAX): `quantize` of mxfp8 and mxfp4, whose scales are floats."""

from typing import Any

import numpy as np
from _peer import peer
from _values import block_codes
from numpy.typing import NDArray

_PIN = "jax==0.10.2 jaxlib==0.10.2 qwix==0.1.8"
jnp = peer("jax.numpy", _PIN)
_ARRAYS = peer("qwix._src.core.qarray", _PIN)

POLICY = "ocp+scale_rule=rceil"
FORMATS = ["mxfp8_e4m3", "mxfp4_e2m1"]
FLOATS = ["f32", "bf16"]


def quantize(values: NDArray[Any], block_format: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """`quantize` in tiles of 32."""
    how = _ARRAYS.HowToQuantize(
        qtype=block_format.split("_")[0], channelwise_axes=(0,), tiled_axes={1: 32}
    )
    result = _ARRAYS.quantize(jnp.array(values), how)
    scales = np.array(result.scale).astype(np.float64)[:, 0]
    return block_codes(
        scales, np.array(result.qvalue).astype(np.float32), block_format.split("_")[1]
    )
