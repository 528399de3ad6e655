"""AMD Quark 0.13: `to_e8m0_uint8`, which exports scales."""

from typing import Any

from _peer import array, peer, tensor
from numpy.typing import NDArray

_NUMERICS = peer(
    "quark.torch.utils.numerics", "torch==2.13.0 ninja && pip install --no-deps amd-quark==0.13"
)

POLICY = "ocp"
PROFILE = "quark_even"
FLOATS = ["f32"]


def encode_scale(values: NDArray[Any]) -> NDArray[Any]:
    """`to_e8m0_uint8`, which is meant for powers of two."""
    return array(_NUMERICS.to_e8m0_uint8(tensor(values)))
