"""The slow twin of two-level scaling against torchao and compressed-tensors, bit for bit.

It needs torch, torchao 0.18 and compressed-tensors 0.20, on a CPU.
"""

from __future__ import annotations

import random

import pytest
import torch
from compressed_tensors.compressors.nvfp4.helpers import (
    quantize_and_pack_fp4,
    unpack_fp4_from_uint8,
)
from compressed_tensors.quantization import QuantizationArgs, QuantizationStrategy, QuantizationType
from compressed_tensors.quantization.lifecycle.forward import dequantize
from compressed_tensors.quantization.utils.helpers import calculate_qparams, generate_gparam
from torchao.prototype.mx_formats.nvfp4_tensor import (
    NVFP4Tensor,
    nvfp4_quantize,
    per_tensor_amax_to_scale,
)

from mxref.exact.bit_places import unpack
from mxref.exact.small_float_scale import dequantize_scaled, quantize_scaled

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
INTS = {"f32": torch.int32, "bf16": torch.int16, "f16": torch.int16}
WIDTH = {"f32": 32, "bf16": 16, "f16": 16}
FRACTION = {"f32": 23, "bf16": 7, "f16": 10}
BIAS = {"f32": 127, "bf16": 127, "f16": 15}
NVFP4 = QuantizationArgs(
    num_bits=4,
    type=QuantizationType.FLOAT,
    strategy=QuantizationStrategy.TENSOR_GROUP,
    group_size=16,
    symmetric=True,
    dynamic=False,
    scale_dtype=torch.float8_e4m3fn,
)
Tensor = list[list[int]]


def tensor_of(blocks: Tensor, source: str) -> torch.Tensor:
    """The blocks as the rows of a tensor, from bits to bits."""
    half = 1 << (WIDTH[source] - 1)
    signed = [[bits - 2 * half if bits >= half else bits for bits in block] for block in blocks]
    return torch.tensor(signed, dtype=INTS[source]).view(DTYPES[source])


def bits_of(x: torch.Tensor) -> list[int]:
    source = next(name for name, dtype in DTYPES.items() if dtype == x.dtype)
    return [n % (1 << WIDTH[source]) for n in x.contiguous().view(INTS[source]).flatten().tolist()]


def bits_from_float(x: float, source: str) -> int:
    return bits_of(torch.tensor([x], dtype=torch.float64).to(DTYPES[source]))[0]


def drawn_tensor(drawn: random.Random, source: str, middle: int, width: int, few: int) -> Tensor:
    """64 blocks: exponents from middle - width to middle, `few` fraction bits cleared."""
    fraction, top = FRACTION[source], 2 * BIAS[source]
    mask = (1 << fraction) - (1 << few)

    def number() -> int:
        exponent = min(top, max(0, BIAS[source] + middle - drawn.randint(0, width)))
        bits = exponent << fraction | drawn.getrandbits(fraction) & mask
        return bits | drawn.getrandbits(1) << (WIDTH[source] - 1)

    blocks = [[number() for _ in range(16)] for _ in range(64)]
    sign = 1 << (WIDTH[source] - 1)
    blocks[5] = [0, sign] * 8
    for block in blocks[6:20]:  # a smaller block, so that scales differ
        down = drawn.randint(0, 24)
        block[:] = [max(bits % sign - (down << fraction), 0) | bits & sign for bits in block]
    for block in blocks[20:24]:
        block[drawn.randrange(16)] = drawn.choice((0, sign, 1, sign + 1))
    return blocks


