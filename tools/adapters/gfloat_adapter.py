"""gfloat (graphcore-research) as a target of `mxref verify`: its block quantizer and its casts."""

from typing import Any

import numpy as np
from _peer import peer
from numpy.typing import NDArray

gfloat = peer("gfloat", "gfloat==0.5.2")
formats, blocks = (peer(f"gfloat.{name}", "gfloat==0.5.2") for name in ("formats", "block"))

POLICY = "ocp"
PROFILE = "gfloat"
_FORMATS = {
    name: getattr(formats, f"format_info_ocp_{name}")
    for name in ("e5m2", "e4m3", "e3m2", "e2m3", "e2m1", "int8")
}
_BLOCKS = {
    name: getattr(formats, f"format_info_{name}")
    for name in ("mxfp8_e5m2", "mxfp8_e4m3", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4_e2m1", "mxint8")
}
_E8M0 = formats.format_info_ocp_e8m0


def encode(values: NDArray[Any], format: str) -> NDArray[Any]:
    """Round, saturating, then encode; gfloat computes in float64."""
    info = _FORMATS[format]
    rounded = gfloat.round_ndarray(
        info, values.astype(np.float64), gfloat.RoundMode.TiesToEven, sat=True
    )
    return gfloat.encode_ndarray(info, rounded).astype(np.uint8)


def decode(codes: NDArray[Any], format: str) -> NDArray[Any]:
    """Decode to float64, which holds every value, then float32."""
    return gfloat.decode_ndarray(_FORMATS[format], codes.astype(np.int64)).astype(np.float32)


def decode_scale(codes: NDArray[Any]) -> NDArray[Any]:
    """Decode E8M0."""
    return gfloat.decode_ndarray(_E8M0, codes.astype(np.int64)).astype(np.float32)


def shared_scale(amax: NDArray[Any], format: str) -> NDArray[Any]:
    """compute_scale_amax, one amax at a time, in the type of the amax or float32."""
    amax = _not_narrow(amax)
    emax = _FORMATS[format].emax
    scales = [blocks.compute_scale_amax(emax, amax[i : i + 1]) for i in range(len(amax))]
    return np.array([gfloat.encode_float(_E8M0, float(scale)) for scale in scales], np.uint8)


def quantize(values: NDArray[Any], block_format: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """quantize_block in its two steps, to see the codes."""
    info = _BLOCKS[block_format]
    values = _not_narrow(values)
    codes = []
    for block in values:
        scale = blocks.compute_scale_amax(info.etype.emax, block)
        codes.append(list(gfloat.encode_block(info, float(scale), block / scale)))
    array = np.array(codes, np.uint8)
    return array[:, 0], array[:, 1:]


def _not_narrow(values: NDArray[Any]) -> NDArray[Any]:
    """float16 and bfloat16 as float32: gfloat computes the logarithm in the type that it gets."""
    return values.astype(np.float32) if values.dtype.itemsize == 2 else values
