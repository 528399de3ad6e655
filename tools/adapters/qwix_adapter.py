"""Qwix 0.1.8 (Google, on JAX): `quantize` of mxfp8 and mxfp4, whose scales are floats."""

from typing import Any

import numpy as np
from _peer import in_parts, peer
from _values import scale_codes
from numpy.typing import NDArray

_PIN = "jax==0.10.2 jaxlib==0.10.2 qwix==0.1.8"
jnp = peer("jax.numpy", _PIN)
_ARRAYS = peer("qwix._src.core.qarray", _PIN)

POLICY = "ocp+scale_rule=rceil"
PROFILE = "qwix"
FORMATS = ["mxfp8_e4m3", "mxfp4_e2m1"]
FLOATS = ["f32", "bf16"]


def quantize(values: NDArray[Any], block_format: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """`quantize` in tiles of 32; scales are numbers, of which NaN and infinity are FF here.

    Elements under NaN are NaN, whose signs depend on their places in vectors; here they are 00.
    What jnp.max of 4096 float32 numbers and more makes of NaN depends on the tensor's shape: it is
    given fewer.
    """
    how = _ARRAYS.HowToQuantize(
        qtype=block_format.split("_")[0], channelwise_axes=(0,), tiled_axes={1: 32}
    )

    def batch(part: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        result = _ARRAYS.quantize(jnp.array(part), how)
        scales = np.array(result.scale).astype(np.float64)[:, 0]
        codes = np.array(result.qvalue).view(np.uint8)
        codes = np.where(np.isnan(scales)[:, np.newaxis], 0, codes)
        return scale_codes(np.where(np.isinf(scales), np.nan, scales)), codes

    return in_parts(batch, values, 64)
