"""torchao 0.18.0, prototype/mx_formats: FLOOR, CEIL, EVEN and RCEIL are blocks in its scale modes.

CASTS are its own casts of FP6 and FP4, one code to a byte; LAYOUTS packs FP4 and tiles scales.
"""

from importlib.metadata import distribution
from types import SimpleNamespace
from typing import Any

from _peer import array, peer, tensor
from numpy.typing import NDArray

_UTILS = peer("torchao.prototype.mx_formats.utils", "torch==2.13.0 torchao==0.18.0")
from _torchao import FLOATS, FOLDER, FORMATS, blocks, dequantize, kernels  # noqa: E402

__all__ = ["CASTS", "CEIL", "EVEN", "FLOATS", "FLOOR", "FORMATS", "LAYOUTS", "RCEIL", "dequantize"]
if not FOLDER.samefile(str(distribution("torchao").locate_file(""))):
    raise ImportError(f"torchao 0.18.0 and its main take a process each: {FOLDER} was loaded first")
_NAMES = {"e3m2": "f6_e3m2", "e2m3": "f6_e2m3", "e2m1": "f4"}


def _encode(values: NDArray[Any], format: str) -> NDArray[Any]:
    """`f32_to_f4_unpacked` and its like."""
    return array(getattr(kernels, f"f32_to_{_NAMES[format]}_unpacked")(tensor(values)))


def _decode(codes: NDArray[Any], format: str) -> NDArray[Any]:
    """`f4_unpacked_to_f32` and its like."""
    return array(getattr(kernels, f"{_NAMES[format]}_unpacked_to_f32")(tensor(codes)))


def _pack(codes: NDArray[Any], format: str) -> NDArray[Any]:
    """`pack_uint4`, which refuses odd numbers."""
    return array(kernels.pack_uint4(tensor(codes)))


def _unpack(packed: NDArray[Any], format: str, n: int) -> NDArray[Any]:
    """`unpack_uint4`; it does not know the number."""
    return array(kernels.unpack_uint4(tensor(packed)))[:n]


def _pack_scales(scale_codes: NDArray[Any]) -> NDArray[Any]:
    """`to_blocked`."""
    return array(_UTILS.to_blocked(tensor(scale_codes)))


def _unpack_scales(packed: NDArray[Any], shape: tuple[int, int]) -> NDArray[Any]:
    """`from_blocked`."""
    return array(_UTILS.from_blocked(tensor(packed), *shape))


FLOOR = SimpleNamespace(PROFILE="torchao_0_18_floor", POLICY="ocp+nan=signed", **blocks("FLOOR"))
CEIL = SimpleNamespace(
    PROFILE="torchao_0_18_ceil", POLICY="ocp+scale_rule=ceil+nan=signed", **blocks("CEIL")
)
EVEN = SimpleNamespace(
    PROFILE="torchao_0_18_even", POLICY="ocp+scale_rule=even+nan=signed", **blocks("EVEN")
)
RCEIL = SimpleNamespace(
    PROFILE="torchao_0_18_rceil", POLICY="ocp+scale_rule=rceil+nan=signed", **blocks("RCEIL")
)
CASTS = SimpleNamespace(
    PROFILE="torchao_0_18_floor",
    POLICY="ocp",
    FORMATS=[*_NAMES],
    FLOATS=["f32"],
    encode=_encode,
    decode=_decode,
)
LAYOUTS = SimpleNamespace(
    PROFILE="torchao_0_18_floor",
    POLICY="ocp+scale_layout=tiles_128x4",
    FORMATS=["e2m1"],
    pack=_pack,
    unpack=_unpack,
    pack_scales=_pack_scales,
    unpack_scales=_unpack_scales,
)