def boundary_tensor(drawn: random.Random, source: str, largest: float) -> Tensor:
    """Blocks whose amax lies at, just below and just above the ties between adjacent scales.

    With A = largest the scale of a block is 2688 * a / (6 * largest), at the tie of codes k and
    k + 1. The other elements are near the ties of E2M1 under it.
    """
    codes = [code for code in range(0x7E) for _ in range(2)]
    values = [
        torch.tensor([c], dtype=torch.uint8).view(torch.float8_e4m3fn).item() for c in range(0x7F)
    ]
    sign = 1 << (WIDTH[source] - 1)
    blocks = []
    for index, code in enumerate(codes):
        tie = (values[code] + values[code + 1]) / 2 * 6 * largest / 2688
        amax = bits_from_float(tie, source) + (index % 2) - drawn.randint(0, 1)
        scale = (values[code + 1] if index % 2 else values[code]) * largest / 2688
        block = [max(amax, 0)]
        for tie in (0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0):
            near = bits_from_float(tie * scale, source)
            block += [max(0, near + drawn.randint(-1, 1)), max(0, near - 1) | sign]
        blocks.append([*block, drawn.choice((0, sign))])
    blocks.append([bits_from_float(largest, source)] + [0] * 15)
    return blocks


def corpus(source: str) -> list[Tensor]:
    drawn = random.Random(source)
    shapes = [(0, 0, 0), (0, 3, 0), (5, 12, 0), (-9, 6, 5), (12, 24, FRACTION[source] - 2)]
    tensors = [drawn_tensor(drawn, source, *shape) for shape in shapes for _ in range(2)]
    edge = BIAS[source]
    tensors += [drawn_tensor(drawn, source, middle, 8, 0) for middle in (edge, 11 - edge, 2 - edge)]
    tensors += [drawn_tensor(drawn, source, middle, 30, 0) for middle in (9 - edge, -edge)]
    tensors += [boundary_tensor(drawn, source, x) for x in (2688.0, 7.0, 1.0, 0.123, 3000.0)]
    return tensors


def special_tensors(source: str) -> list[Tensor]:
    one, infinity = BIAS[source] << FRACTION[source], (2 * BIAS[source] + 1) << FRACTION[source]
    nan, sign = infinity | 1 << (FRACTION[source] - 1), 1 << (WIDTH[source] - 1)
    plain = [one, one | sign, 0, sign] * 4
    with_nan, with_inf = [[*plain[:3], special, *plain[4:]] for special in (nan, infinity)]
    return [[plain, with_nan], [with_inf, plain], [plain, [0, sign] * 8], [with_nan, with_inf]]


Result = tuple[int | None, list[tuple[int, list[int]]]]


def result_of(tensor_scale: int | None, scales: torch.Tensor, packed: torch.Tensor) -> Result:
    """A peer's answer in the twin's form; its 8-bit scales have a sign, seen in NaN only."""
    codes = scales.to(torch.float8_e4m3fn).view(torch.uint8).flatten().tolist()
    assert all(code < 0x7F or code & 0x7F == 0x7F for code in codes)
    rows = packed.view(torch.uint8).reshape(len(codes), 8).tolist()
    elements = [unpack(row, 4, "low_nibble_first", 16) for row in rows]
    return tensor_scale, list(zip([code & 0x7F for code in codes], elements, strict=True))


def nan_alike(result: Result) -> Result:
    """Give a NaN tensor scale one payload and drop the elements of NaN blocks.

    In the peers those follow the payload and the sign of a NaN: torchao gives 3, 4, B and C,
    compressed-tensors 0 and 8.
    """
    scale, blocks = result
    if scale is not None and scale % 2**31 > 0x7F800000:
        scale = 0x7FC00000
    return scale, [(s, [] if s == 0x7F else codes) for s, codes in blocks]


def unsigned_nan(result: Result, blocks: Tensor, source: str) -> Result:
    """Drop the sign of zeros that get the code of 1.5, which torchao makes of 0 * Inf.

    The sign of that NaN is the processor's own; the twin's is positive.
    """
    scale, got = result
    dropped = []
    for block, (s, codes) in zip(blocks, got, strict=True):
        zeros = [bits % (1 << (WIDTH[source] - 1)) == 0 for bits in block]
        dropped.append(
            (s, [c % 8 if z and c % 8 == 3 else c for z, c in zip(zeros, codes, strict=True)])
        )
    return scale, dropped


