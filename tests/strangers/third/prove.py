"""Calls every kernel of the folder on ordinary data and prints the share of wrong numbers."""

import importlib.util
import sys
from pathlib import Path

import ml_dtypes
import numpy as np

import mxref
from mxref import integer
from mxref.integer import QParams

BF16 = ml_dtypes.bfloat16
ELEMENTS = ["e5m2", "e4m3", "e3m2", "e2m3", "e2m1", "int8"]
BLOCKS = ["mxfp8_e5m2", "mxfp8_e4m3", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4_e2m1", "mxint8"]
BITS = {"e5m2": 8, "e4m3": 8, "e3m2": 6, "e2m3": 6, "e2m1": 4, "int8": 8}
FLOATS = [np.float32, np.float64, np.float16, BF16]
TILES, BEFORE = "ocp+scale_layout=tiles_128x4", "ocp+scale_place=before"
R = np.random.default_rng(1)


def normal(*shape, dtype=np.float32, scale=1.0):
    return (R.standard_normal(shape) * scale).astype(dtype)


def codes(bits, *shape):
    return R.integers(0, 1 << bits, shape, dtype=np.uint8)


def scales(*shape):
    return R.integers(118, 137, shape, dtype=np.uint8)


def different(got, want):
    """A mask of the numbers that differ; all NaN are one, -0 is not +0."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape, (got.shape, want.shape)
    if want.dtype.kind in "iu":
        return got.astype(np.int64) != want.astype(np.int64)
    assert got.dtype == want.dtype, (got.dtype, want.dtype)
    got, want = got.astype(np.float64), want.astype(np.float64)
    signs = np.signbit(got) != np.signbit(want)
    return ~(np.isnan(got) & np.isnan(want)) & ((got != want) | signs)


def pairs(got, want):
    """Numbers of two tuples side by side: (name, wrong, all)."""
    masks = [different(g, w) for g, w in zip(got, want, strict=True)]
    return sum(int(m.sum()) for m in masks), sum(m.size for m in masks)


def one(got, want):
    return pairs((got,), (want,))


def quantized(x, block_format, **options):
    blocks = mxref.quantize(x, block_format, **options)
    return blocks.scale_codes.reshape(len(x)), blocks.codes


def q(kernel, x, block_format):
    return pairs(kernel.quantize(x, block_format), quantized(x, block_format))


def e(kernel, x, format):
    return one(kernel.encode(x, format), mxref.encode(x, format))


def dq(kernel, s, c, block_format, dtype):
    want = mxref.dequantize(c, dtype, scale_codes=s[:, None], block_format=block_format)
    return one(kernel.dequantize(s, c, block_format, dtype), want)


def qt(kernel, x, block_format, axis):
    blocks = mxref.quantize(x, block_format, axis=axis)
    return pairs(kernel.quantize_tensor(x, block_format, axis), (blocks.scale_codes, blocks.codes))


def mm(kernel, m, n, k, format="mxfp8_e4m3", exact=False, values=normal):
    a = mxref.quantize(values(m, k), format)
    b = mxref.quantize(values(n, k), format)
    got = kernel.matmul(a.scale_codes, a.codes, b.scale_codes, b.codes, format, format)
    if exact:
        return one(got, mxref.matmul(a, b.T))
    held = mxref.matmul_bounds(a, b.T, rounding="any").hold(got)
    assert got.dtype == np.float32
    assert got.shape == (m, n)
    return int((~held).sum()), held.size


def lin(kernel, x, w, bias, block_format="mxfp8_e4m3"):
    got = kernel.linear(x, w, bias, block_format)
    want = mxref.linear(x, w, block_format, bias=bias)
    assert got.shape == want.shape
    return int((abs(got - want) > 1e-4 * abs(want).max()).sum()), want.size


def grads(kernel, x, w, grad, block_format="mxfp8_e4m3"):
    got = kernel.linear_gradients(x, w, grad, block_format)
    want = mxref.linear_gradients(x, w, grad, block_format)
    far = [abs(g - v) > 1e-4 * abs(v).max() for g, v in zip(got, want, strict=True)]
    return [(int(m.sum()), m.size) for m in far]


def qa(kernel, x, scale, zero, low, high, dtype, axis=None):
    got = kernel.quantize_affine(x, scale, zero, low, high, dtype, axis)
    params = QParams(scale, zero, low, high, dtype, axis)
    masks = []
    for scaling in ("reciprocal", "divide"):
        for place in ("after", "before"):
            want = integer.quantize_affine(x, params, scaling=scaling, zero_point=place)
            masks.append(different(got, want))
    return min(int(m.sum()) for m in masks), x.size


def da(kernel, c, scale, zero, low, high, dtype, axis=None):
    got = kernel.dequantize_affine(c, scale, zero, low, high, dtype, axis)
    return one(got, integer.dequantize_affine(c, QParams(scale, zero, low, high, dtype, axis)))


def rs(kernel, v, ratios, zeros=(0, 0), dtype=np.int8, bits=32):
    m, s = integer.multiplier_shift(ratios, bits)
    got = kernel.rescale(v, m, s, *zeros, dtype, bits)
    wrong = []
    for rounding in ("single", "double") if bits == 32 else ("single",):
        want = integer.rescale(v, m, s, *zeros, rounding, dtype=dtype, bits=bits)
        wrong.append(one(got, want)[0])
    return min(wrong), v.size


def gs(kernel, image, grid, align, padding, zero):
    got = kernel.grid_sample(image, grid, align, padding, zero)
    options = {"align_corners": align, "padding": padding, "zero_point": zero}
    return one(got, integer.grid_sample(image, grid, **options))


def qcs(kernel, x, w, s, packed=False):
    full = integer.unpack_int4(w, x.shape[1]) if packed else w
    got = (kernel.linear_qcs4w if packed else kernel.linear_qcs8w)(x, w, s)
    held = np.zeros(got.shape, bool)
    for order in ("exact", "dequantize", "scale_last", "offset"):
        if order == "exact" or s.ndim == 1 or order == "dequantize":
            held |= integer.linear_bounds(x, full, s, order).hold(got)
    return int((~held).sum()), got.size


def int8(*shape):
    return R.integers(-127, 128, shape).astype(np.int8)


def grid(*shape):
    return R.integers(-32767, 32768, (*shape, 2)).astype(np.int16)


def w01(k):
    return [(f"{f}, 16,384 normal float32", e(k, normal(16384), f)) for f in k.FORMATS]


def w02(k):
    return [
        (f"{n} uniform numbers", e(k, R.uniform(-2.5, 2.5, n).astype(np.float32), "int8"))
        for n in (15, 31, 47)
    ]


def w03(k):
    half, brain = normal(16384, dtype=np.float16), normal(16384, dtype=BF16)
    return [("e5m2, float16", e(k, half, "e5m2")), ("e2m1, bfloat16", e(k, brain, "e2m1"))]


def w04(k):
    x = normal(4096, dtype=np.float16)
    return [(f"float16 to {f}, in this order", e(k, x, f)) for f in ELEMENTS]


def w05(k):
    x, y = normal(512), normal(512)
    first = k.encode(x, "e4m3")
    k.encode(y, "e4m3")
    return [("first result after a second call", one(first, mxref.encode(x, "e4m3")))]


def w06(k):
    return [(f"{n} numbers", e(k, normal(n) + 3, "e4m3")) for n in (4097, 8193)]


def w07(k):
    return [
        (f"{f} {np.dtype(t).name} {n} normal numbers * 12", e(k, normal(n, dtype=t, scale=12), f))
        for f in k.FORMATS
        for t in (np.float32, BF16)
        for n in (7, 2047)
    ]


def w08(k):
    odd = codes(4, 65)
    odd[-1] = 8
    return [
        ("e2m1, 65 codes, the last -0", one(k.decode(odd, "e2m1"), mxref.decode(odd, "e2m1"))),
        ("e5m2, 4,096 codes", one(k.decode(c := codes(8, 4096), "e5m2"), mxref.decode(c, "e5m2"))),
    ]


def w09(k):
    c = codes(8, 8192)
    return [("codes of all kinds", one(k.decode(c, "e4m3"), mxref.decode(c, "e4m3")))]


def es(k, x):
    return one(k.encode_scale(x), mxref.encode_scale(x))


def w10(k):
    return [("float16, normal * 1,000", es(k, normal(32768, dtype=np.float16, scale=1000)))]


def w11(k):
    return [
        (f"float16, normal * {s}", es(k, normal(8192, dtype=np.float16, scale=s)))
        for s in (1e-5, 1e-3)
    ]


def w12(k):
    c = scales(256)
    k.decode_scale(c)
    c = np.concatenate([c[:1], scales(254), c[-1:]])
    return [("second call, the same ends", one(k.decode_scale(c), mxref.decode_scale(c)))]


def w13(k):
    return [
        (f"{n} scales", one(k.decode_scale(c := scales(n)), mxref.decode_scale(c)))
        for n in (63, 255)
    ]


def ss(k, x, f):
    return one(k.shared_scale(x, f), mxref.shared_scale(x, f))


def amax(n, dtype=np.float32):
    return abs(normal(n, 32)).max(1).astype(dtype)


def w14(k):
    return [(f"{f}, 1,024 blocks", ss(k, amax(1024), f)) for f in ELEMENTS]


def w15(k):
    x = (abs(normal(2048, 32, scale=0.0035)).max(1)).astype(BF16)
    return [(f"{f}, bfloat16 weights of 0.0035", ss(k, x, f)) for f in ("e4m3", "e2m1")]


def w16(k):
    ss(k, amax(512), "e4m3")
    return [("second call of 512 blocks", ss(k, amax(512), "e4m3"))]


def w17(k):
    return [(f, q(k, normal(1024, 32), f)) for f in BLOCKS]


def w18(k):
    parts = [q(k, normal(n, 32, dtype=BF16), "mxfp4_e2m1") for n in [1] * 99 + [9] * 99]
    one_row, nine = np.sum(parts[:99], 0), np.sum(parts[99:], 0)
    return [("bfloat16, 99 calls of 1 row", one_row), ("99 calls of 9 rows", nine)]


def w19(k):
    x = normal(64, 32)
    got = k.quantize(x, "mxfp4_e2m1")
    for _ in range(4):
        k.quantize(normal(64, 32), "mxfp4_e2m1")
    return [("first result after four more calls", pairs(got, quantized(x, "mxfp4_e2m1")))]


def w20(k):
    return [("64 x 32 in Fortran's order", q(k, np.asfortranarray(normal(64, 32)), "mxfp8_e4m3"))]


def w21(k):
    return [
        (
            f"{n} rows of {s} magnitudes",
            q(k, normal(n, 32) * np.exp2(R.integers(0, 8, (n, 1))), "mxfp8_e4m3"),
        )
        for n, s in ((300, "mixed"), (2048, "mixed"))
    ]


def w22(k):
    x = normal(512, 32)
    x[::4, 20] = np.nan
    return [
        ("float64", q(k, normal(1024, 32, dtype=np.float64), "mxfp6_e2m3")),
        ("a NaN in lane 20 of each fourth row", q(k, x, "mxfp6_e2m3")),
    ]


def w23(k):
    x = mxref.quantize(normal(512, 32, scale=1e-4), "mxfp8_e4m3")
    return [
        ("float16, weights of 1e-4", dq(k, x.scale_codes[:, 0], x.codes, x.format.name, np.float16))
    ]


def w24(k):
    return [
        (f"{n} rows", dq(k, scales(n), codes(4, n, 32), "mxfp4_e2m1", np.float32))
        for n in (128, 1024)
    ]


def w25(k):
    s, c = R.integers(90, 100, 256, dtype=np.uint8), codes(8, 256, 32)
    dq(k, s, c, "mxfp8_e4m3", np.float16)
    return [("float32 after float16", dq(k, s, c, "mxfp8_e4m3", np.float32))]


def w26(k):
    out = []
    for n in (7, 30):
        c = codes(6, n)
        p = mxref.pack(c, "e3m2")
        out += [
            (f"pack, {n} codes", one(k.pack(c, "e3m2"), p)),
            (f"unpack, {n} codes", one(k.unpack(p, "e3m2", n), c)),
        ]
    return out


def w27(k):
    return [
        (f"{n} codes", one(k.pack(c, "e2m1"), mxref.pack(c, "e2m1")))
        for n in (65, 257)
        for c in [codes(4, n) | 1]
    ]


def w28(k):
    a, b = codes(4, 256), codes(4, 256)
    b[:32] = a[:32]
    k.unpack(mxref.pack(a, "e2m1"), "e2m1", 256)
    return [("second call, 16 equal bytes", one(k.unpack(mxref.pack(b, "e2m1"), "e2m1", 256), b))]


def tiles(k, r, c):
    s = scales(r, c)
    p = mxref.pack_scales(s, TILES)
    return [
        (f"pack {r} x {c}", one(k.pack_scales(s), p)),
        (f"unpack {r} x {c}", one(k.unpack_scales(p, (r, c)), s)),
    ]


def w29(k):
    return tiles(k, 100, 6) + tiles(k, 256, 8)


def before(k, s, c, f):
    p = mxref.pack_blocks(s[:, None], c, f, BEFORE).reshape(len(s), -1)
    return [
        (f"pack_blocks {f} {len(s)}", one(k.pack_blocks(s, c, f), p)),
        (f"unpack_blocks {f} {len(s)}", pairs(k.unpack_blocks(p, f), (s, c))),
    ]


def w30(k):
    c = codes(4, 23, 32)
    c[1::2, :14], s = 0, scales(23)
    s[1::2] = 127
    return before(k, s, c, "mxfp4_e2m1")


def w31(k):
    return [
        (f"{r} x {c}, axis {a}", qt(k, normal(r, c), "mxfp8_e4m3", a))
        for r, c, a in ((33, 16, 0), (8, 100, 1))
    ]


def w32(k):
    return [
        (
            f"{r} x {c}, axis 0",
            qt(k, normal(r, c) * np.exp2(R.integers(0, 6, (1, c))), "mxfp4_e2m1", 0),
        )
        for r, c in ((64, 48), (100, 7))
    ]


def w33(k):
    x = normal(32, 64)
    qt(k, x, "mxfp8_e4m3", 1)
    x[:] = normal(32, 64)
    return [("overwritten in place", qt(k, x, "mxfp8_e4m3", 1))]


def w34(k):
    return [("64 x 64, axis 0", qt(k, normal(64, 64), "mxfp8_e4m3", 0))]


def w35(k):
    return [(f"k = {n}", mm(k, 9, 7, n)) for n in (288, 544)]


def w36(k):
    return [(f"m = 1, k = {n}", mm(k, 1, 64, n)) for n in (64, 512)]


def w37(k):
    return [("24 x 24", mm(k, 24, 24, 64))]


def w38(k):
    def rough(m, n):
        return normal(m, n) * np.exp(3 * normal(m, n))

    return [
        ("e4m3, k = 512", mm(k, 16, 16, 512)),
        ("e4m3, k = 64, heavy tails", mm(k, 16, 16, 64, "mxfp8_e4m3", values=rough)),
    ]


def w39(k):
    lin(k, normal(2, 4, 64), normal(16, 64), None)
    return [("second weight of 16 x 64", lin(k, normal(2, 4, 64), normal(16, 64), None))]


def w40(k):
    return [("3 sequences of 5 rows", lin(k, normal(3, 5, 64), normal(16, 64), normal(16)))]


def w41(k):
    return [
        ("k = 256 with bias", lin(k, normal(2, 4, 256), normal(16, 256), normal(16))),
        ("k = 140 without", lin(k, normal(2, 4, 140), normal(16, 140), None)),
    ]


def w42(k):
    parts = grads(k, normal(3, 16, 64), normal(32, 64), normal(3, 16, 32))
    return [("bias gradient, 48 rows", parts[2])]


def w43(k):
    return [
        (f"dx, n = {n}", grads(k, normal(2, 9, 64), normal(n, 64), normal(2, 9, n))[0])
        for n in (40, 100)
    ]


def w44(k):
    x, w, g = normal(2, 9, 64), normal(32, 64), normal(2, 9, 32)
    grads(k, x, w, g)
    return [("dw of a second call, the same weight", grads(k, normal(2, 9, 64), w, g)[1])]


def w45(k):
    return [(f"{n} numbers", qa(k, normal(n), 0.02, 3, -128, 127, np.int8)) for n in (15, 63)]


def w46(k):
    s = R.uniform(0.01, 0.05, 24).astype(np.float32)
    return [
        ("24 x 24, axis 1", qa(k, normal(24, 24), s, np.zeros(24, np.int32), -128, 127, np.int8, 1))
    ]


def w47(k):
    s = R.uniform(0.01, 0.05, (8, 4)).astype(np.float32)
    z = R.integers(-9, 9, (8, 4)).astype(np.int32)
    return [("8 x 64, 4 groups", qa(k, normal(8, 64), s, z, -128, 127, np.int8, 1))]


def w48(k):
    return [
        (f"uint8, zero point {z}", da(k, codes(8, 4096), 0.02, z, 0, 255, np.uint8))
        for z in (0, 90, 128)
    ]


def w49(k):
    c = R.integers(-(2**31), 2**31, 8192).astype(np.int32)
    return [("int32, zero point 1,000", da(k, c, 0.5, 1000, -(2**31), 2**31 - 1, np.int32))]


def int4(n, k):
    return R.integers(-8, 8, (n, k)).astype(np.int8)


def w50(k):
    odd, wide = int4(16, 33), int4(4, 128)
    return [
        ("pack_int4, k = 33", one(k.pack_int4(odd), integer.pack_int4(odd))),
        ("unpack_int4, k = 128", one(k.unpack_int4(integer.pack_int4(wide), 128), wide)),
    ]


def w51(k):
    v = R.integers(-3000, 3000, (16, 16)).astype(np.int32)
    return [("16 x 16", rs(k, v, R.uniform(0.005, 0.05, 16)))]


def w52(k):
    v = R.integers(-3000, 3000, (32, 8)).astype(np.int16)
    return [("int16, 16 bits", rs(k, v, R.uniform(0.005, 0.05, 8), bits=16))]


def w53(k):
    v = R.integers(-9000, 9000, (256, 8)).astype(np.int32)
    return [("int8, zero point -20", rs(k, v, R.uniform(0.005, 0.05, 8), (0, -20)))]


def w54(k):
    return [
        (f"{p}, align {a}", gs(k, int8(3, 16, 16), grid(32, 32), a, p, 0))
        for p in ("zeros", "border")
        for a in (False, True)
    ]


def w55(k):
    return [("24 x 16", gs(k, int8(2, 24, 16), grid(16, 16), False, "border", 0))]


def w56(k):
    return [("3 channels, zero point 7", gs(k, int8(3, 8, 8), grid(32, 32), False, "zeros", 7))]


def w57(k):
    s = R.uniform(0.001, 0.01, 16).astype(np.float32)
    return [("16 rows", qcs(k, normal(16, 64), int8(16, 64), s))]


def w58(k):
    s = R.uniform(0.001, 0.01, (16, 4)).astype(np.float32)
    return [("4 groups", qcs(k, normal(8, 64), int8(16, 64), s))]


def w59(k):
    s = R.uniform(0.001, 0.01, 16).astype(np.float32)
    return [("k = 33", qcs(k, normal(8, 33), integer.pack_int4(int4(16, 33)), s, True))]


def w60(k):
    s = R.uniform(0.001, 0.01, 16).astype(np.float32)
    x, w, v = normal(1, 64), integer.pack_int4(int4(16, 64)), integer.pack_int4(int4(16, 64))
    qcs(k, x, w, s, True)
    return [("one row, second weight of the same shape", qcs(k, x, v, s, True))]


def patterns(dtype, n):
    """Random bits: numbers of all sizes, infinities, NaN, subnormal numbers."""
    return R.integers(0, 256, n * np.dtype(dtype).itemsize, dtype=np.uint8).view(dtype)


def encodes(k):
    out = []
    for f in getattr(k, "FORMATS", ELEMENTS):
        for t in FLOATS if getattr(k, "FLOATS", None) is None else [np.float32]:
            for n in (0, 1, 5, 4099):
                out.append((f"{f} {n}", e(k, patterns(t, n), f)))
                out.append((f"{f} {n}", e(k, normal(n, dtype=t, scale=2), f)))
            ties = (R.integers(-512, 513, 4096) / 64).astype(t)
            out.append((f"{f} ties", e(k, ties, f)))
    return out


def decodes(k):
    return [
        (f"{f} {n}", one(k.decode(c, f), mxref.decode(c, f)))
        for f in getattr(k, "FORMATS", ELEMENTS)
        for n in (0, 1, 77, 1000)
        for c in [codes(BITS[f], n)]
    ]


def right06(k):
    c = np.arange(256, dtype=np.uint8)
    out = [("decode_scale", one(k.decode_scale(c), mxref.decode_scale(c)))]
    for t in FLOATS:
        out += [("patterns", es(k, patterns(t, 9999))), ("normal", es(k, normal(999, dtype=t)))]
        out.append(("none", es(k, normal(0, dtype=t))))
    return out


def right07(k):
    return [
        (f, ss(k, abs(x), f))
        for f in ELEMENTS
        for t in FLOATS
        for x in (patterns(t, 9999), normal(999, dtype=t), normal(0, dtype=t))
    ]


def right08(k):
    return [
        (f, q(k, x, f))
        for f in BLOCKS
        for t in FLOATS
        for x in (
            patterns(t, 3200).reshape(100, 32),
            normal(40, 32, dtype=t),
            normal(0, 32, dtype=t),
            normal(9, 32, dtype=t) * np.array(0, t),
        )
    ]


def right09(k):
    return [
        (f, dq(k, codes(8, n), codes(BITS[f[-4:]], n, 32), f, t))
        for f in BLOCKS
        for t in FLOATS
        for n in (0, 1, 300)
    ]


def right10(k):
    return [
        (f"{f} {n}", pairs((k.pack(c, f), k.unpack(p, f, n)), (p, c)))
        for f in ELEMENTS
        for n in (0, 1, 2, 3, 4, 5, 1001)
        for c in [codes(BITS[f], n)]
        for p in [mxref.pack(c, f)]
    ]


def right11(k):
    sizes = ((1, 1), (100, 6), (129, 9), (256, 8), (0, 4), (300, 17))
    return [case for r, c in sizes for case in tiles(k, r, c)]


def right12(k):
    return [
        (f, qt(k, normal(r, c, dtype=t), f, a))
        for f in BLOCKS
        for t in FLOATS
        for r, c, a in ((33, 5, 0), (5, 33, 1), (64, 64, 0), (64, 64, 1), (1, 1, 0), (70, 3, 1))
    ]


def right13(k):
    return [
        (f"{f} {m} {n} {d}", mm(k, m, n, d, f, exact=True))
        for f in BLOCKS
        for m, n, d in ((1, 1, 32), (9, 5, 64), (7, 7, 288))
    ]


def right14(k):
    out = []
    for source in (np.int8, np.int16, np.int32):
        for dtype in (np.int8, np.int16, np.int32, np.uint8):
            for bits in (32, 16):
                if source == np.int32 and dtype == np.uint8:
                    continue
                v = R.integers(-128, 128, (64, 5)).astype(source)
                zeros = (3 if source == np.int8 else 0, 7 if dtype in (np.int8, np.uint8) else 0)
                m, s = integer.multiplier_shift(R.uniform(0.1, 0.9, 5), bits)
                want = integer.rescale(v, m, s, *zeros, dtype=dtype, bits=bits)
                out.append(("rescale", one(k.rescale(v, m, s, *zeros, dtype, bits), want)))
    return out


def right15(k):
    return [
        ("sample", gs(k, image, grid(9, 11), a, p, 5))
        for a in (False, True)
        for p in ("zeros", "border")
        for image in (int8(3, 7, 5), codes(8, 1, 1, 1), codes(8, 2, 16, 33))
    ]


right01 = right02 = right04 = encodes
right03 = right05 = decodes


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main():
    folder, failed = Path(__file__).parent, []
    for path in sorted(folder.glob("w[0-9]*.py")) + sorted(folder.glob("right*.py")):
        if len(sys.argv) > 1 and path.stem not in sys.argv[1:]:
            continue
        try:
            cases = globals()[path.stem](load(path))
        except Exception as error:
            print(f"{path.stem} ERROR {type(error).__name__}: {error}", flush=True)
            failed.append(path.stem)
            continue
        wrong, total = (sum(part) for part in zip(*(counts for _, counts in cases), strict=True))
        if path.stem[0] == "w":
            text = "; ".join(f"{name}: {w / max(t, 1):.3%}" for name, (w, t) in cases)
            print(path.stem, "wrong" if wrong else "NOT WRONG", "|", text, flush=True)
            good = wrong > 0
        else:
            print(
                path.stem, "right" if not wrong else "NOT RIGHT", f"{wrong} of {total}", flush=True
            )
            good = wrong == 0
            for name, (w, t) in cases:
                if w:
                    print("   ", name, w, t)
        if not good:
            failed.append(path.stem)
    print("not as claimed:", " ".join(failed) or "none")


if __name__ == "__main__":
    main()
