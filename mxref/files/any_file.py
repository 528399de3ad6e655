"""Reading and writing a file of any suffix."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from mxref.blocks.container import Blocks
from mxref.files import gguf_files, npz_files, safetensors_files
from mxref.files.stored import Entry
from mxref.policy.policy import Policy
from mxref.profiles import Profile
from mxref.support.whole_file import named_errors, refuse_special

__all__ = ["Entry", "entries", "read_blocks", "read_tensors", "write_blocks"]

#: Choices that the file formats fix.
_FIXED = ("fp4_packing", "fp6_packing", "scale_place", "scale_byte", "scale_layout")
_WRITERS = {
    ".npz": npz_files.write,
    ".safetensors": safetensors_files.write,
    ".gguf": gguf_files.write,
}


def entries(path: str | os.PathLike[str], *, bfloat16: bool = False) -> Iterator[Entry]:
    """The tensors of a file; each is read when its entry is loaded.

    Args:
        path: a ``.npy``, ``.npz``, ``.safetensors`` or ``.gguf`` file; a file of another suffix is
            read as ``.npy``.
        bfloat16: whether the two-byte items of a ``.npy`` file are bfloat16.

    Returns:
        Entries in the order of the file; blocks of ``.npz`` before its other arrays. The tensor of
        a ``.npy`` file has the name of the file without its suffix.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is cut or damaged, no regular file, or needs a package that is not
            installed.
    """
    path = Path(path)
    refuse_special(path)
    if bfloat16 and path.suffix in _WRITERS:
        got = f"got {path}: it names its types"
        raise ValueError(f"bfloat16 must be said of .npy files only, {got}")
    with named_errors(path):
        if path.suffix == ".safetensors":
            yield from safetensors_files.entries(path)
        elif path.suffix == ".gguf":
            yield from gguf_files.entries(path)
        elif path.suffix == ".npz":
            yield from npz_files.entries(path)
        else:
            values = npz_files.read_npy(path, bfloat16=bfloat16)
            yield Entry(path.stem, str(values.dtype), values.shape, lambda: values)


def read_tensors(
    path: str | os.PathLike[str], *, bfloat16: bool = False
) -> Iterator[tuple[str, NDArray[Any] | Blocks]]:
    """Names and tensors of a file, one at a time.

    Args:
        path: as in `entries`.
        bfloat16: as in `entries`.

    Returns:
        Pairs of a name and an array or `Blocks`. Arrays are read-only and mapped to the file; those
        of ``.npz`` are in memory. Floats of 8 bits or fewer are ml_dtypes arrays (F8_E8M0: decoded
        to float32). A quantized type of ``.gguf`` other than MXFP4 and NVFP4 comes as its bytes.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is cut or damaged, or needs a package that is not installed.
    """
    for entry in entries(path, bfloat16=bfloat16):
        yield entry.name, entry.load()


def read_blocks(path: str | os.PathLike[str]) -> dict[str, Blocks]:
    """The blocks in a file, by name; other tensors are left out.

    Args:
        path: a ``.npz``, ``.safetensors`` or ``.gguf`` file.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is cut or damaged, has another suffix, or needs a package that is not
            installed.
    """
    _writer(Path(path))
    tensors = ((entry.name, entry.load()) for entry in entries(path) if not entry.is_float)
    return {name: tensor for name, tensor in tensors if isinstance(tensor, Blocks)}


def write_blocks(
    path: str | os.PathLike[str],
    tensors: Mapping[str, Blocks],
    policy: str | Policy | Profile = "ocp",
) -> None:
    """Write blocks to a file, which appears whole or not at all.

    In ``.safetensors`` the elements are a tensor NAME of the type F4, F6_E2M3, F6_E3M2, F8_E4M3,
    F8_E5M2 or I8, packed from the lowest bits up and padded to whole bytes along the last axis. The
    scales are NAME_scale, F8_E8M0 or F8_E4M3 (for UE4M3). The scale of a tensor is F32:
    NAME_scale_2 if it is a factor, NAME_global_scale if a divisor, NAME_amax if the largest
    magnitude. The metadata holds shapes, formats and the policy. torch has no 6-bit types and does
    not read files with F6.

    ``.gguf`` takes MXFP4 and NVFP4 only, without NaN blocks; a tensor scale is the factor
    NAME.scale. Each format has this one layout; for others use `mxref.pack`, `mxref.pack_scales` or
    `mxref.pack_blocks` and your own writer.

    Args:
        path: a ``.npz``, ``.safetensors`` or ``.gguf`` file.
        tensors: blocks by name.
        policy: the policy or profile that the blocks were quantized with, which the file records
            (not ``.npz``); its packing and the place, byte and layout of its scales must be those
            of `ocp`.

    Raises:
        OSError: the file cannot be written; an older file of that name stays.
        TypeError: `tensors` is no mapping of names to `Blocks`.
        ValueError: another suffix, a policy with another layout, a path that is no regular file, or
            names and blocks that the file format cannot hold.

    Source: safetensors/safetensors#611; torch.float4_e2m1fn_x2; ggml-common.h, block_mxfp4 and
        block_nvfp4.
    """
    path = Path(path)
    writer = _writer(path)
    if not isinstance(tensors, Mapping):
        legal = "a mapping of names to Blocks, such as {'weight': blocks}"
        raise TypeError(f"tensors must be {legal}, got {type(tensors).__name__}")
    for name, blocks in tensors.items():
        if not isinstance(name, str) or not isinstance(blocks, Blocks):
            got = f"{type(blocks).__name__} for {name!r}"
            raise TypeError(f"tensors must be Blocks by name, got {got}")
        try:
            name.encode()
        except UnicodeEncodeError:
            raise ValueError(f"tensors must have names of Unicode text, got {name!r}") from None
    said = policy.policy if isinstance(policy, Profile) else policy
    known = said if isinstance(said, Policy) else Policy.parse(said)
    chosen, default = known.choices(), Policy().choices()
    for name in _FIXED:
        if chosen[name] != default[name]:
            raise ValueError(
                f"policy must leave {name} as in ocp, since the file has one layout, got "
                f"{chosen[name]}: for others use pack, pack_scales or pack_blocks and your own "
                "writer"
            )
    writer(path, tensors, f"profile {policy.name}" if isinstance(policy, Profile) else str(known))


def _writer(path: Path) -> Any:
    if path.suffix not in _WRITERS:
        raise ValueError(f"path must end in {', '.join(_WRITERS)}, got {path}")
    return _WRITERS[path.suffix]
