"""Arrays of other libraries, made from NumPy's arrays as arguments for a target.

A library is imported only for a target that asks for its arrays. An array that does not start at a
multiple of 16 bytes keeps its address modulo 16 on every device. JAX's arrays are the exception,
since JAX chooses their memory.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS, FloatLayout
from mxref.support.host_arrays import host_array
from mxref.support.text import unknown_name
from mxref.targets.streams import LateCall, are_late, late_call

__all__ = ["Library", "at_offset", "library_of"]

Array = NDArray[Any]

#: Bytes to which every allocator of devices aligns, and which vector loads need.
_ALIGNMENT = 16
#: Bytes that are copied to a device at most with what lies between them.
_REACH = 1 << 30


def at_offset(array: Array, offset: int) -> Array:
    """A C-contiguous copy that starts `offset` items past a multiple of 64 bytes.

    >>> array = at_offset(np.arange(3, dtype=np.float32), 1)
    >>> array.tolist(), array.ctypes.data % 64
    ([0.0, 1.0, 2.0], 4)
    """
    room = np.empty(array.nbytes + 64, np.uint8)
    start = (offset * array.itemsize - room.ctypes.data) % 64
    placed = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    placed[...] = array
    return placed


def _past_alignment(array: Array) -> int:
    """How many items past a multiple of 16 bytes an array starts."""
    return array.ctypes.data % _ALIGNMENT // array.itemsize


@dataclass(frozen=True, slots=True)
class Library:
    """A library that makes arrays for a target.

    Args:
        name: the library's.
        array: makes its array with the bits and shape of NumPy's and, as far as it can, the strides
            and the address modulo 16.
        dtype: gives its name for a dtype.
        lacks: float types of which it has no arrays, each with the reason.
        late: calls a function on another stream of the device; None if it has none.
    """

    name: str
    array: Callable[[Array], Any]
    dtype: Callable[[np.dtype[Any]], Any]
    lacks: Mapping[str, str] = field(default_factory=dict)
    late: LateCall | None = None

    def taking(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function that passes this library's arrays and dtypes to the given one, not NumPy's.

        An array that is given twice is one array of the library.
        """
        if self.name == "numpy":
            return function

        @functools.wraps(function)
        def call(*arguments: Any) -> Any:
            made = {id(one): self._given(one) for one in arguments}
            given = [made[id(one)] for one in arguments]
            return self.late(function, given) if self.late and are_late() else function(*given)

        return call

    def _given(self, argument: Any) -> Any:
        if isinstance(argument, np.ndarray | np.generic):
            return self.array(np.asarray(argument))
        return self.dtype(argument) if isinstance(argument, np.dtype) else argument


def library_of(name: str, device: str | None = None) -> Library:
    """The library of a name: numpy, torch, cupy or jax.

    Args:
        name: the name.
        device: where its arrays shall be, in its own words; its default if None.

    Raises:
        ValueError: an unknown name, a library that is not installed, or a device that is not there.
    """
    if not isinstance(name, str) or name not in _MAKERS:
        raise ValueError(unknown_name("ARRAYS", name, _MAKERS))
    if device is not None and name in ("numpy", "cupy"):
        raise ValueError(f"DEVICE must be left out for {name} arrays, got {device!r}")
    try:
        array, dtype = _MAKERS[name](device)
        array(np.zeros(1, np.uint8))
    except Exception as error:  # any that a library raises
        if isinstance(error, ModuleNotFoundError) and error.name == name:
            raise ValueError(f"{name} is not installed: pip install {name}") from None
        place = "" if device is None else f" on {device!r}"
        text = " ".join(str(error).split())
        raise ValueError(f"{name} makes no arrays{place}: {text}") from error
    found = {layout.name: _lack(array, layout) for layout in LAYOUTS.values()}
    lacks = {float: f"{name} {lack}" for float, lack in found.items() if lack}
    if name == "jax" and "f64" in lacks:
        lacks["f64"] += ": set jax_enable_x64 in the target"
    late = None
    if name == "torch" and device is not None:
        late = late_call(importlib.import_module("torch"), device)
    return Library(name, array, dtype, lacks, late)


def _lack(array: Callable[[Array], Any], layout: FloatLayout) -> str:
    """The reason why floats do not survive a conversion there and back; empty if they do."""
    words = [0, 1, layout.sign_bit, layout.inf_bits, layout.nan_bits, layout.nan_bits + 1]
    bits = np.array(words, layout.uint)
    try:
        back = host_array(array(bits.view(layout.dtype)))
    except Exception as error:  # any that a library raises
        return f"refuses {layout.dtype}: {' '.join(str(error).split())}"
    if back.dtype != layout.dtype:
        return f"makes {back.dtype} of {layout.dtype}"
    return "" if np.array_equal(back.view(layout.uint), bits) else f"changes {layout.dtype}"


_Maker = tuple[Callable[[Array], Any], Callable[[np.dtype[Any]], Any]]


def _torch(device: str | None) -> _Maker:
    torch = importlib.import_module("torch")

    def array(values: Array) -> Any:
        steps = (n * stride for n, stride in zip(values.shape, values.strides, strict=True))
        ends = sum(steps) - sum(values.strides)
        # torch knows no negative strides and nothing read-only.
        if min(values.strides, default=0) < 0 or ends > _REACH or not values.flags.writeable:
            values = values.copy()
            ends = values.nbytes - values.itemsize
        bits = values.view(np.int16) if values.dtype == ml_dtypes.bfloat16 else values
        size = values.itemsize
        if values.size:  # the memory itself, so that the strides stay the same on every device
            bits = np.lib.stride_tricks.as_strided(bits, (ends // size + 1,), (size,))
        tensor, start = torch.from_numpy(bits).to(device), _past_alignment(bits)
        if start and values.size:
            tensor = tensor.new_empty(start + len(bits))[start:].copy_(tensor)
        strides = [stride // size for stride in values.strides]
        return tensor.as_strided(values.shape, strides).view(dtype(values.dtype))

    def dtype(of: np.dtype[Any]) -> Any:
        return getattr(torch, of.name)

    return array, dtype


def _cupy(_: str | None) -> _Maker:
    cupy = importlib.import_module("cupy")

    def array(values: Array) -> Any:
        start = _past_alignment(values)
        if not start:
            return cupy.asarray(values)
        is_fortran = values.flags.f_contiguous and not values.flags.c_contiguous
        room = cupy.empty(start + values.size, values.dtype)
        placed = room[start:].reshape(values.shape, order="F" if is_fortran else "C")
        placed.set(values)  # keeps the order of `placed`
        return placed

    return array, lambda dtype: dtype


def _jax(device: str | None) -> _Maker:
    jax = importlib.import_module("jax")
    place = None if device is None else jax.devices(device)[0]
    return lambda values: jax.device_put(values, place), lambda dtype: dtype


_MAKERS: Mapping[str, Callable[[str | None], _Maker]] = {
    "numpy": lambda _: (np.asarray, lambda dtype: dtype),
    "torch": _torch,
    "cupy": _cupy,
    "jax": _jax,
}
