"""ml_dtypes as a target of `mxref verify`.

Its casts do not saturate: E4M3 and E5M2 overflow to NaN and infinity. Its cast to E8M0 rounds to
the nearest power of two. That is what it claims here.
"""

from typing import Any

import numpy as np
from _peer import peer
from numpy.typing import NDArray

ml_dtypes = peer("ml_dtypes", "ml_dtypes==0.6.0")

POLICY = "ocp+overflow=nonsaturating+scale_rounding=ties_to_away"
PROFILE = "ml_dtypes"
_DTYPES = {
    "e5m2": ml_dtypes.float8_e5m2,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e3m2": ml_dtypes.float6_e3m2fn,
    "e2m3": ml_dtypes.float6_e2m3fn,
    "e2m1": ml_dtypes.float4_e2m1fn,
    "e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "e4m3b11fnuz": ml_dtypes.float8_e4m3b11fnuz,
    "e3m4": ml_dtypes.float8_e3m4,
    "e4m3_ieee": ml_dtypes.float8_e4m3,
}
FORMATS = [*_DTYPES, "e8m0"]


def encode(values: NDArray[Any], format: str) -> NDArray[Any]:
    """Cast to the format's dtype."""
    return values.astype(_DTYPES[format]).view(np.uint8)


def decode(codes: NDArray[Any], format: str) -> NDArray[Any]:
    """Cast from the format's dtype."""
    return codes.view(_DTYPES[format]).astype(np.float32)


def encode_scale(values: NDArray[Any]) -> NDArray[Any]:
    """Cast to float8_e8m0fnu."""
    return values.astype(ml_dtypes.float8_e8m0fnu).view(np.uint8)


def decode_scale(codes: NDArray[Any]) -> NDArray[Any]:
    """Cast from float8_e8m0fnu."""
    return codes.view(ml_dtypes.float8_e8m0fnu).astype(np.float32)
