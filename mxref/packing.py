"""Packed bytes: element codes into bytes and back, alone or with the scale of their block."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from mxref._bits import U8
from mxref._codes import codes_of
from mxref._packings import BYTES, PACKINGS, Packing
from mxref.choices import ScaleByte, ScalePlace
from mxref.formats import E8M0, BlockFormat, CodeFormat, ElementFormat, block_format, element_format
from mxref.policy import LayoutPolicy, Policy, resolve

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from mxref.policy import PackBlocksChoices, PackChoices

__all__ = ["pack", "pack_blocks", "packed_size", "unpack", "unpack_blocks"]

#: What packed bytes are checked as.
BYTE = CodeFormat("bytes", 8, 0, 0, signed=False)


def pack(
    codes: ArrayLike,
    format: str | ElementFormat,
    policy: str | Policy = "ocp",
    *,
    block_size: int = 32,
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
        choices: `fp4_packing`, read for 4-bit formats, and `fp6_packing`, read for 6-bit ones.

    Returns:
        uint8 (..., `packed_size(n, format)`). Codes that do not fill their last bytes, or in the
        two packings above their last block, are filled up with code 0.

    Raises:
        TypeError: codes of another type.
        ValueError: unknown format, policy or choice; a code out of range; no axis; a block size
            that the packing cannot cut.

    Source: OCP MX v1.0 §5.1 (not prescribed); SPEC_NOTES N32.

    >>> pack([0x2, 0xC, 0x7], "e2m1")
    array([194,   7], dtype=uint8)
    >>> bytes(pack([0x01, 0x12, 0x23, 0x34], "e3m2", fp6_packing="quark")).hex(" ")
    '1b 12 34'
    """
    fmt = element_format(format)
    chosen = resolve("pack", policy, choices).layout
    size = _natural("block_size", block_size, 1)
    packing = _packing(fmt, chosen, size)
    array = codes_of(codes, fmt)
    if not array.ndim:
        raise ValueError("codes must have at least one axis, got a scalar: pass a list of one")
    return packing.pack(array, size)


def unpack(
    packed: ArrayLike,
    format: str | ElementFormat,
    count: int,
    policy: str | Policy = "ocp",
    *,
    block_size: int = 32,
    **choices: Unpack[PackChoices],
) -> U8:
    """The element codes that bytes hold: `pack` undone.

    Args:
        packed: bytes (..., size) as integers from 0 to 255.
        format: element format of 4, 6 or 8 bits, or its name.
        count: codes along the last axis; the bytes do not say how many of them are filler.
        policy: a `Policy` or its spelling.
        block_size: as in `pack`.
        choices: as in `pack`.

    Returns:
        uint8 codes (..., count). Bits that hold no code and codes past `count` are not looked at,
        since kernels leave anything there.

    Raises:
        TypeError: packed of another type.
        ValueError: unknown format, policy or choice; a number of bytes that does not belong to
            `count`.

    Source: SPEC_NOTES N32.

    >>> unpack([0xC2, 0x07], "e2m1", 3)
    array([ 2, 12,  7], dtype=uint8)
    """
    fmt = element_format(format)
    chosen = resolve("unpack", policy, choices).layout
    size = _natural("block_size", block_size, 1)
    packing = _packing(fmt, chosen, size)
    array = codes_of(packed, BYTE, "packed")
    count = _natural("count", count, 0)
    wanted = packing.packed_size(count, size)
    if array.shape[-1:] != (wanted,):
        raise ValueError(
            f"packed must have {wanted} bytes along its last axis for {count} codes of {fmt.name}, "
            f"got shape {array.shape}"
        )
    return packing.unpack(array, count, size)


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
    size = _natural("block_size", block_size, 1)
    packing = _packing(fmt, chosen, size)
    return packing.packed_size(_natural("count", count, 0), size)