def check_numbers(result: Result, arithmetic: str, target: str, got: torch.Tensor) -> None:
    scale, blocks = result
    want = [
        dequantize_scaled(scale, code, element, "e2m1", "ue4m3", arithmetic, target)
        for code, elements in blocks
        for element in elements
    ]
    infinity = (2 * BIAS[target] + 1) << FRACTION[target]
    nan, half = infinity | 1 << (FRACTION[target] - 1), 1 << (WIDTH[target] - 1)
    assert [nan if bits % half > infinity else bits for bits in bits_of(got)] == want


def torchao(x: torch.Tensor, *, two_levels: bool) -> tuple[Result, torch.Tensor | None]:
    t = per_tensor_amax_to_scale(torch.max(torch.abs(x))) if two_levels else None
    scales, packed = nvfp4_quantize(x, 16, t)
    return result_of(None if t is None else bits_of(t.reshape(1))[0], scales, packed), t


@pytest.mark.parametrize("two_levels", [False, True])
@pytest.mark.parametrize("source", ["f32", "bf16"])
def test_torchao(source: str, *, two_levels: bool) -> None:
    for blocks in corpus(source):
        x = tensor_of(blocks, source)
        want = quantize_scaled(
            blocks, source, "e2m1", "ue4m3", "torchao", "dynamic" if two_levels else None
        )
        got, t = torchao(x, two_levels=two_levels)
        assert unsigned_nan(got, blocks, source) == unsigned_nan(want, blocks, source)
        peer = NVFP4Tensor.to_nvfp4(x, per_tensor_scale=t)
        for target in ("f32", "bf16"):
            check_numbers(got, "torchao", target, peer.dequantize(DTYPES[target]))


@pytest.mark.parametrize("two_levels", [False, True])
@pytest.mark.parametrize("source", ["f32", "bf16"])
def test_torchao_with_nan_and_inf(source: str, *, two_levels: bool) -> None:
    for blocks in special_tensors(source):
        want = quantize_scaled(
            blocks, source, "e2m1", "ue4m3", "torchao", "dynamic" if two_levels else None
        )
        got, _ = torchao(tensor_of(blocks, source), two_levels=two_levels)
        assert nan_alike(got) == nan_alike(want)


def test_torchao_makes_nan_of_a_zero_tensor() -> None:
    blocks = [[0] * 16, [0x80000000] * 16]
    got, _ = torchao(tensor_of(blocks, "f32"), two_levels=True)
    want = quantize_scaled(blocks, "f32", "e2m1", "ue4m3", "torchao", "dynamic")
    assert nan_alike(got) == nan_alike(want)
    assert [code for code, _ in want[1]] == [0x7F, 0x7F]


def compressed(x: torch.Tensor, *, two_levels: bool) -> tuple[Result, torch.Tensor]:
    g = generate_gparam(x.min(), x.max()) if two_levels else None
    lowest, highest = x.amin(-1, keepdim=True), x.amax(-1, keepdim=True)
    scales, _ = calculate_qparams(lowest, highest, NVFP4, g)
    packed = quantize_and_pack_fp4(x, scales, global_scale=g)
    back = dequantize(unpack_fp4_from_uint8(packed, *x.shape), scales, args=NVFP4, global_scale=g)
    return result_of(None if g is None else bits_of(g)[0], scales, packed), back


@pytest.mark.parametrize("two_levels", [False, True])
@pytest.mark.parametrize("source", ["f32", "bf16", "f16"])
def test_compressed_tensors(source: str, *, two_levels: bool) -> None:
    for blocks in corpus(source) + special_tensors(source):
        want = quantize_scaled(
            blocks, source, "e2m1", "ue4m3", "compressed_tensors", "dynamic" if two_levels else None
        )
        got, back = compressed(tensor_of(blocks, source), two_levels=two_levels)
        assert nan_alike(got) == nan_alike(want)
        target = next(name for name, dtype in DTYPES.items() if dtype == back.dtype)
        check_numbers(want, "compressed_tensors", target, back)
