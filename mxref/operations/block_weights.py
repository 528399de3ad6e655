"""`matmul_nbits` of onnxruntime: weights of 2 or 4 bits in blocks, with scales and zero points.

Words of a case: rows M of x, outputs N, K, codes of a block, and then the scales (N, G), the bytes
of the codes, those of the zero points in formats that end in `_zeros` or `_long`, and x (M, K).
G is K over the codes of a block, rounded up. The blocks of `uint4_long` have more than 256 codes,
which onnxruntime refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F32, patterns
from mxref.exact import integer as slow
from mxref.integer.nbits import matmul_nbits, nbits_weights
from mxref.operands.case_input import CaseInput
from mxref.operands.draws import Draws, Ints
from mxref.operands.fields import Field, joined, parts_of
from mxref.operands.kinds import Bytes, Floats, Scales, Size
from mxref.operations.asked_call import AskedCall
from mxref.operations.filled_axes import FilledAxes
from mxref.operations.operation import Words
from mxref.operations.weight_only import WeightOnlyOperation
from mxref.operations.weight_only_draws import drawn_layer, exact_layer

__all__ = ["MatmulNbits"]

Array = NDArray[Any]
_ONE = 0x3F800000
_BLOCKS, _LONG_BLOCKS = (16, 32, 64, 128, 256), (512, 1024)


class MatmulNbits(WeightOnlyOperation):
    """The product of x and the transpose of (codes - zero points) * scales."""

    name = "matmul_nbits"
    axes_filled = FilledAxes(("mk", "ngb", "=ng", "nz"), ("mn",))
    parameters = "x, packed, scales, zero_points, bits"
    formats = ("uint4", "uint4_zeros", "uint2", "uint2_zeros", "uint4_long")
    reach = 31
    models = {  # noqa: RUF012
        "M29": "weights in blocks: every code under every zero point, blocks of each length, rows "
        "that end inside of a block, sums that no order changes, infinities, NaN"
    }

    def fields(self, format: str) -> tuple[Field, ...]:
        """The sizes, the scales, the bytes and x."""
        bits = _bits(format)
        zeros = Field("zero_points", Bytes(), _shape(lambda n, g, size: (n, -(-g * bits // 8))))
        return (
            *(Field(name, Size()) for name in ("m", "n", "k")),
            Field("block_size", Size(least=16)),
            Field("scales", Scales(), _shape(lambda n, g, size: (n, g))),
            Field("packed", Bytes(), _shape(lambda n, g, size: (n, g, size * bits // 8))),
            *((zeros,) if _has_zeros(format) else ()),
            Field("x", Floats(), ("m", "k")),
        )

    def check(self, format: str, values: Mapping[str, Any]) -> None:
        """Blocks have a power of two of codes."""
        block = values["block_size"]
        blocks = _LONG_BLOCKS if format.endswith("_long") else _BLOCKS
        if block not in blocks:
            raise ValueError(f"block_size must be one of {blocks} in {format}, got {block}")

    def argument_names(self, format: str) -> tuple[str, ...]:
        """The zero points may be None."""
        return tuple(self.parameters.split(", "))

    def arguments(self, format: str, values: Mapping[str, Any]) -> tuple[Any, ...]:
        """The arrays, and the bits of a code.

        >>> from mxref.operations.registry import CALL_OPERATIONS
        >>> call = CALL_OPERATIONS["matmul_nbits"].call
        >>> x, packed, scales, zero_points, bits = call(
        ...     "uint2", (1, 1, 1, 16, 0x3F800000, 1, 2, 3, 4, 0)
        ... ).arguments
        >>> packed.tolist(), scales.tolist(), zero_points, bits
        ([[[1, 2, 3, 4]]], [[1.0]], None, 2)
        """
        arrays = values["x"], values["packed"], values["scales"]
        return *arrays, values.get("zero_points"), _bits(format)

    def units(self, format: str) -> dict[str, str]:
        """Rows, outputs and columns."""
        return {"m": "rows", "n": "outputs", "k": "columns"}

    def easy(self, format: str, slot: str) -> tuple[int, ...]:
        """One zero in a block of zeros."""
        bits = _bits(format)
        block, zero = (_LONG_BLOCKS if format.endswith("_long") else _BLOCKS)[0], _middle(bits)
        zeros = [zero] if _has_zeros(format) else []
        return 1, 1, 1, block, _ONE, *[zero] * (block * bits // 8), *zeros, 0

    def operands(self, arguments: Sequence[Any], nibbles: str) -> tuple[Array, Array, Array]:
        """Integers of whole blocks, which are 0 behind K."""
        x, packed, scales, zero_points, bits = arguments
        return (*filled_up(x, nbits_weights(packed, zero_points, bits)), scales)

    def outputs(
        self, format: str, words: Words, nibbles: str
    ) -> list[tuple[list[int], list[int], list[int]]]:
        """Integers of whole blocks, which are 0 behind K."""
        x, packed, scales, zero_points, bits = self.call(format, words).arguments
        k, groups, rows = x.shape[1], packed.shape[1], []
        for j, bytes_ in enumerate(packed.reshape(len(packed), -1).tolist()):
            zeros = None if zero_points is None else zero_points[j].tolist()
            row = slow.nbits_weights(bytes_, zeros, groups, bits)
            rows.append(row[:k] + [0] * (len(row) - k))
        beyond = [0] * (len(rows[0]) - k)
        factors = scales.view(np.uint32).tolist()
        return [
            (row + beyond, codes, own)
            for row in x.view(np.uint32).tolist()
            for codes, own in zip(rows, factors, strict=True)
        ]

    def run(self, call: AskedCall, choices: Mapping[str, Any]) -> Array:
        """The numbers, by the fast path."""
        return matmul_nbits(*call.arguments, **choices)

    def question(self, format: str, draws: Draws, number: int) -> Ints:
        """A small layer: half are exact in every order."""
        bits, long = _bits(format), format.endswith("_long")
        m, n = (int(draws.between(1, most)) for most in (3, 2 if long else 4))
        block = _LONG_BLOCKS[0] if long else _BLOCKS[int(draws.between(0, 1))]
        k = int(draws.between(block - 8, block + 8) if long else draws.between(1, 70))
        groups = -(-k // block)
        scales, x = drawn_layer(draws, (m, k), (n, groups), number)
        sign = draws.one_in((n, groups), 4)
        scales = np.where(draws.one_in((n, groups), 16), 0, scales | np.where(sign, 1 << 31, 0))
        packed = draws.between(0, 255, (n, groups * block * bits // 8))
        zeros = draws.between(0, 255, (n, -(-groups * bits // 8) * _has_zeros(format)))
        return np.concatenate([[m, n, k, block], *map(np.ravel, (scales, packed, zeros, x))])

    def sized(self, format: str, sizes: Sequence[int], draws: Draws) -> AskedCall:
        """Numbers of which no order of additions rounds a sum, in blocks of any length."""
        m, n, k = sizes
        bits, blocks = _bits(format), _LONG_BLOCKS if format.endswith("_long") else _BLOCKS
        block = blocks[int(draws.between(0, len(blocks) - 1))]
        groups = -(-k // block)
        x, scales = exact_layer(draws, (m, k), (n, groups), self.reach)
        packed = draws.between(0, 255, (n, groups, block * bits // 8)).astype(np.uint8)
        zeros = draws.between(0, 255, (n, -(-groups * bits // 8))).astype(np.uint8)
        arguments = (x, packed, scales, zeros if _has_zeros(format) else None, bits)
        return AskedCall(arguments, np.dtype(np.float32), (m, n))

    def smaller(self, format: str, words: Words) -> Iterator[Words]:
        """Also one output alone, and the first block alone."""
        fields = self.fields(format)
        parts = parts_of(fields, words)
        arrays = [name for name in ("scales", "packed", "zero_points") if name in parts]
        for j in range(int(parts["n"]) if parts["n"] > 1 else 0):
            yield joined(fields, {**parts, "n": 1, **{one: parts[one][j] for one in arrays}})
        block = int(parts["block_size"])
        if parts["k"] > block:
            cut: dict[str, Any] = {one: parts[one][:, :1] for one in arrays}
            yield joined(fields, {**parts, "k": block, **cut, "x": parts["x"][:, :block]})
        yield from super().smaller(format, words)

    def designed(self, format: str) -> Iterable[CaseInput]:
        """See the model M29."""
        for name, parts, flags in _layers(format):
            words = joined(self.fields(format), parts)
            yield CaseInput(name, words, "M29", flags)
        for i in range(4 if format.endswith("_long") else 32):
            drawn = self.question(format, Draws(f"{self.name} {format} {i}"), i) & 0xFFFFFFFF
            yield CaseInput(f"drawn_{i}", tuple(drawn.tolist()), "M29")


def filled_up(x: Array, integers: Array) -> tuple[Array, Array]:
    """Inputs and the integers of whole blocks: behind K both are 0.

    >>> [part.tolist() for part in filled_up(np.float32([[2]]), np.int8([[3, 4]]))]
    [[[2.0, 0.0]], [[3, 0]]]
    """
    k = x.shape[1]
    integers = integers.copy()
    integers[:, k:] = 0
    return np.pad(x, [(0, 0), (0, integers.shape[1] - k)]), integers


def _bits(format: str) -> int:
    return int(format[4])


def _has_zeros(format: str) -> bool:
    return format.endswith(("_zeros", "_long"))


def _middle(bits: int) -> int:
    """The byte of codes that are 2**(bits - 1)."""
    return 0x88 if bits == 4 else 0xAA


def _shape(
    of: Callable[[int, int, int], tuple[int, ...]],
) -> Callable[[Mapping[str, int]], tuple[int, ...]]:
    """The shape of a field by the outputs, the blocks of each and the codes of a block."""
    return lambda sizes: of(sizes["n"], -(-sizes["k"] // sizes["block_size"]), sizes["block_size"])


def _layers(format: str) -> Iterator[tuple[str, dict[str, Any], tuple[str, ...]]]:
    """Names, fields and flags of designed cases."""
    bits, long = _bits(format), format.endswith("_long")
    if long:
        for block, k in ((512, 1), (512, 512), (512, 513), (1024, 1024)):
            yield f"block_{block}_{k}", _ramp(format, 1, k, block), ()
        return
    count = 1 << bits
    codes = np.tile(np.arange(16) % count, (count, 1, 1))
    every = {
        "m": 16, "n": count, "k": 16, "block_size": 16,
        "x": patterns(np.eye(16, dtype=np.float32), F32),
        "packed": _packed(codes, bits), "zero_points": _packed(np.arange(count)[:, None], bits),
        "scales": np.full((count, 1), _ONE),
    }  # fmt: skip
    yield "codes", every, ("one_product",)
    for block in _BLOCKS:
        for k in (1, block, block + 3) if block > 32 else (1, block - 1, block, 3 * block - 5):
            yield f"block_{block}_{k}", _ramp(format, 2, k, block), ()
    small = _ramp(format, 2, 33, 16)
    ends = {"inf": 0x7F800000, "minus_inf": 0xFF800000, "nan": 0x7FC00000, "large": 0x7F7FFFFF}
    for name, word in {**ends, "subnormal": 3}.items():
        x = small["x"].copy()
        x[0, -1] = word
        yield name, {**small, "x": x}, ("nan",) if name == "nan" else ()
    signs = np.array([[0xBF800000, 0, _ONE], [0, 0x80000000, 0xC0000000]])
    yield "signs", {**small, "scales": signs}, ()


def _ramp(format: str, n: int, k: int, block: int) -> dict[str, Any]:
    """A layer whose codes, scales, zero points and inputs differ from their neighbours'.

    Codes behind K are the largest, and sums are exact in every order.
    """
    bits, groups = _bits(format), -(-k // block)
    count, every = 1 << bits, np.arange(n * groups * block).reshape(n, groups, block)
    codes = (every * 5 + every // block + every // 7) % count
    codes.reshape(n, -1)[:, k:] = count - 1
    blocks = np.arange(n * groups).reshape(n, groups)
    m = 2 if k < 64 else 1
    x = np.ldexp((np.arange(m * k) * 7 % 13 - 5).astype(np.float32).reshape(m, k), -2)
    found = {
        "m": m, "n": n, "k": k, "block_size": block, "x": patterns(x, F32),
        "packed": _packed(codes, bits), "scales": (127 + blocks % 5 - 3) << 23,
    }  # fmt: skip
    if _has_zeros(format):
        found["zero_points"] = _packed((blocks * 3 + 1) % count, bits)
    return found


def _packed(codes: Array, bits: int) -> Array:
    """Codes in bytes along the last axis, the first in the lowest bits."""
    each = 8 // bits
    wide = [(0, 0)] * (codes.ndim - 1) + [(0, -codes.shape[-1] % each)]
    parts = np.pad(codes, wide).reshape(*codes.shape[:-1], -1, each)
    found: Array = (parts << np.arange(0, 8, bits)).sum(-1)
    return found
