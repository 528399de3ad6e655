"""Packed bytes: element codes into bytes and back, alone or with the scale of their block."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from mxref.bits.floats import U8
from mxref.bits.out import array_out
from mxref.formats.catalog import (
    E8M0,
    BlockFormat,
    CodeFormat,
    ElementFormat,
    block_format,
    element_format,
)
from mxref.numbers.codes import codes_of
from mxref.packing.moves import BYTES, PACKINGS, Packing, matrix
from mxref.policy.choices import ScaleByte, ScalePlace
from mxref.policy.groups import LayoutPolicy
from mxref.policy.keywords import PackBlocksChoices, PackChoices
from mxref.policy.policy import Policy, resolve
from mxref.support.integers import integer

#: The format that packed bytes are checked against.
BYTE = CodeFormat("bytes", 8, 0, 0, signed=False)
_U8 = np.dtype(np.uint8)


def pack(
    codes: ArrayLike,
    format: str | ElementFormat,
    policy: str | Policy = "ocp",
    *,
    block_size: int = 32,
    out: U8 | None = None,
    threads: int | None = None,
    **choices: Unpack[PackChoices],
) -> U8:
    """The bytes that element codes are stored in, along the last axis.

    Blocks along axis 0: pass ``np.moveaxis(codes, 0, -1)``, and ``scale_codes.T`` to `pack_scales`.

    Args:
        codes: codes (..., n) of the format: integers below 2**bits or its ml_dtypes type.
        format: element format of 4, 6 or 8 bits, or its name. 8-bit codes are bytes as they are.
        policy: a `Policy` or its spelling.
        block_size: codes of a block, read by `fp4_packing=halves` (even) and
            `fp6_packing=torchao_planar` (a multiple of 4) alone.
        out: where the bytes go: a writable C-contiguous uint8 array of their shape.
        threads: as in `encode`.
        choices: `fp4_packing`, read for 4-bit formats, and `fp6_packing`, read for 6-bit ones.

    Returns:
        uint8 (..., `packed_size(n, format)`). Codes that do not fill their last bytes, or in the
        two packings above their last block, are filled up with code 0.

    Raises:
        TypeError: codes of another type.
        ValueError: unknown format, policy or choice; a code out of range; no axis; a block size
            that the packing cannot cut; an `out` that does not fit.

    Source: OCP MX v1.0 5.1 (not prescribed); SPEC_NOTES N32.

    >>> pack([0x2, 0xC, 0x7], "e2m1")
    array([194,   7], dtype=uint8)
    >>> bytes(pack([0x01, 0x12, 0x23, 0x34], "e3m2", fp6_packing="quark")).hex(" ")
    '1b 12 34'
    """
    fmt = element_format(format)
    chosen = resolve("pack", policy, choices).layout
    packing, size = _packing(fmt, chosen, block_size)
    array = codes_of(codes, fmt)
    if not array.ndim:
        raise ValueError("codes must have at least one axis, got a scalar: pass a list of one")
    *rows, count = array.shape
    packed = array_out(out, _U8, (*rows, packing.packed_size(count, size)), array)
    packing.pack(matrix(array), matrix(packed), size, threads)
    return packed


def unpack(
    packed: ArrayLike,
    format: str | ElementFormat,
    count: int,
    policy: str | Policy = "ocp",
    *,
    block_size: int = 32,
    out: U8 | None = None,
    threads: int | None = None,
    **choices: Unpack[PackChoices],
) -> U8:
    """The element codes that bytes hold: `pack` undone.

    Args:
        packed: bytes (..., size) as integers from 0 to 255.
        format: element format of 4, 6 or 8 bits, or its name.
        count: codes along the last axis; the bytes do not say how many of them are filler.
        policy: a `Policy` or its spelling.
        block_size: as in `pack`.
        out: where the codes go: a writable C-contiguous uint8 array of their shape.
        threads: as in `encode`.
        choices: as in `pack`.

    Returns:
        uint8 codes (..., count). Bits that hold no code, and codes past `count`, are ignored,
        since kernels leave anything there.

    Raises:
        TypeError: packed of another type.
        ValueError: unknown format, policy or choice; a number of bytes that does not belong to
            `count`; an `out` that does not fit.

    Source: SPEC_NOTES N32.

    >>> unpack([0xC2, 0x07], "e2m1", 3)
    array([ 2, 12,  7], dtype=uint8)
    """
    fmt = element_format(format)
    chosen = resolve("unpack", policy, choices).layout
    packing, size = _packing(fmt, chosen, block_size)
    array = codes_of(packed, BYTE, "packed")
    count = _natural("count", count, 0)
    wanted = packing.packed_size(count, size)
    if array.shape[-1:] != (wanted,):
        raise ValueError(
            f"packed must have {wanted} bytes along its last axis for {count} codes of {fmt.name}, "
            f"got shape {array.shape}"
        )
    codes = array_out(out, _U8, (*array.shape[:-1], count), array)
    packing.unpack(matrix(array), matrix(codes), size, threads)
    return codes


def packed_size(
    count: int,
    format: str | ElementFormat,
    policy: str | Policy = "ocp",
    *,
    block_size: int = 32,
    **choices: Unpack[PackChoices],
) -> int:
    """The number of bytes that `pack` makes of `count` codes.

    Args:
        count: codes along the last axis.
        format: as in `pack`.
        policy: a `Policy` or its spelling.
        block_size: as in `pack`.
        choices: as in `pack`.

    Raises:
        ValueError: unknown format, policy or choice; a negative count.

    Source: SPEC_NOTES N32.

    >>> [packed_size(n, "e3m2") for n in (0, 1, 4, 5, 32)]
    [0, 3, 3, 6, 24]
    """
    fmt = element_format(format)
    chosen = resolve("pack", policy, choices).layout
    packing, size = _packing(fmt, chosen, block_size)
    return packing.packed_size(_natural("count", count, 0), size)


def pack_blocks(
    scale_codes: ArrayLike,
    codes: ArrayLike,
    block_format: str | BlockFormat,
    policy: str | Policy = "ocp",
    *,
    out: U8 | None = None,
    threads: int | None = None,
    **choices: Unpack[PackBlocksChoices],
) -> U8:
    """Blocks as they are stored with their scale beside their elements.

    llama.cpp's MXFP4 is ``scale_place=before, fp4_packing=halves``, FBGEMM's MX4 is
    ``scale_place=after``, Quark's MX formats are ``scale_place=before, scale_byte=signed``, with
    ``fp6_packing=quark`` if they have 6 bits.

    Args:
        scale_codes: scale codes (..., blocks).
        codes: element codes (..., blocks * block size), whole blocks along the last axis: what
            `Blocks.codes` is if that is the block axis and `tail` is `zero_padded`.
        block_format: block format with blocks along one axis, or its name; a scale of the whole
            tensor is not stored.
        policy: a `Policy` or its spelling; its `scale_place` must not be `separate`.
        out: where the bytes go: a writable C-contiguous uint8 array of their shape.
        threads: as in `encode`.
        choices: `scale_place`, `scale_byte`, `fp4_packing`, `fp6_packing`.

    Returns:
        uint8 (..., blocks, bytes of a block). Every block is packed by itself.

    Raises:
        TypeError: codes of another type.
        ValueError: unknown format, policy or choice; a code out of range; shapes that do not belong
            together; a signed byte for a scale that is not E8M0; an `out` that does not fit.

    Source: OCP MX v1.0 5.1 (not prescribed), 5.4.1; SPEC_NOTES N32.

    >>> packed = pack_blocks([130], [1, 2, 3, 4] * 8, "mxfp4_e2m1", scale_place="before")
    >>> packed.shape, bytes(packed[0, :3]).hex(" ")
    ((1, 17), '82 21 43')
    """
    fmt, packing, size, chosen = _blocks(block_format, "pack_blocks", policy, choices)
    scales = codes_of(scale_codes, fmt.scale, "scale_codes")
    array = codes_of(codes, fmt.element)
    if not scales.ndim:
        raise ValueError(
            "scale_codes must have at least one axis, got a scalar: pass a list of one"
        )
    wanted = (*scales.shape[:-1], scales.shape[-1] * size)
    if array.shape != wanted:
        raise ValueError(
            f"codes must have shape {wanted} for scale_codes of shape {scales.shape} with block "
            f"size {size}, got {array.shape}"
        )
    width = 1 + packing.packed_size(size, size)
    packed = array_out(out, _U8, (*scales.shape, width), array, scales)
    rows = matrix(packed)
    before = chosen.scale_place is ScalePlace.BEFORE
    offset = E8M0.bias if chosen.scale_byte is ScaleByte.SIGNED else 0
    np.subtract(scales.reshape(-1), np.uint8(offset), out=rows[:, 0 if before else -1])  # mod 256
    elements = rows[:, 1:] if before else rows[:, :-1]
    packing.pack(array.reshape(len(rows), size), elements, size, threads)
    return packed


def unpack_blocks(
    packed: ArrayLike,
    block_format: str | BlockFormat,
    policy: str | Policy = "ocp",
    *,
    out: tuple[U8, U8] | None = None,
    threads: int | None = None,
    **choices: Unpack[PackBlocksChoices],
) -> tuple[U8, U8]:
    """Scale codes and element codes of stored blocks: `pack_blocks` undone.

    Args:
        packed: bytes (..., blocks, bytes of a block) as integers from 0 to 255.
        block_format: as in `pack_blocks`.
        policy: a `Policy` or its spelling.
        out: where scale codes and codes go: writable C-contiguous uint8 arrays of the shapes that
            come back.
        threads: as in `encode`.
        choices: as in `pack_blocks`.

    Returns:
        uint8 scale codes (..., blocks) and codes (..., blocks * block size). Bits that hold no code
        are ignored.

    Raises:
        TypeError: packed of another type.
        ValueError: unknown format, policy or choice; blocks of another number of bytes; a byte that
            is no code of the scale format; an `out` that does not fit.

    Source: SPEC_NOTES N32.

    >>> gguf = {"scale_place": "before", "fp4_packing": "halves"}
    >>> scale_codes, codes = unpack_blocks([[0x82, *range(0x10, 0x20)]], "mxfp4_e2m1", **gguf)
    >>> scale_codes.tolist(), codes[:3].tolist(), codes[16:19].tolist()
    ([130], [0, 1, 2], [1, 1, 1])
    """
    fmt, packing, size, chosen = _blocks(block_format, "unpack_blocks", policy, choices)
    array = codes_of(packed, BYTE, "packed")
    wanted = 1 + packing.packed_size(size, size)
    if array.ndim < 2 or array.shape[-1] != wanted:
        raise ValueError(
            f"packed must have shape (..., blocks, {wanted}) for {fmt.name} with block size "
            f"{size}, got {array.shape}"
        )
    at = 0 if chosen.scale_place is ScalePlace.BEFORE else wanted - 1
    offset = E8M0.bias if chosen.scale_byte is ScaleByte.SIGNED else 0
    read = np.add(array[..., at], np.uint8(offset))  # modulo 256
    codes_of(read, fmt.scale, "scale bytes of packed")
    if out is not None and not (isinstance(out, tuple) and len(out) == 2):
        raise TypeError(f"out must be a tuple of scale codes and codes, got {type(out).__name__}")
    *outer, blocks = read.shape
    scales_out, codes_out = out or (None, None)
    scales = array_out(scales_out, _U8, read.shape, array)
    codes = array_out(codes_out, _U8, (*outer, blocks * size), array, scales)
    scales[...] = read
    rows = matrix(array)
    elements = rows[:, 1:] if at == 0 else rows[:, :-1]
    packing.unpack(elements, codes.reshape(len(rows), size), size, threads)
    return scales, codes


def _packing(fmt: ElementFormat, layout: LayoutPolicy, block_size: int) -> tuple[Packing, int]:
    """The packing of a format's codes, and the block size, checked."""
    size = _natural("block_size", block_size, 1)
    if fmt.bits == 8:
        return BYTES, size
    if fmt.bits not in (4, 6):
        raise ValueError(f"format must have 4, 6 or 8 bits, got {fmt.name} with {fmt.bits}")
    choice = layout.fp4_packing if fmt.bits == 4 else layout.fp6_packing
    packing = PACKINGS[choice]
    if packing.planar and size % packing.codes:
        raise ValueError(
            f"block_size must be a multiple of {packing.codes} for "
            f"fp{fmt.bits}_packing={choice.value}, got {size}"
        )
    return packing, size


