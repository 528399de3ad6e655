"""Run by test_fp_environment.py: every result under a floating-point mode, as a digest."""

from __future__ import annotations

import ctypes
import hashlib
import itertools
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from product_rows import ADDERS, FORMATS, drawn
from two_level_rows import FINITE, drawn_blocks

import mxref
from mxref import golden
from mxref.bits.floats import LAYOUTS, FloatLayout
from mxref.formats.catalog import BLOCK_FORMATS, ELEMENT_FORMATS
from mxref.operands.draws import Draws
from mxref.operands.word_rows import padded, stripped
from mxref.operations.call_operation import CallOperation
from mxref.operations.registry import CALL_OPERATIONS, REGISTRY
from mxref.policy.choices import NaNToFinite
from mxref.policy.policy import Policy
from mxref.products.accumulation import accumulated
from mxref.products.linear import with_bias
from mxref.profiles import PROFILES, Profile

ROUNDING = {"downward": 0x400, "upward": 0x800, "toward_zero": 0xC00}  # of <fenv.h> on x86-64
DAZ_FTZ = 0x8040  # of MXCSR
MXCSR_OFFSET = 28  # in glibc's fenv_t on x86-64
#: Of so many questions about vectors the slow twin answers one.
TWIN = 8


def set_mode(mode: str) -> None:
    """Set the mode, and show by arithmetic that it is in force."""
    libm = ctypes.CDLL("libm.so.6")
    one, tiny = np.float32(1), np.uint32([1 << 22]).view(np.float32)
    for part in mode.split("+"):
        if part == "flush":
            environment = ctypes.create_string_buffer(32)
            libm.fegetenv(environment)
            mxcsr = ctypes.c_uint32.from_buffer(environment, MXCSR_OFFSET)
            mxcsr.value |= DAZ_FTZ
            libm.fesetenv(environment)
            if (tiny * one).view(np.uint32)[0] != 0:
                raise RuntimeError("flush-to-zero is not in force")
        elif part in ROUNDING:
            libm.fesetround(ROUNDING[part])
            third = np.array([1.0]) / np.array([3.0])
            bits = int(third.view(np.uint64)[0])
            if bits != (0x3FD5555555555556 if part == "upward" else 0x3FD5555555555555):
                raise RuntimeError(f"{part} is not in force")
            if part != "upward":  # a third is rounded down in either case: look at minus a third
                bits = int((-np.array([1.0]) / np.array([3.0])).view(np.uint64)[0])
                if bits != (0xBFD5555555555556 if part == "downward" else 0xBFD5555555555555):
                    raise RuntimeError(f"{part} is not in force")


