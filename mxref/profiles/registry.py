"""Every profile by its name."""

from __future__ import annotations

from collections.abc import Mapping

from mxref.policy.policy import Policy
from mxref.profiles import (
    approximate,
    casts,
    compressed_tensors,
    cublas,
    fbgemm,
    flashinfer,
    float_scales,
    gfloat,
    gguf,
    jax,
    microxcaling,
    mlx,
    p3109,
    pychop,
    quark,
    qwix,
    torchao,
    torchao_main,
    torchmx,
    tosa,
    transformer_engine,
    triton_kernels,
)
from mxref.profiles.definition import Profile

__all__ = ["BUILT_IN", "FAMILIES", "PROFILES"]

_ML_DTYPES = (
    *("e5m2", "e4m3", "e3m2", "e2m3", "e2m1"),
    *("e4m3fnuz", "e5m2fnuz", "e4m3b11fnuz", "e3m4", "e4m3_ieee"),
)

_OWN = (
    Profile("ocp", Policy(), "OCP MX, as SPEC_NOTES has it: the ocp policy in one table", "v1.0"),
    Profile(
        "ml_dtypes",
        Policy.parse(
            "ocp+overflow=nonsaturating+nan=signed_quiet+nan_to_finite=opposite_zero"
            "+pre_rounding=float32+scale_rounding=ties_to_away+scale_overflow=nan"
            "+scale_of_zero=nan+scale_of_negative=nan+tiny_scale=as_if_zero"
        ),
        "jax-ml/ml_dtypes, casts of arrays (SPEC_NOTES N13, N14, N23, N36); tests/test_profiles.py",
        "0.6.0",
        formats={
            "encode": _ML_DTYPES,
            "decode": _ML_DTYPES,
            "encode_scale": ("e8m0",),
            "decode_scale": ("e8m0",),
        },
    ),
)

#: The modules that define profiles.
FAMILIES = (
    casts,
    compressed_tensors,
    cublas,
    fbgemm,
    flashinfer,
    float_scales,
    gfloat,
    gguf,
    jax,
    microxcaling,
    mlx,
    p3109,
    pychop,
    quark,
    qwix,
    torchao,
    torchao_main,
    torchmx,
    tosa,
    transformer_engine,
    triton_kernels,
    approximate,
)

#: Every profile by its name.
PROFILES: Mapping[str, Profile] = {
    one.name: one for own in (_OWN, *(family.PROFILES for family in FAMILIES)) for one in own
}
#: The names of those that mxref brings; others are a user's.
BUILT_IN = frozenset(PROFILES)
