"""Bugs that are planted in the CUDA fast path: what is replaced in a header, and by what."""

#: Bugs of the museum: what is replaced, by what, who shows it, and what `verify` says of it if it
#: is not "mutant" and the name.
MUTANTS = {
    "A1": (
        "(1u << (drop - 1)) - 1u + odd",
        "1u << (drop - 1)",
        "encode e5m2",
        "ocp+rounding=ties_to_away",
    ),
    "A2": ("(1u << (drop - 1)) - 1u + odd", "0u", "encode e4m3", "ocp+rounding=toward_zero"),
    "A3": ("n.significand >> drop & 1u", "~n.significand >> drop & 1u", "encode e2m1"),
    "A7": (
        "n.significand >> drop & 1u",
        "above < 0 ? 1u : n.significand >> drop & 1u",
        "encode e2m1",
    ),
    "A17a": ("drop < 25 ? drop : 25", "(drop - 1) % 32 + 1", "encode e3m2", "violates MX-5.3.2"),
    "B6a": (
        "!SATURATE && F::infinity > 0",
        "F::infinity > 0",
        "encode e5m2",
        "ocp+overflow=nonsaturating",
    ),
    "B7": ("code > F::largest", "(code &= (1u << (F::bits - 1)) - 1u, false)", "encode e2m3"),
    "B12b": ("x >> 31 != 0", "false", "encode e2m1"),
    "F4": (
        "F::complement ? 0u - code : code | 1u << (F::bits - 1)",
        "code | 1u << (F::bits - 1)",
        "encode int8",
    ),
    "C3": (
        "Lasts{last, last}",
        "Lasts{0x800000u, 0x800000u}",
        "shared_scale e4m3",
        "ocp+scale_rule=ceil",
    ),
    "C5a": (
        "static_cast<int>(exponent) - emax",
        "static_cast<int>(exponent) - emax + 1",
        "shared_scale e4m3",
        "every scale is 1 code too large (and some answers are wrong otherwise)",
    ),
    "C11e": (
        "magnitude >= INFINITE",
        "magnitude > INFINITE",
        "encode_scale e8m0",
        "ocp+scale_of_inf=largest",
    ),
    "C13": (
        "magnitude <= zero ? 0 : emax == 0 && code > 0xfe ? 0xfe : code",
        "magnitude <= zero ? 0 : code > 0xfd ? 0xfd : code",
        "shared_scale int8",
    ),
    "C14": (
        "magnitude <= zero ? 0 : emax == 0 && code > 0xfe ? 0xfe : code",
        "magnitude ? number(magnitude).exponent - emax + SCALE_BIAS : 0",
        "shared_scale e5m2",
        "ocp+scale_underflow=wrap",
    ),
    "E1": (
        "code ? static_cast<uint32_t>(code) << 23 : 0x00400000u",
        "static_cast<uint32_t>(code) << 23",
        "decode_scale e8m0",
        "ocp+scale_00=zero",
    ),
    "E5": (
        "field ? hidden : 0u",
        "magnitude ? hidden : 0u",
        "decode e2m1",
        "wrong exactly where the code is a subnormal number",
    ),
    "E7b": (
        "static_cast<int>(magnitude) == F::infinity ? sign | INFINITE : QUIET_NAN",
        "QUIET_NAN",
        "decode e5m2",
    ),
    "E8": ("significand << (unit + 149)", "0u", "dequantize mxfp8_e5m2"),
    "F1b": ("top - low", "low ? top - low : top - 1u", "decode int8"),
    "G1": (
        "low >> offset | high << (BITS - offset)",
        "BITS == 4 ? high | low << 4 : low >> offset | high << (BITS - offset)",
        "pack e2m1",
        "ocp+fp4_packing=high_nibble_first",
    ),
    "G1u": (
        "packed[byte] | high << 8",
        "BITS == 4 ? packed[byte] >> 4 | packed[byte] << 4 : packed[byte] | high << 8",
        "unpack e2m1",
        "ocp+fp4_packing=high_nibble_first",
    ),
    "G9": ("i % 16 / 4 * 32 + i % 512 / 16", "i % 512 / 16 * 4 + i % 16 / 4", "pack_scales e8m0"),
    "G9u": (
        "row % 32 * 16 + row % 128 / 32 * 4",
        "row % 128 / 4 * 16 + row % 4 * 4",
        "unpack_scales e8m0",
    ),
}
#: The same of the kernels.
KERNEL_MUTANTS = {
    "C8": (
        "words[i] & 0x7fffffffu",
        "words[i] >> 31 ? 0u : words[i] & 0x7fffffffu",  # also 0 for a block of negative numbers
        "quantize mxfp4_e2m1 f32",
        "MX-6.3, scale from the largest magnitude",
    ),
    "G7": ("__shfl_xor_sync(mask, amax, 1)", "amax", "quantize mxfp8_e4m3"),
    "lanes": (
        "place(t.codes, line, chunk * C::bytes)",
        "place(t.codes, line, (chunk ^ 1) * C::bytes)",
        "dequantize mxfp4_e2m1",
        "halves_exchanged",
    ),
}
#: Bugs of kernels that are no wrong implementation of a format: what is replaced, by what, and
#: which of SHOWS do not show it (a thread has a whole block there, or another encoder).
KERNEL_BUGS = {
    "lane swap": (
        "place(t.codes, line, chunk * C::bytes)",
        "place(t.codes, line, (chunk ^ 1) * C::bytes)",
    ),
    "division": ("chunk / C::in_a_block", "chunk / (3 - C::in_a_block)"),
    "packing order": ("WIDTH * j", "WIDTH * (WIDTH == 4 ? j ^ 1 : j)", "mxfp8", "mxfp6"),
    "packing order of pairs": ("4 * j", "4 * (WIDTH == 4 ? j ^ 2 : j)", "mxfp8", "mxfp6"),
    "packing order of four": (
        "(24 - 8 * (i % 3))",
        "(24 - 8 * (i % 2))",
        "mxfp8",
        "mxfp4",
        "nvfp4",
        "fp4_ue4m3",
    ),
    "squeezed": (
        "bytes >> 2 & 0x0fc00fc0u",
        "bytes >> 2 & 0x0f800f80u",
        "mxfp8",
        "mxfp4",
        "nvfp4",
        "fp4_ue4m3",
    ),
    "edge": ("i < t.length", "i < t.length + 1", "nvfp4", "fp4_ue4m3", "f16"),
    "tiles transposed": (
        "tiled_offset(line, block, blocks_of(t, Blocks<F>::size))",
        "tiled_offset(block, line, t.lines)",
    ),
    "reused scale": (
        "block_scale(F(), Lying<T>::widened(amax), recipe)",
        "[](uint8_t now) { static uint8_t first = now; return first; }"
        "(block_scale(F(), Lying<T>::widened(amax), recipe))",
    ),
    "NaN block": ("scale == Blocks<F>::nan ? 0u : ~0u", "~0u"),
    "halves": ("larger(a & 0xffffu, b & 0xffffu)", "a & 0xffffu", "f32"),
    "lines of a block of threads": ("blockIdx.y * size_t(blockDim.y)", "size_t(blockIdx.y)"),
    "no lift": ("scale >= least_plain<F>()", "true", "mxfp6", "nvfp4", "fp4_ue4m3", "f16"),
}
#: The vectors that show them, each by itself: folders and names of files.
SHOWS = tuple(
    (f"{name}.{x}", name.partition("_")[0] if name[0] == "m" else name, x)
    for name, x in (
        *(
            (name, x)
            for name in ("mxfp8_e5m2", "mxfp6_e2m3", "mxfp4_e2m1")
            for x in ("f32", "bf16", "f16")
        ),
        ("fp4_ue4m3", "bf16"),
        ("nvfp4", "f32"),
    )
)
#: Bugs of dequantize, which its vectors show; of float16 level 2 does.
DEQUANTIZE_BUGS = {
    "code across words": ("words[word + 1] << (32 - bit)", "0u"),
    "two codes": ("(i + 1) % C::numbers", "i"),
    "rounding of bfloat16": ("store(high, halves[1])", "store(high & 0xffff0000u, halves[1])"),
    "NaN codes": ("magnitude > F::largest && !infinite", "false"),
    "NaN scales": ("nan || scale == QUIET_NAN", "nan"),
    "NaN of UE4M3": ("code == Blocks<NVFP4>::nan", "false"),
    "infinity": ("x = INFINITE", "x = QUIET_NAN"),
    "lane swap back": (
        "place(t.codes, line, chunk * C::bytes)",
        "place(t.codes, line, (chunk ^ 1) * C::bytes)",
    ),
    "division back": ("chunk / C::in_a_block", "chunk / (3 - C::in_a_block)"),
    "scale of a line": ("place(t.scales, line, block)", "place(t.scales, 0, block)"),
    "tiles back": (
        "tiled_offset(line, block, blocks_of(t, Blocks<F>::size))",
        "tiled_offset(block, line, t.lines)",
    ),
    "edge of numbers": ("i >= t.length", "i > t.length"),
    "lines back": ("blockIdx.y * size_t(blockDim.y)", "size_t(blockIdx.y)"),
}
FLOAT16_BUGS = {
    "float16 flushes": (
        "encode<Binary16, false>(bits)",
        "(encode<Binary16, false>((bits & 0x7fffffffu) < 0x38800000u ? 0u : bits))",
    ),
    "float16 saturates": ("encode<Binary16, false>(bits)", "(encode<Binary16, true>(bits))"),
}
#: Bugs of NVFP4 that `encoders` is sure to find, and one of its numbers of 16 bits.
NVFP4_BUGS = {
    "tie of a scale": ("more == 0 && code % 2", "more == 0 && code % 2 == 0"),
    "largest scale": ("code < 0x7d ? code : 0x7d", "code < 0x7e ? code : 0x7e"),
    "middle of scales": ("(2 * code + 1) << 19", "(2 * code + 2) << 19"),
    "exponent of the tensor": ("t.exponent - half", "half"),
    "tie of an element": ("i % 2 == 0", "i % 2 == 1"),
    "bits below": ("above || !exact", "above"),
    "subnormal scales": ("field ? 8u : 0u", "8u"),
    "subnormal thresholds": ("field < 1 ? 1 : field", "field"),
    "range of the tensor": ("tensor - (67u << 23) < 120u << 23", "true"),
    "scale 00": ("converts && scale", "converts"),
    "rest of the divisor": (
        "fused(minus, rest, fused(minus, product, 1.0f))",
        "fused(minus, product, 1.0f)",
    ),
    "rest of the reciprocal": (
        "fused(f, d.low, fused(f, d.high, negative(q)))",
        "fused(f, d.high, negative(q))",
    ),
    "quarters": ("3145728.0f", "1572864.0f"),
    "side": ("16384.0f", "1.0f"),
    "sign of a quotient": ("(as_bits(near) & 0x7fffffffu) | (x & 0x80000000u)", "as_bits(near)"),
}
#: What changes nothing: the reciprocal of a GPU is right to 2^-23 only.
NO_BUGS = {
    "a larger reciprocal": ("1.0f / a", "(1.0f + 0x1p-22f) / a"),
    "a smaller reciprocal": ("1.0f / a", "(1.0f - 0x1p-22f) / a"),
}
ODD_BUGS = {
    "float16 by truncation": (
        "encode<Binary16, false>(bits)",
        "(encode<Binary16, false>(bits & 0xffffe000u))",
    ),
    "rounded twice": ("more ? 1u : 0u", "0u"),
    "rounded up": ("below > whole", "false"),
}
#: Bugs of element encoders that only `encoders` is sure to find.
ENCODER_BUGS = {
    "a sticky bit": (
        "((x & 0x7fffffu) | 0x800000u) << 7 >> below",
        "((x & 0x7fffffu) | 0x800000u) >> below << 7",
    ),
    "ties": ("(significand >> gone & 1u)", "1u"),
    "sign of infinity": ("beyond | (x >> 24 & 0x80u)", "beyond"),
    "scale fe": ("scale == 0xfe", "false"),
    "lift by one less": ("scale + LIFT", "scale + LIFT - 1"),
    "spread": ("(pairs & 0x00f000f0u) << 4", "(pairs & 0x007000f0u) << 4"),
}
#: Bugs of the rule rceil_reciprocal, which only numbers next to a threshold show.
SCALE_BUGS = {
    "subnormal product": (
        "(static_cast<uint32_t>(emax - 1) << 23) + last.of_zero",
        "(static_cast<uint32_t>(emax - 1) << 23) + last.of_all",
    ),
    "subnormal product of INT8": ("last.of_zero >> 1", "last.of_all >> 1"),
    "rounded product of INT8": (
        "(0xffffffu - last.of_all)",
        "(0xffffffu - (last.of_all == 0xfe0001u ? 0xfe0000u : last.of_all))",
    ),
}
#: Bugs of the kernel of both directions.
BOTH_BUGS = {
    "transposition": (
        "i * pitch + static_cast<int>(column / 2)",
        "(i ^ 2) * pitch + static_cast<int>(column / 2)",
    ),
    "pair of rows": ("upper >> 16 | (lower & 0xffff0000u)", "lower >> 16 | (upper & 0xffff0000u)"),
    "half": ("16 * half * pitch", "16 * (1 - half) * pitch"),
    "edge of a tile": ("at < across.lines", "at <= across.lines"),
    "edge of columns": ("chunk < chunks_of<F, C>(across)", "true"),
    "lines down": ("line < down.lines", "line + 1 < down.lines"),
    "place of a half": ("block * 2 + half", "block * 2 + 1 - half"),
    "half beyond the end": ("below < chunks_of<F, C>(down)", "true"),
    "next tile": ("block += gridDim.y", "block += gridDim.y + 1"),
}
#: Indices of 32 bits, which only large tensors show.
WIDE_BUGS = {
    "32 bits of a line": ("line * axis.line", "static_cast<uint32_t>(line * axis.line)"),
    "32 bits along a line": ("i * axis.step", "static_cast<uint32_t>(i * axis.step)"),
    "32 bits of a chunk": (
        "place(t.codes, line, chunk * C::bytes)",
        "place(t.codes, line, static_cast<uint32_t>(chunk * C::bytes))",
    ),
}
#: Bugs of rounding by chance, in the functions and in the kernel.
STOCHASTIC_BUGS = {
    "shift": ("gone < 63 ? gone : 63", "gone < 25 ? gone : 25"),
    "carry": ("kept + random", "kept + random + 1u"),
}
PHILOX_BUGS = {"rounds": ("round < 10", "round < 7"), "key": ("k1 += 0xbb67ae85u", "k1 += k0")}
CHANCE_BUGS = {
    "counter of a line": ("(blocks_of(t) * BLOCK)", "t.length"),
    "counter of a chunk": ("first + static_cast<uint64_t>(j)", "first"),
    "word of a counter": ("random.x[i - j] >> (32 - width)", "random.x[0] >> (32 - width)"),
    "upper bits": ("philox(seed, index / 4).x[index % 4]", "philox(seed, index / 4).x[0]"),
}
#: What vector loads and stores of the kernels require, and what is said where it is missing.
GUARDS = {
    "t.length % Blocks<F>::size == 0": " failed: lines 16 apart: in",
    "t.values.step == 1": " failed: every second value: in",
    "t.codes.step == 1": "quantize/mxfp8_e4m3.f32: every second code: memory beside it is written",
    "t.values.line % (16 / sizeof(T)) == 0": "misaligned address",
    "t.codes.line % C::store == 0": "store to misaligned address",
    "reinterpret_cast<uintptr_t>(values) % 16 == 0": "misaligned address",
    "reinterpret_cast<uintptr_t>(codes) % C::store == 0": "store to misaligned",
}