def digest() -> str:
    """All operations on all 16-bit floats and on patterns of the wide ones."""
    total = hashlib.sha256()

    def add(array: np.ndarray) -> None:
        total.update(np.ascontiguousarray(array).view(np.uint8).tobytes())

    state = np.arange(1 << 16, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for layout in LAYOUTS.values():
        bits = state >> np.uint64(64 - layout.width)
        if layout.width == 16:
            bits = np.arange(1 << 16)
        values = bits.astype(layout.uint).view(layout.dtype)
        magnitudes = (bits.astype(np.uint64) & np.uint64(layout.sign_bit - 1)).astype(layout.uint)
        for name in ELEMENT_FORMATS:
            for overflow in ("saturate", "nonsaturating"):
                add(mxref.encode(values, name, overflow=overflow))
            add(mxref.shared_scale(magnitudes.view(layout.dtype), name))
            count = ELEMENT_FORMATS[name].code_count
            add(mxref.decode(np.arange(count), name, layout.dtype))
        add(mxref.encode_scale(values))
        add(mxref.decode_scale(np.arange(256), layout.dtype))
        small = layout.uint.type(layout.sign_bit | (1 << layout.mantissa_bits + 2) - 1)
        for block in BLOCK_FORMATS:
            for some in (values, (values.view(layout.uint) & small).view(layout.dtype)):
                blocks = mxref.quantize(some, block)
                add(blocks.codes)
                add(blocks.scale_codes)
                add(blocks.dequantize(layout.dtype))
            fmt, scales = BLOCK_FORMATS[block], np.full(1 << 11, 120, np.uint8)
            codes = (state >> np.uint64(48)).astype(np.uint8) & (fmt.element.code_count - 1)
            add(mxref.dequantize(codes, layout.dtype, scale_codes=scales, block_format=fmt))
        # Estimates: of all numbers, and of those that are subnormal or nearly so.
        random = state.astype(np.uint32)[:8192]
        for some in (values[::8], (values.view(layout.uint) & small).view(layout.dtype)[::8]):
            for tensor in (None, 1.0, 2.0**-116 + 2.0**-139):
                add(mxref.quantize(some, "nvfp4", tensor_scale=tensor).codes)
            for block in ("nvfp4", "mxfp4_e2m1", "mxint8"):
                for rounding, width in (("stochastic_a", 32), ("stochastic_c", 8)):
                    how = {"rounding": rounding, "random_width": width}
                    bits = random >> np.uint32(32 - width)
                    add(mxref.quantize(some, block, random_bits=bits, **how).codes)
        for arithmetic in Policy.members("scale_arithmetic"):
            for block, asked in (("nvfp4", None), ("nvfp4", "row"), ("fp4_ue4m3", None)):
                some = values[::16].reshape(64, -1)
                how = {"scale_arithmetic": arithmetic, "tensor_scale": asked}
                blocks = mxref.quantize(some, block, **how)
                add(blocks.codes)
                add(blocks.scale_codes)
                for target in LAYOUTS.values():
                    add(blocks.dequantize(target.dtype, scale_arithmetic=arithmetic))
                    add(blocks.dequantize(target.dtype))
        # Elements and scales so far apart that sums have more bits than any float type.
        codes = (state[: 16 * 128] >> np.uint64(56)).astype(np.uint8).reshape(16, 128)
        scales = 107 + (state[:64] >> np.uint64(32)).astype(np.uint8).reshape(16, 4) % 40
        sides = [
            mxref.Blocks(codes & mask, scales, BLOCK_FORMATS[name], 1, codes.shape)
            for name, mask in (("mxfp8_e4m3", 0xF7), ("mxfp8_e5m2", 0xFB), ("mxint8", 0xFF))
        ]
        for a, b in zip(sides, sides[1:] + sides[:1], strict=True):
            add(mxref.matmul(a[:8], b[8:].T, layout.dtype))
            for end in mxref.matmul_bounds(a[:8], b[8:].T, layout.dtype):
                add(end)
            some = {"rounding": "any", "bits": 13, "step": 32}
            for end in mxref.matmul_bounds(a[:3], b[8:].T, layout.dtype, **some):
                add(end)
        # Sums whose last bits are beyond the float type, ties among them.
        m = layout.mantissa_bits
        y = ((layout.bias << m) + (state[:1024] >> np.uint64(64 - m))).astype(layout.uint)
        lower = y[::-1] - layout.uint.type((m + 1) << m)
        lower[::2] |= layout.uint.type(layout.sign_bit)
        add(with_bias(y.view(layout.dtype)[None], lower.view(layout.dtype), layout))
        for profile in PROFILES.values():
            if profile.floats is None or layout.name in profile.floats:
                for some in (values[::16], (values.view(layout.uint) & small).view(layout.dtype)):
                    add_profile(profile, some[: 1 << 12].reshape(-1, 32), layout, add)
    add_integers((state >> np.uint64(32)).astype(np.uint32), add)
    for how in ADDERS:
        for format in FORMATS[how]:
            rows = drawn((format, FORMATS[how][0]), 96, 12, np.random.default_rng(0))
            add(accumulated(*rows, how))
    state = np.random.default_rng(1)
    for name, (one, other) in itertools.product(("nvfp4", "infinities"), pairwise(FINITE)):
        a, b = (drawn_blocks(name, (6, 70), state, each, True) for each in (one, other))
        for layout in LAYOUTS.values():
            add(mxref.matmul(a, b.T, layout.dtype))
        for rounding in ("nearest", "any"):
            for end in mxref.matmul_bounds(a, b.T, rounding=rounding):
                add(end)
        for end in mxref.matmul_bounds(a, b.T, rounding="any", bits=35, step=64):
            add(end)
        for how in ("sequential", "scales_last", *["aligned_35"] * (name == "nvfp4")):
            add(mxref.matmul(a, b.T, accumulation=how))
    unit = CALL_OPERATIONS["mma"]
    for format in unit.formats:
        for i in range(8):
            words = unit.question(format, Draws(f"modes {i}"), i).astype(np.uint64)
            add(unit.fast(format, unit.slot, words[np.newaxis], "default"))
    return total.hexdigest()


def add_integers(bits: np.ndarray, add: Callable[[np.ndarray], None]) -> None:
    """Integer operations on random patterns, under small and large scales."""
    for scale in (2.0**-127, 0.013, 2.0**100):
        for how in ({}, {"scaling": "divide"}, {"zero_point": "fused"}):
            qparams = mxref.integer.QParams(scale, 3, dtype=np.int32)
            for some in (bits.view(np.float32), (bits & np.uint32(0x80FFFFFF)).view(np.float32)):
                codes = mxref.integer.quantize_affine(some, qparams, **how, nan="zero")
                add(codes)
                add(mxref.integer.dequantize_affine(codes, qparams))
    x, w = (
        bits[: 64 * 24].reshape(64, 24).copy(),
        (bits[: 20 * 24] >> np.uint32(24)).astype(np.int8),
    )
    x[0] = 0  # sums of zeros of both signs
    scales = ((bits[:80] & np.uint32(0x83FFFFFF)) + np.uint32(0x3C000000)).view(np.float32)
    for some in (x, x & np.uint32(0x80FFFFFF), x & np.uint32(0x83FFFFFF) | np.uint32(0x3C000000)):
        for order in ("exact", "dequantize", "scale_last", "offset"):
            operands = some.view(np.float32), w.reshape(20, 24), scales.reshape(20, 4)
            add(mxref.integer.linear_qcs8w(*operands, order))
    for bound in mxref.integer.linear_bounds(*operands, "offset"):
        add(bound)
    for symmetric in (False, True):
        add(mxref.integer.choose_qparams(-0.3, 0.7, symmetric=symmetric).scale)
    for part in mxref.integer.multiplier_shift([1 / 3, 0.1, 2.0**-1074]):
        add(part)
    add(mxref.integer.SNORM8.scale)
    image, grid = bits[:120].view(np.int8).reshape(5, 12, 8), bits[:60].view(np.int16)
    for scale, ends in itertools.product((0.3, 2.0**-127), ("zeros", "reflection")):
        sampled = image, grid.reshape(6, 10, 2), mxref.integer.QParams(scale, 3)
        where = {"align_corners": ends == "zeros", "padding": ends}
        for arithmetic in ("exact", "float32"):
            add(mxref.integer.grid_sample_values(*sampled, **where, arithmetic=arithmetic))
        for bound in mxref.integer.grid_sample_bounds(*sampled, **where):
            add(bound)


def add_profile(
    profile: Profile, values: np.ndarray, layout: FloatLayout, add: Callable[[np.ndarray], None]
) -> None:
    """What a profile makes of blocks and codes, operation by operation."""
    bits = values.view(layout.uint)
    amax = (bits & layout.uint.type(layout.sign_bit - 1)).view(layout.dtype)
    number = (bits & layout.uint.type(layout.inf_bits) != layout.inf_bits).all(axis=1)
    finite = values[number]  # some refuse NaN
    for name in ELEMENT_FORMATS:
        if profile.speaks_of("encode", name):
            add(profile.encode(finite, name))
        if profile.speaks_of("shared_scale", name):
            add(profile.shared_scale(amax[number], name))
    if profile.speaks_of("encode_scale", "e8m0"):
        add(profile.encode_scale(values))
    for name in BLOCK_FORMATS:
        if profile.speaks_of("quantize", name):
            refuses = profile.policy.element.nan_to_finite is NaNToFinite.ERROR
            blocks = profile.quantize(finite if refuses else values, name)
            add(blocks.codes)
            add(blocks.scale_codes)
            if profile.speaks_of("dequantize", name):
                add(profile.dequantize(blocks, layout.dtype))


def twin_of_some() -> None:
    """From here on the slow twin answers some questions, and the fast path the others.

    Python's integers and Fractions know no mode; the committed answers are the twin's in any case.
    """
    for one in {type(operation): operation for operation in REGISTRY.values()}:
        if issubclass(one, CallOperation):
            one.exact_answer = partly_one(one.exact_answer)
        else:
            one.exact = partly(one.exact)


def partly(exact: Callable[..., Any]) -> Callable[..., Any]:
    """Answers to many questions."""

    def answers(self: Any, format: str, slot: str, questions: Any, policy: Any) -> Any:
        asked = list(questions)
        found = self.fast(format, slot, padded(asked), policy).astype(np.uint64)
        rows = [stripped(row) for row in found]
        rows[::TWIN] = exact(self, format, slot, asked[::TWIN], policy)
        return rows

    return answers


def partly_one(exact_answer: Callable[..., Any]) -> Callable[..., Any]:
    """Answers to one question after the other."""
    count = itertools.count()

    def answer(self: Any, format: str, words: Any, policy: str) -> Any:
        if next(count) % TWIN == 0:
            return exact_answer(self, format, words, policy)
        found = self.fast(format, self.slot, padded([words]), policy)
        return stripped(found[0].astype(np.uint64))

    return answer


def problems() -> list[str]:
    """What is generated otherwise than committed."""
    twin_of_some()
    return golden.check(Path(__file__).resolve().parents[2] / "vectors", golden.build())


if __name__ == "__main__":
    set_mode(sys.argv[1])
    result = digest()
    if "vectors" in sys.argv[2:]:
        print(*problems(), sep="\n", file=sys.stderr)
    print(result)