def _blocks(
    name: str | BlockFormat, operation: str, policy: str | Policy, choices: Mapping[str, Any]
) -> tuple[BlockFormat, Packing, int, LayoutPolicy]:
    """Format, packing, block size and layout of a call for whole blocks, checked."""
    fmt = block_format(name)
    if not isinstance(fmt.block_size, int):
        raise ValueError(
            f"block_format must have blocks along one axis, got {fmt.name} with block size "
            f"{fmt.block_size}: pack its codes alone with pack"
        )
    layout = resolve(operation, policy, choices).layout
    packing, size = _packing(fmt.element, layout, fmt.block_size)
    if fmt.scale.bits > 8:
        raise ValueError(
            f"block_format must have a scale of one byte to be beside its block, got {fmt.name} "
            f"with {fmt.scale.name}: pack the codes alone with pack"
        )
    if layout.scale_place is ScalePlace.SEPARATE:
        raise ValueError(
            "scale_place must be before or after for whole blocks, got separate: pack the codes "
            "alone with pack"
        )
    if layout.scale_byte is ScaleByte.SIGNED and fmt.scale != E8M0:
        raise ValueError(
            f"scale_byte must be biased for a scale that is not e8m0, got signed for "
            f"{fmt.scale.name} of {fmt.name}"
        )
    return fmt, packing, size, layout


def _natural(parameter: str, value: int, least: int) -> int:
    number = integer(value, parameter)
    if number < least:
        raise ValueError(f"{parameter} must be at least {least}, got {number}")
    return number
