"""The questions of the ledger: level 1, every input where they are few, and random inputs.

`quantize` of float32 gets the block product (`mxref.cases.product`), `dequantize` every element
code under every scale code, and an operation on single 16-bit floats gets all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F32, LAYOUTS
from mxref.cases.product import scale_blocks, scale_range
from mxref.cases.random_blocks import random_blocks
from mxref.cases.records import VectorFile
from mxref.formats.catalog import (
    BLOCK_FORMATS,
    E2M1,
    E8M0,
    ELEMENT_FORMATS,
    OTHER_FORMATS,
    ElementFormat,
    element_format,
)
from mxref.golden.level2 import products
from mxref.operations.registry import LAYOUT_OPERATIONS
from mxref.policy.policy import Policy

__all__ = ["ELEMENTS", "random_elements", "rounds"]

Words = NDArray[np.uint64]
#: Random elements of one adapter.
ELEMENTS = 10_000_000
#: Random elements of an operation on single floats, if the adapter has `quantize` too.
_BESIDE = 1 << 18
#: Blocks of one round, and blocks in the last round, which may hold NaN and infinities.
_BLOCKS, _SPECIAL = 1 << 14, 1 << 12
_FROM_FLOATS = ("encode", "encode_scale", "shared_scale")


def random_elements(files: Sequence[VectorFile], elements: int = ELEMENTS) -> dict[str, int]:
    """The number of random elements for each file, by its stem.

    The files of `quantize` share them; without `quantize`, the operations on single floats of 32
    and 64 bits do.
    """
    blocks = [file.stem for file in files if file.op == "quantize"]
    floats = [file.stem for file in files if file.op in _FROM_FLOATS and not _is_short(file)]
    main = blocks or floats
    beside = {stem: min(_BESIDE, elements) for stem in floats if blocks}
    return beside | {stem: -(-elements // len(main)) for stem in main}


def rounds(
    file: VectorFile, policy: Policy, elements: int, share: int = 1, *, product: bool = True
) -> Iterator[tuple[str, Words]]:
    """Input words in rounds, one case a row, each round with the name of its origin.

    Args:
        file: with its cases of level 1.
        policy: the policy whose scale rule shapes the block product.
        elements: the number of random elements.
        share: ask 1 of `share` scales of the block product, and 1 of `share` random elements.
        product: whether to ask the block product.
    """
    if file.cases:
        yield "level 1", file.input_words()
    match file.op:
        case "decode":
            yield "every input", _column(element_format(file.format).code_count)
        case "decode_scale":
            yield "every input", _column(E8M0.code_count)
        case "dequantize":
            every = [words.astype(np.uint64) for words in products(file.format)]
            yield "every input", np.concatenate(every)
        case "quantize":
            if file.float == F32.name and product:
                yield from _product(BLOCK_FORMATS[file.format].element, policy, share)
            yield from _random(file, elements // share)
        case "encode" | "encode_scale" | "shared_scale":
            if _is_short(file):
                width = LAYOUTS[file.float].width - (file.op == "shared_scale")
                yield from _nan_apart(file, "every input", _column(1 << width))
            else:
                yield from _random(file, elements // share)
        case op if op not in LAYOUT_OPERATIONS:
            raise ValueError(f"op must be one that the ledger asks, got {op}")


def _is_short(file: VectorFile) -> bool:
    return file.float in LAYOUTS and LAYOUTS[file.float].width == 16


def _column(count: int) -> Words:
    return np.arange(count, dtype=np.uint64)[:, np.newaxis]


def _product(fmt: ElementFormat, policy: Policy, share: int) -> Iterator[tuple[str, Words]]:
    """The block product in rounds of at least `_BLOCKS` blocks."""
    waiting: list[Words] = []
    rule = Policy().replace(scale_rule=policy.choices()["scale_rule"])
    for scale in scale_range(fmt, rule)[::share]:
        waiting.append(scale_blocks(fmt, *scale).astype(np.uint64))
        if sum(map(len, waiting)) >= _BLOCKS:
            yield "block product", np.concatenate(waiting)
            waiting = []
    if waiting:
        yield "block product", np.concatenate(waiting)


def _random(file: VectorFile, elements: int) -> Iterator[tuple[str, Words]]:
    layout = LAYOUTS[file.float]
    # The operation of scales has no element format.
    fmt = {**ELEMENT_FORMATS, **OTHER_FORMATS}.get(file.format, E2M1)
    if file.op == "quantize":
        fmt = BLOCK_FORMATS[file.format].element
    count = -(-elements // 32)
    for start in range(0, count, _BLOCKS):
        some = min(_BLOCKS, count - start)
        yield "random", _cases(file, random_blocks(file.stem, layout, fmt, some, start))
    special = min(_SPECIAL if file.op == "quantize" else _SPECIAL // 32, count)
    words = random_blocks(f"{file.stem} specials", layout, fmt, special, specials=True)
    yield from _nan_apart(file, "random", _cases(file, words))


def _nan_apart(file: VectorFile, origin: str, words: Words) -> Iterator[tuple[str, Words]]:
    """Inputs without NaN, then those with it: of a round that raises each case is asked again."""
    layout = LAYOUTS[file.float]
    nan = (words & np.uint64(layout.sign_bit - 1) > layout.inf_bits).any(axis=1)
    yield from ((origin, part) for part in (words[~nan], words[nan]) if len(part))


def _cases(file: VectorFile, blocks: Words) -> Words:
    """Blocks for `quantize`, else their elements one by one; magnitudes for `shared_scale`."""
    if file.op == "quantize":
        return blocks
    mask = LAYOUTS[file.float].sign_bit - 1 if file.op == "shared_scale" else -1
    return (blocks & np.uint64(mask & ((1 << 64) - 1))).reshape(-1, 1)