def pack_blocks(
    scale_codes: ArrayLike,
    codes: ArrayLike,
    block_format: str | BlockFormat,
    policy: str | Policy = "ocp",
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
        choices: `scale_place`, `scale_byte`, `fp4_packing`, `fp6_packing`.

    Returns:
        uint8 (..., blocks, bytes of a block). Every block is packed by itself.

    Raises:
        TypeError: codes of another type.
        ValueError: unknown format, policy or choice; a code out of range; shapes that do not belong
            together; a signed byte for a scale that is not E8M0.

    Source: OCP MX v1.0 §5.1 (not prescribed), §5.4.1; SPEC_NOTES N32.

    >>> packed = pack_blocks([130], [1, 2, 3, 4] * 8, "mxfp4_e2m1", scale_place="before")
    >>> packed.shape, bytes(packed[0, :3]).hex(" ")
    ((1, 17), '82 21 43')
    """
    fmt, size = _blocks(block_format)
    chosen = resolve("pack_blocks", policy, choices).layout
    packing = _packing(fmt.element, chosen, size)
    _check_scale(fmt, chosen)
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
    elements = packing.pack(array.reshape(*scales.shape, size), size)
    if chosen.scale_byte is ScaleByte.SIGNED:
        scales = np.subtract(scales, np.uint8(E8M0.bias))  # modulo 256
    parts = [scales[..., np.newaxis], elements]
    return np.concatenate(parts if chosen.scale_place is ScalePlace.BEFORE else parts[::-1], -1)


def unpack_blocks(
    packed: ArrayLike,
    block_format: str | BlockFormat,
    policy: str | Policy = "ocp",
    **choices: Unpack[PackBlocksChoices],
) -> tuple[U8, U8]:
    """Scale codes and element codes of stored blocks: `pack_blocks` undone.

    Args:
        packed: bytes (..., blocks, bytes of a block) as integers from 0 to 255.
        block_format: as in `pack_blocks`.
        policy: a `Policy` or its spelling.
        choices: as in `pack_blocks`.

    Returns:
        uint8 scale codes (..., blocks) and codes (..., blocks * block size). Bits that hold no code
        are not looked at.

    Raises:
        TypeError: packed of another type.
        ValueError: unknown format, policy or choice; blocks of another number of bytes; a byte that
            is no code of the scale format.

    Source: SPEC_NOTES N32.

    >>> gguf = {"scale_place": "before", "fp4_packing": "halves"}
    >>> scale_codes, codes = unpack_blocks([[0x82, *range(0x10, 0x20)]], "mxfp4_e2m1", **gguf)
    >>> scale_codes.tolist(), codes[:3].tolist(), codes[16:19].tolist()
    ([130], [0, 1, 2], [1, 1, 1])
    """
    fmt, size = _blocks(block_format)
    chosen = resolve("unpack_blocks", policy, choices).layout
    packing = _packing(fmt.element, chosen, size)
    _check_scale(fmt, chosen)
    array = codes_of(packed, BYTE, "packed")
    wanted = 1 + packing.packed_size(size, size)
    if array.ndim < 2 or array.shape[-1] != wanted:
        raise ValueError(
            f"packed must have shape (..., blocks, {wanted}) for {fmt.name} with block size "
            f"{size}, got {array.shape}"
        )
    at = 0 if chosen.scale_place is ScalePlace.BEFORE else wanted - 1
    scales = array[..., at].copy()
    if chosen.scale_byte is ScaleByte.SIGNED:
        np.add(scales, np.uint8(E8M0.bias), out=scales)  # modulo 256
    scales = codes_of(scales, fmt.scale, "scale bytes of packed")
    elements = array[..., 1:] if at == 0 else array[..., :-1]
    codes = packing.unpack(elements, size, size)
    return scales, codes.reshape(*scales.shape[:-1], scales.shape[-1] * size)


def _packing(fmt: ElementFormat, layout: LayoutPolicy, block_size: int) -> Packing:
    if fmt.bits == 8:
        return BYTES
    if fmt.bits not in (4, 6):
        raise ValueError(f"format must have 4, 6 or 8 bits, got {fmt.name} with {fmt.bits}")
    name = f"fp{fmt.bits}_packing"
    choice = layout.fp4_packing if fmt.bits == 4 else layout.fp6_packing
    packing = PACKINGS[choice]
    if packing.planar and block_size % packing.codes:
        raise ValueError(
            f"block_size must be a multiple of {packing.codes} for {name}={choice.value}, "
            f"got {block_size}"
        )
    return packing


def _blocks(name: str | BlockFormat) -> tuple[BlockFormat, int]:
    fmt = block_format(name)
    if not isinstance(fmt.block_size, int):
        raise ValueError(
            f"block_format must have blocks along one axis, got {fmt.name} with block size "
            f"{fmt.block_size}: pack its codes alone with pack"
        )
    return fmt, fmt.block_size


def _check_scale(fmt: BlockFormat, layout: LayoutPolicy) -> None:
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


def _natural(parameter: str, value: int, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{parameter} must be an integer, got {type(value).__name__}") from None
    if number < least:
        raise ValueError(f"{parameter} must be at least {least}, got {number}")
    return number
