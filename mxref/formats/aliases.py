"""Names of formats elsewhere: the dtypes of torch, ml_dtypes and ONNX, and short names.

An alias stands for a format with the same codes and the same values. A name that stands for several
formats, for none of them, or for integers is refused with the reason.
Source: OCP MX v1.0 Table 1; ONNX, "Float stored in 8 bits", onnx.proto; SPEC_NOTES, Formats.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Name elsewhere -> name of the format.
ALIASES: Mapping[str, str] = {
    # torch and ml_dtypes
    "float8_e4m3fn": "e4m3",
    "float8_e5m2": "e5m2",
    "float8_e4m3fnuz": "e4m3fnuz",
    "float8_e5m2fnuz": "e5m2fnuz",
    "float8_e4m3b11fnuz": "e4m3b11fnuz",
    "float8_e4m3": "e4m3_ieee",
    "float8_e3m4": "e3m4",
    "float6_e2m3fn": "e2m3",
    "float6_e3m2fn": "e3m2",
    "float4_e2m1fn": "e2m1",
    "float8_e8m0fnu": "e8m0",
    # ONNX
    "FLOAT8E4M3FN": "e4m3",
    "FLOAT8E5M2": "e5m2",
    "FLOAT8E4M3FNUZ": "e4m3fnuz",
    "FLOAT8E5M2FNUZ": "e5m2fnuz",
    "FLOAT4E2M1": "e2m1",
    "FLOAT8E8M0": "e8m0",
    "E4M3FN": "e4m3",
    "E4M3FNUZ": "e4m3fnuz",
    "E5M2": "e5m2",
    "E5M2FNUZ": "e5m2fnuz",
    "e4m3fn": "e4m3",
    # short
    "mxfp4": "mxfp4_e2m1",
    "fp4": "e2m1",
}
#: Name -> the formats, one of which it might stand for.
SEVERAL: Mapping[str, tuple[str, str]] = {
    "mxfp8": ("mxfp8_e5m2", "mxfp8_e4m3"),
    "mxfp6": ("mxfp6_e3m2", "mxfp6_e2m3"),
    "fp8": ("e5m2", "e4m3"),
    "fp6": ("e3m2", "e2m3"),
}
_WIDTHS = (1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64)
_INTEGERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in _WIDTHS} - {"int8"}
#: Name -> why no format has it.
REFUSED: Mapping[str, str] = {
    **dict.fromkeys(
        ("float4_e2m1fn_x2", "float4_e2m1_x2"),
        "its items are two codes in a byte: unpack them, and name 'e2m1'",
    ),
    **dict.fromkeys((*_INTEGERS, "bool"), "its items are integers, and no format has them"),
}
#: Why an int8 dtype is refused, although a format has this name.
_INT8 = "its items are integers: the format of MXINT8 elements, 64ths, is named 'int8'"
#: What may stand before a dtype's name.
_LIBRARIES = ("torch.", "ml_dtypes.", "onnx.TensorProto.", "TensorProto.", "jnp.", "numpy.", "np.")
_KNOWN = {*ALIASES, *SEVERAL, *REFUSED}


def own_name(parameter: str, name: Any) -> Any:
    """The name that a format has here; what is no name or dtype, or an unknown one, as it is.

    Args:
        parameter: what the sentence of an error calls it.
        name: a name, or a dtype of torch, NumPy or ml_dtypes.

    Raises:
        ValueError: a name of several formats, or a dtype that is none.

    >>> own_name("format", "torch.float8_e4m3fn"), own_name("format", "FLOAT4E2M1")
    ('e4m3', 'e2m1')
    >>> own_name("format", "e2m1"), own_name("format", "mxfp4")
    ('e2m1', 'mxfp4_e2m1')
    """
    if isinstance(name, str) and name not in _KNOWN and "." not in name:
        return name
    text = name if isinstance(name, str) else _dtype_name(name)
    if text is None:
        return name
    bare = next((text.removeprefix(one) for one in _LIBRARIES if text.startswith(one)), text)
    if bare in ALIASES:
        return ALIASES[bare]
    if bare in SEVERAL:
        first, second = SEVERAL[bare]
        raise ValueError(f"{parameter} must be {first!r} or {second!r}, got {name!r}: name one")
    why = _INT8 if bare == "int8" else REFUSED.get(bare)
    if why is not None:
        raise ValueError(f"{parameter} must be the name of a format, got {name!r}: {why}")
    return name


def _dtype_name(dtype: object) -> str | None:
    """The name of a dtype of torch, NumPy or ml_dtypes; None for another object."""
    import numpy as np  # which takes time, and the command line reads names without it

    if isinstance(dtype, np.dtype):
        return f"numpy.{dtype.name}"
    if isinstance(dtype, type) and issubclass(dtype, np.generic):
        return f"numpy.{np.dtype(dtype).name}"
    kind = type(dtype)
    return str(dtype) if (kind.__module__, kind.__name__) == ("torch", "dtype") else None
