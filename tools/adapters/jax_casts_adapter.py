"""JAX 0.10.2 on the CPU: casts of XLA to and from narrow types.

It is a file of its own, since it sets jax_enable_x64, without which JAX has no float64.
"""

from typing import Any

import numpy as np
from jax_adapter import DTYPES, jax, jnp
from numpy.typing import NDArray

jax.config.update("jax_enable_x64", True)  # noqa: FBT003 - its only signature

POLICY = (
    "ocp+overflow=nonsaturating+nan=signed_quiet+nan_to_finite=signed_zero"
    "+scale_rounding=ties_to_away+scale_overflow=nan+scale_of_zero=nan+scale_of_negative=nan"
    "+tiny_scale=as_if_zero"
)
PROFILE = "jax_casts"
FORMATS = ["e5m2", "e4m3", "e2m1"]


def encode(values: NDArray[Any], format: str) -> NDArray[Any]:
    """`astype`."""
    return np.array(jax.jit(lambda x: x.astype(DTYPES[format]))(jnp.array(values))).view(np.uint8)


def decode(codes: NDArray[Any], format: str) -> NDArray[Any]:
    """`astype`."""
    stored = jnp.array(codes.view(DTYPES[format]))
    return np.array(jax.jit(lambda x: x.astype(jnp.float32))(stored))


def encode_scale(values: NDArray[Any]) -> NDArray[Any]:
    """`astype`."""
    return encode(values, "e8m0")


def decode_scale(codes: NDArray[Any]) -> NDArray[Any]:
    """`astype`."""
    return decode(codes, "e8m0")
