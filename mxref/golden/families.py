"""The exhaustive families of level 2: one operation, format, float type and policy each."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS
from mxref.cases.product import product_blocks
from mxref.formats.catalog import BLOCK_FORMATS, E8M0, ELEMENT_FORMATS, MX_BLOCKS, Specials
from mxref.golden.designed_blocks import resized
from mxref.golden.integer_families import integer_chunks
from mxref.golden.lane_blocks import lane_blocks
from mxref.operations.registry import CALL_OPERATIONS
from mxref.policy.policy import Policy
from mxref.policy.scale_rule import ScaleRule

__all__ = ["Family", "default_families", "families", "products", "select"]

Words = NDArray[Any]
#: Float types with every pattern as an input.
_SHORT = ("bf16", "f16")
#: Float types whose lane blocks are too large for files.
_LANES = ("f16", "f64")


@dataclass(frozen=True, slots=True)
class Family:
    """A family of cases.

    Args:
        op: operation.
        format: element, scale or block format.
        float: type of the float side.
        policy: the policy's spelling.
        inputs: a description of the inputs, in their order.
        chunks: yields the input words, one case a row, in parts of any size.
    """

    op: str
    format: str
    float: str
    policy: str
    inputs: str
    chunks: Callable[[], Iterator[Words]]

    @property
    def name(self) -> str:
        """The name, as in ``encode.e2m1.bf16.ocp+rounding=to_odd``."""
        return f"{self.op}.{self.format}.{self.float}.{self.policy}"


def families() -> list[Family]:
    """Every family, in the order of the manifest."""
    numbers = [*_encode(), *_decode(), *_dequantize(), *_encode_scale(), *_shared_scale()]
    return [*numbers, *_pack(), *_quantize(), *_lanes(), *_integers()]


def default_families() -> list[Family]:
    """The families that `mxref verify` asks by default: few cases, but too large for stored files.

    >>> [family.name for family in default_families() if family.format == "mxint8"][3:]
    ['dequantize.mxint8.f64.ocp', 'quantize.mxint8.f16.ocp', 'quantize.mxint8.f64.ocp']
    """
    return [*_dequantize(), *_lanes()]


def select(beginning: str | None = None) -> list[Family]:
    """The families whose names start with `beginning`; all if it is None.

    >>> [family.name for family in select("dequantize.mxint8")]
    ['dequantize.mxint8.f32.ocp', ..., 'dequantize.mxint8.f64.ocp']

    Raises:
        ValueError: no name does.
    """
    every = families()
    found = [family for family in every if family.name.startswith(beginning or "")]
    if not found:
        raise ValueError(
            f"--only must be the beginning of a family's name, got {beginning!r}: "
            f"such as {every[0].name}"
        )
    return found


def _range(count: int) -> Iterator[Words]:
    yield np.arange(count, dtype=np.uint32)[:, np.newaxis]


def _policies(**choices: list[str]) -> list[str]:
    """Policies with every combination of members."""
    found = [Policy()]
    for name, members in choices.items():
        found = [policy.replace(**{name: member}) for policy in found for member in members]
    return [str(policy) for policy in found]


def _members(choice: str) -> list[str]:
    values = [member.value for member in Policy.members(choice)]
    return [value for value in values if not value.startswith("stochastic")]


def _encode() -> Iterator[Family]:
    every = partial(_range, 1 << 16)
    for fmt in ELEMENT_FORMATS.values():
        choices = {"rounding": _members("rounding")}
        if fmt.specials is not Specials.NONE:
            choices["overflow"] = _members("overflow")
        for float in _SHORT:
            for policy in _policies(**choices):
                yield Family("encode", fmt.name, float, policy, "0000 to ffff", every)


def _decode() -> Iterator[Family]:
    for fmt in ELEMENT_FORMATS.values():
        for float in LAYOUTS:
            every = partial(_range, fmt.code_count)
            yield Family("decode", fmt.name, float, "ocp", "every code", every)
    for float in LAYOUTS:
        every = partial(_range, E8M0.code_count)
        yield Family("decode_scale", E8M0.name, float, "ocp", "every code", every)


def _dequantize() -> Iterator[Family]:
    about = (
        "scales 00 to ff, for each the element codes in order, 32 a block, the last one repeated"
    )
    for block in BLOCK_FORMATS:
        for float in LAYOUTS:
            yield Family("dequantize", block, float, "ocp", about, partial(products, block))


def products(block: str) -> Iterator[Words]:
    """Every element code under every scale code of a block format, a scale before its block."""
    fmt = BLOCK_FORMATS[block]
    count, size = fmt.element.code_count, fmt.elements_per_block
    codes = np.minimum(np.arange(-(-count // size) * size), count - 1).reshape(-1, size)
    scales = np.repeat(np.arange(fmt.scale.code_count), len(codes))[:, np.newaxis]
    codes = np.tile(codes, (fmt.scale.code_count, 1))
    yield np.concatenate([scales, codes], axis=1).astype(np.uint8)


def _encode_scale() -> Iterator[Family]:
    every = partial(_range, 1 << 16)
    for float in _SHORT:
        for policy in _policies(scale_rounding=_members("scale_rounding")):
            yield Family("encode_scale", E8M0.name, float, policy, "0000 to ffff", every)


def _shared_scale() -> Iterator[Family]:
    every = partial(_range, 1 << 15)
    for fmt in ELEMENT_FORMATS.values():
        for float in _SHORT:
            for policy in _policies(scale_rule=[rule.value for rule in ScaleRule]):
                yield Family("shared_scale", fmt.name, float, policy, "0000 to 7fff", every)


def _pack() -> Iterator[Family]:
    quads = "every four codes, 0000 to ffff, the first one in the highest digit"
    pairs = "every two codes in every two of four places, the others 15 and 2a"
    for policy in _policies(fp4_packing=_members("fp4_packing")):
        yield Family("pack", "e2m1", "bytes", policy, quads, _quads)
    for name in ("e3m2", "e2m3"):
        for policy in _policies(fp6_packing=_members("fp6_packing")):
            yield Family("pack", name, "bytes", policy, pairs, _pairs)


def _quads() -> Iterator[Words]:
    numbers = np.arange(1 << 16)[:, np.newaxis]
    yield (numbers >> np.array([12, 8, 4, 0]) & 15).astype(np.uint8)


def _pairs() -> Iterator[Words]:
    first, second = np.divmod(np.arange(1 << 12), 64)
    for places in itertools.combinations(range(4), 2):
        codes = np.tile(np.array([0x15, 0x2A, 0x15, 0x2A], np.uint8), (len(first), 1))
        codes[:, places[0]], codes[:, places[1]] = first, second
        yield codes


def _quantize() -> Iterator[Family]:
    about = "every scale code with every odd-rounded key: mxref.cases.product"
    for block in MX_BLOCKS:
        for text in _policies(scale_rule=["floor", "rceil", "even"]):
            chunks = partial(product_blocks, block, Policy.parse(text))
            yield Family("quantize", block, "f32", text, about, chunks)


def _lanes() -> Iterator[Family]:
    about = "specials and largest elements in every lane: mxref.golden.lane_blocks"
    for block in BLOCK_FORMATS:
        for float in _LANES:
            chunks = partial(_lane_words, block, float)
            yield Family("quantize", block, float, "ocp", about, chunks)


def _integers() -> Iterator[Family]:
    for op, format, policies, about, chunks in integer_chunks():
        for policy in policies:
            yield Family(op, format, CALL_OPERATIONS[op].slot_of(format), policy, about, chunks)


def _lane_words(block: str, float: str) -> Iterator[Words]:
    fmt, layout = BLOCK_FORMATS[block], LAYOUTS[float]
    blocks = [
        words
        for name, inputs in lane_blocks(fmt.element, layout)
        for _, words in resized(name, inputs, fmt.elements_per_block, layout)
    ]
    yield np.array(blocks, np.uint64).astype(layout.uint)
