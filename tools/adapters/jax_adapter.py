"""JAX 0.10.2 on the CPU: the block quantizer of the cuDNN path of `jax.nn.scaled_matmul`.

`jax_casts_adapter.py` has the casts of XLA.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np
from _peer import in_parts, peer
from numpy.typing import NDArray

_PIN = "jax==0.10.2 jaxlib==0.10.2"
jax = peer("jax", _PIN)
jnp = peer("jax.numpy", _PIN)
_BLOCKS = peer("jax._src.cudnn.scaled_matmul_stablehlo", _PIN)

POLICY = "ocp+scale_rule=rceil"
PROFILE = "jax"
FORMATS = ["e4m3", "e5m2", "mxfp8_e4m3", "mxfp8_e5m2"]
FLOATS = ["f32", "bf16", "f16"]
DTYPES = {
    "e5m2": jnp.float8_e5m2, "e4m3": jnp.float8_e4m3fn, "e2m1": jnp.float4_e2m1fn,
    "e8m0": jnp.float8_e8m0fnu,
}  # fmt: skip


def _config(name: str) -> Any:
    return SimpleNamespace(
        mode="mxfp8", block_size=32, data_type=DTYPES[name], scale_type=DTYPES["e8m0"],
        global_scale=None,
    )  # fmt: skip


def quantize(values: NDArray[Any], block_format: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """`quantize` of the module scaled_matmul_stablehlo, for batches of one.

    What jnp.max of 4096 float32 numbers and more makes of NaN depends on the tensor's shape: it is
    given fewer.
    """
    config = _config(block_format.split("_")[1])

    def batch(part: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        elements, scales = _BLOCKS.quantize(jnp.array(part)[None], config)
        return np.array(scales).view(np.uint8)[0, :, 0], np.array(elements).view(np.uint8)[0]

    return in_parts(batch, values, 64)


def shared_scale(amax: NDArray[Any], format: str) -> NDArray[Any]:
    """The scales of `quantize`."""
    blocks = np.repeat(amax[:, None], 32, axis=1)
    return quantize(blocks, f"mxfp8_{format}")[0]
