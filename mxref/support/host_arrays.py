"""Arrays of other libraries as NumPy arrays, bit for bit.

No library is imported. Floats that DLPack cannot carry to NumPy, such as torch's bfloat16 and
float8, are read as bits.
"""

from __future__ import annotations

import sys
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

#: Methods that detach an array from its graph, apply pending conjugations and signs, and copy it to
#: the host.
_TO_HOST = ("detach", "resolve_conj", "resolve_neg", "cpu", "get")
#: The host as a device of DLPack: the device's type and its number.
_HOST = (1, 0)


def host_array(array: object) -> Array:
    """An array of any library as a NumPy array, bit for bit.

    Args:
        array: what NumPy takes, or an object with ``__dlpack__`` on any device. Floats that NumPy
            does not have become those of ml_dtypes. A byte that holds two FP4 codes becomes one
            uint8.

    Raises:
        TypeError: an object with ``__dlpack__`` that cannot be copied to the host.

    >>> host_array([[1, 2]]).shape
    (1, 2)
    """
    if isinstance(array, np.ndarray) or not hasattr(array, "__dlpack__"):
        return np.asarray(array)
    try:
        return _copied(array)
    except Exception as error:  # any that a library raises
        kind = f"{type(array).__module__.partition('.')[0]}.{type(array).__name__}"
        raise TypeError(f"a {kind} cannot be copied to the host: {error}") from error


def unpacked_array(array: Any, parameter: str, items: str = "numbers") -> Array:
    """`host_array` of an array that holds one number or code in each item.

    Args:
        array: as in `host_array`.
        parameter: what error messages call the array.
        items: what they call its items: numbers, floats, integers or codes.

    Raises:
        TypeError: two codes in a byte, a ragged list, or what cannot be copied to the host.
    """
    if not isinstance(array, np.ndarray) and str(getattr(array, "dtype", "")).endswith("_x2"):
        raise TypeError(
            f"{parameter} must have one number or code an item, got {array.dtype}, two in a byte: "
            "take its bytes as uint8, and unpack them"
        )
    try:
        return host_array(array)
    except ValueError as error:
        raise TypeError(f"{parameter} must be a rectangular array of {items}: {error}") from None


def _copied(array: Any) -> Array:
    for name in _TO_HOST:
        if callable(getattr(array, name, None)):
            array = getattr(array, name)()
    dtype = getattr(array, "dtype", None)
    if isinstance(dtype, np.dtype) and hasattr(array, "__array__"):
        return np.asarray(array)
    name, library = str(dtype).rpartition(".")[2], sys.modules.get(type(dtype).__module__)
    if name == "float4_e2m1fn_x2":
        return np.from_dlpack(array.view(getattr(library, "uint8", None)))
    own = getattr(ml_dtypes, name, None)
    if own is not None:
        integers = f"int{8 * np.dtype(own).itemsize}"
        return np.from_dlpack(array.view(getattr(library, integers, None))).view(own)
    on_host = array.__dlpack_device__()[0] == _HOST[0]
    return np.from_dlpack(array if on_host else _OnHost(array))


class _OnHost:
    """An array of another device that is exported to the host, also to NumPy 2.0."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**(options | {"dl_device": _HOST}))

    def __dlpack_device__(self) -> tuple[int, int]:
        return _HOST


def refuse_masked(values: object, parameter: str) -> None:
    """Refuse masked arrays (told by their methods, since numpy.ma computes when it is imported).

    Raises:
        TypeError: a masked array.
    """
    if hasattr(values, "mask") and hasattr(values, "filled"):
        raise TypeError(
            f"{parameter} must not be masked: use .filled(...) to say what masked means"
        )
