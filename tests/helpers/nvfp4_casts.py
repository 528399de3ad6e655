"""Casts of NVFP4's scales and elements by ml_dtypes, which saturate here, and what scales are."""

from __future__ import annotations

import ml_dtypes
import numpy as np

F = np.float32


def to_scales(wanted: np.ndarray) -> np.ndarray:
    """UE4M3 by ml_dtypes, which has no saturation; a scale has no sign, also as NaN."""
    return np.minimum(wanted, F(448)).astype(ml_dtypes.float8_e4m3fn).view(np.uint8) & 0x7F


def to_codes(quotients: np.ndarray) -> np.ndarray:
    """E2M1 by ml_dtypes, and 7 of NaN."""
    codes = np.clip(quotients, F(-6), F(6)).astype(ml_dtypes.float4_e2m1fn).view(np.uint8)
    return np.where(np.isnan(quotients), 7, codes)


def numbers(scales: np.ndarray) -> np.ndarray:
    """The numbers of scale codes."""
    return scales.view(ml_dtypes.float8_e4m3fn).astype(F)
