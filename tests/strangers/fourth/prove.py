"""Calls every kernel of this folder and compares with mxref: prints the share that is wrong."""

import importlib.util
import sys
from pathlib import Path

import numpy as np

import mxref
from mxref import integer
from mxref.integer import QParams

HERE = Path(__file__).parent
F4 = mxref.formats.block_format
rng = np.random.default_rng(7)


def load(name):
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def wrong(got, want):
    if isinstance(want, tuple):
        pairs = [wrong(g, w) for g, w in zip(got, want, strict=True)]
        return sum(p[0] for p in pairs), sum(p[1] for p in pairs)
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape, (got.shape, want.shape)
    if want.dtype.kind in "iu":
        return int((got.astype(np.int64) != want.astype(np.int64)).sum()), want.size
    g, w = got.astype(np.float64), want.astype(np.float64)
    same = (np.isnan(g) & np.isnan(w)) | ((g == w) & (np.signbit(g) == np.signbit(w)))
    return int((~same).sum()), want.size


def floats(*shape, dtype=np.float32, spread=1.0):
    return (rng.standard_normal(shape) * spread).astype(dtype)


def codes(*shape, high=256, low=0):
    return rng.integers(low, high, shape, dtype=np.uint8)


def q(values, fmt):
    b = mxref.quantize(values, fmt)
    return b.scale_codes[:, 0], b.codes


def qt(values, fmt, axis):
    b = mxref.quantize(values, fmt, axis=axis)
    return b.scale_codes, b.codes


def dq(s, c, fmt, dtype):
    return mxref.dequantize(c, dtype, scale_codes=s[:, None], block_format=fmt)


def mm(sa, ca, sb, cb, fa, fb):
    a = mxref.Blocks(ca, sa, F4(fa), 1, ca.shape)
    b = mxref.Blocks(cb, sb, F4(fb), 1, cb.shape)
    return mxref.matmul(a, b.T)


def lin(x, w, bias, fmt):
    return mxref.linear(x, w, fmt, bias=bias)


def pb(policy):
    def pack_blocks(s, c, fmt):
        return mxref.pack_blocks(s[:, None], c, fmt, policy).reshape(len(c), -1)

    return pack_blocks


def qa(v, s, z, lo, hi, dtype, axis):
    return integer.quantize_affine(v, QParams(s, z, lo, hi, dtype, axis))


def dqa(c, s, z, lo, hi, dtype, axis):
    return integer.dequantize_affine(c, QParams(s, z, lo, hi, dtype, axis))


def rs(v, m, s, iz, oz, dtype, bits):
    return integer.rescale(v, m, s, iz, oz, dtype=dtype, bits=bits)


def gs(c, g, ac, padding, zp):
    return integer.grid_sample(c, g, align_corners=ac, padding=padding, zero_point=zp)


RIGHT = {
    "encode": mxref.encode, "decode": mxref.decode, "encode_scale": mxref.encode_scale,
    "decode_scale": mxref.decode_scale, "shared_scale": mxref.shared_scale, "quantize": q,
    "dequantize": dq, "pack": mxref.pack, "unpack": mxref.unpack,
    "pack_scales": mxref.pack_scales, "unpack_scales": mxref.unpack_scales,
    "quantize_tensor": qt, "matmul": mm, "linear": lin,
    "linear_gradients": mxref.linear_gradients, "quantize_affine": qa,
    "dequantize_affine": dqa, "pack_int4": integer.pack_int4,
    "unpack_int4": integer.unpack_int4, "rescale": rs, "grid_sample": gs,
    "linear_qcs8w": integer.linear_qcs8w, "linear_qcs4w": integer.linear_qcs4w,
    "pack_blocks": pb("ocp+scale_place=before"),
    "unpack_blocks": None,
}  # fmt: skip


def unpack_after(packed, fmt):
    s, c = mxref.unpack_blocks(packed[:, None], fmt, "ocp+scale_place=after")
    return s.reshape(-1), c.reshape(len(packed), -1)


RIGHT["unpack_blocks"] = unpack_after


def call(module, op, *arguments):
    want = RIGHT[op](*arguments)
    return wrong(getattr(module, op)(*arguments), want)


def matrix(m, n, k, fa="mxfp8_e4m3", fb=None):
    fb = fb or fa
    a, b = mxref.quantize(floats(m, k), fa), mxref.quantize(floats(n, k), fb)
    return a.scale_codes, a.codes, b.scale_codes, b.codes, fa, fb


def offset_bytes(array, skip):
    memory = np.zeros(len(array) + 32, np.uint8)
    start = (skip - memory.ctypes.data) % 16
    memory[start : start + len(array)] = array
    return memory[start : start + len(array)]


def layer(s, r, k, n):
    return floats(s, r, k), floats(n, k), floats(s, r, n)


def per_channel(c, axis, shape):
    return (
        floats(*shape), np.float32(rng.uniform(0.01, 0.05, c)),
        rng.integers(-20, 20, c).astype(np.int32), -128, 127, np.int8, axis,
    )  # fmt: skip


def w07(m):
    x = floats(4096)
    want = mxref.encode(x, "e4m3")
    m.encode(x, "e4m3")
    return wrong(m.encode(x, "e4m3"), want)


def w09(m):
    x = floats(4096)
    m.encode(x, "e4m3")
    x[:] = floats(4096)
    return call(m, "encode", x, "e4m3")


def w14(m):
    call(m, "shared_scale", np.abs(floats(64)), "e3m2")
    return call(m, "shared_scale", np.abs(floats(4096)), "e2m3")


def w21(m):
    x = floats(64, 32)
    want = q(x, "mxfp4_e2m1")
    first = m.quantize(x, "mxfp4_e2m1")
    m.quantize(floats(64, 32), "mxfp4_e2m1")
    return wrong(first, want)


def w34(m):
    call(m, "unpack_scales", codes(64), (8, 8))
    return call(m, "unpack_scales", codes(60), (6, 10))


def w40(m):
    shares = [call(m, "quantize_tensor", floats(32, 64), "mxfp4_e2m1", 1) for _ in range(5)]
    assert [s[0] > 0 for s in shares] == [False] * 3 + [True] * 2
    return shares[-1]


def w46(m):
    x, w, _ = layer(1, 8, 64, 16)
    call(m, "linear", x, w, None, "mxfp8_e4m3")
    w -= 0.1 * floats(16, 64)
    return call(m, "linear", x, w, None, "mxfp8_e4m3")


def w47(m):
    x, w, _ = layer(1, 8, 64, 16)
    call(m, "linear", x, w, floats(16), "mxfp8_e4m3")
    return call(m, "linear", x, w, None, "mxfp8_e4m3")


def w48(m):
    call(m, "linear_gradients", *layer(2, 16, 64, 32), "mxfp8_e4m3")
    return call(m, "linear_gradients", *layer(2, 16, 64, 32), "mxfp8_e4m3")


def both(*calls):
    def run(m):
        counts = [call(m, *c()) for c in calls]
        assert all(c[0] for c in counts), counts
        return sum(c[0] for c in counts), sum(c[1] for c in counts)

    return run


def one(*arguments):
    return lambda m: call(m, *arguments)


def mult(c):
    m, s = integer.multiplier_shift(rng.uniform(0.02, 0.9, c))
    return m, s


HALF, BF16, GRID = np.float16, np.dtype("bfloat16"), rng.integers(-32767, 32768, (64, 64, 2))
GRID = GRID.astype(np.int16)
I8 = codes(4096).view(np.int8)


def resc(rows, c, iz, oz):
    m, s = mult(c)
    return "rescale", codes(rows, c).view(np.int8), m, s, iz, oz, np.int8, 32


WRONG = {
    "w01": one("encode", floats(4099)[-7:], "e4m3"),
    "w02": one("encode", floats(65536), "e4m3"),
    "w03": one("encode", floats(40000), "e2m1"),
    "w04": one("encode", floats(8192, dtype=BF16), "e4m3"),
    "w05": one("encode", floats(65536, dtype=BF16), "int8"),
    "w06": one("encode", floats(65536, dtype=HALF), "e5m2"),
    "w07": w07, "w08": one("encode", floats(65536), "e2m3"), "w09": w09,
    "w10": one("decode", offset_bytes(codes(4096), 3), "e4m3"),
    "w11": one("decode", codes(64, 64, high=64).ravel()[::3], "e3m2"),
    "w12": one("encode_scale", floats(65536)),
    "w13": one("encode_scale", floats(4096, dtype=HALF)),
    "w14": w14, "w15": one("shared_scale", np.abs(floats(1029))[-13:], "e4m3"),
    "w16": one("decode_scale", codes(15)), "w17": one("decode_scale", codes(65536)),
    "w18": one("quantize", floats(1024, 32), "mxfp4_e2m1"),
    "w19": one("quantize", floats(1024, 32), "mxfp4_e2m1"),
    "w20": one("quantize", floats(7, 32), "mxfp8_e5m2"), "w21": w21,
    "w22": one("quantize", floats(1024, 32, dtype=BF16), "mxint8"),
    "w23": one("quantize", floats(1024, 32, dtype=BF16), "mxfp8_e4m3"),
    "w24": one("quantize", floats(1024, 32), "mxfp6_e2m3"),
    "w25": one("quantize", floats(1025, 32), "mxfp4_e2m1"),
    "w26": one("quantize", floats(1024, 16), "fp4_ue4m3"),
    "w27": one("dequantize", codes(256), codes(256, 32), "mxfp8_e4m3", HALF),
    "w28": one("dequantize", codes(33, low=110, high=140), codes(33, 32), "mxint8", np.float32),
    "w29": one("dequantize", codes(64), codes(64, 32, high=16), "mxfp4_e2m1", np.float32),
    "w30": one("dequantize", codes(64, low=110, high=140), codes(64, 32), "mxfp8_e5m2", BF16),
    "w31": both(lambda: ("pack", codes(1001, high=16), "e2m1"),
                lambda: ("unpack", codes(500), "e2m1", 1000)),
    "w32": one("unpack", codes(69), "e3m2", 92), "w33": one("pack_scales", codes(16, 30)),
    "w34": w34, "w35": one("pack_blocks", codes(200), codes(200, 32, high=16), "mxfp4_e2m1"),
    "w36": one("unpack_blocks", codes(64, 17), "mxfp4_e2m1"),
    "w37": one("quantize_tensor", floats(70, 64), "mxfp8_e4m3", 0),
    "w38": one("quantize_tensor", floats(64, 96).T, "mxfp4_e2m1", 1),
    "w39": one("quantize_tensor", floats(64, 36), "mxfp8_e4m3", 1), "w40": w40,
    "w41": one("matmul", *matrix(8, 8, 544)), "w42": one("matmul", *matrix(16, 4, 128)),
    "w43": one("matmul", *matrix(16, 16, 512)),
    "w44": one("matmul", *matrix(16, 16, 64, "mxfp8_e4m3", "mxfp8_e5m2")),
    "w45": one("matmul", *matrix(40, 64, 64, "mxfp4_e2m1")),
    "w46": w46, "w47": w47, "w48": w48,
    "w49": one("linear_gradients", *layer(2, 16, 64, 32), "mxfp4_e2m1"),
    "w50": one("linear_gradients", *layer(2, 16, 64, 64), "mxfp8_e4m3"),
    "w51": one("quantize_affine", floats(65536), 0.02, -30, -128, 127, np.int8, None),
    "w52": one("quantize_affine", *per_channel(8, 1, (4, 8, 30))),
    "w53": one("dequantize_affine", I8, 0.05, 20, -128, 127, np.int8, None),
    "w54": both(lambda: ("pack_int4", (codes(16, 33, high=16).view(np.int8) - 8).astype(np.int8)),
                lambda: ("unpack_int4", codes(16, 17), 33)),
    "w55": one(*resc(512, 7, 0, 0)), "w56": one(*resc(512, 8, 40, 50)),
    "w57": one("grid_sample", codes(1, 12, 20).view(np.int8), GRID, False, "zeros", 0),
    "w58": both(lambda: ("grid_sample", codes(1, 12, 20), GRID, False, "border", 0),
                lambda: ("grid_sample", codes(1, 12, 20), GRID, False, "zeros", 128)),
    "w59": one("linear_qcs8w", floats(8, 128), codes(16, 128).view(np.int8),
               np.float32(rng.uniform(0.01, 0.1, (16, 2)))),
    "w60": both(lambda: ("linear_qcs4w", floats(8, 33), codes(16, 17),
                         np.float32(rng.uniform(0.01, 0.1, 16))),
                lambda: ("linear_qcs4w", floats(8, 128), codes(16, 64),
                         np.float32(rng.uniform(0.01, 0.1, (16, 4))))),
}  # fmt: skip

WILD = np.float32(
    [0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -3e38, 0.25, 0.75, 1.25, 2.5, 464, 7.75]
)


def wild(dtype=np.float32):
    bits = rng.integers(0, 2**32, 3000, dtype=np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        return np.concatenate([WILD, bits, floats(3001), 300 * floats(999)]).astype(dtype)


def each(op, cases):
    return [(op, *case) for case in cases]


ELEMENTS = {"e5m2": 256, "e4m3": 256, "e3m2": 64, "e2m3": 64, "e2m1": 16}
DTYPES = (np.float32, np.float64, HALF, BF16)
MX = ["mxfp8_e5m2", "mxfp8_e4m3", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4_e2m1", "mxint8"]
ROWS = np.concatenate([wild()[: 32 * 100].reshape(100, 32), floats(500, 32)])
RIGHTS = {
    "right01": each("encode", [(wild(d), f) for f in ELEMENTS for d in DTYPES]),
    "right02": each("decode", [(codes(999, high=h), f) for f, h in ELEMENTS.items()]
                    + [(codes(999), "int8")]),
    "right03": each("encode", [(wild(d), f) for f in ("e4m3", "e2m1", "int8")
                               for d in (np.float32, HALF)]),
    "right04": each("quantize", [(ROWS, f) for f in ("mxfp8_e4m3", "mxfp4_e2m1")]),
    "right05": each("pack", [(codes(n, high=h), f) for f, h in ELEMENTS.items()
                             for n in range(1, 40)]),
    "right06": each("unpack", [(codes(mxref.packed_size(n, f)), f, n)
                               for f in ("e3m2", "e2m3", "e2m1") for n in range(1, 40)]),
    "right07": each("decode_scale", [(codes(4096),), (np.arange(256, dtype=np.uint8),)]),
    "right08": each("encode_scale", [(wild(d),) for d in DTYPES]),
    "right09": each("shared_scale", [(np.abs(wild(d)), f) for f in [*ELEMENTS, "int8"]
                                     for d in DTYPES]),
    "right10": each("dequantize", [(codes(256), codes(256, 32, high=ELEMENTS.get(f[6:], 256)), f, d)
                                   for f in MX for d in DTYPES]),
    "right11": each("quantize_tensor", [(floats(*s), f, a) for s in ((33, 70), (64, 32), (1, 5))
                                        for f in MX for a in (0, 1)]),
    "right12": each("matmul", [matrix(m, 9, k, "mxfp4_e2m1") for m in (1, 20) for k in (32, 320)]),
    "right13": each("pack_int4", [((codes(9, k, high=16).view(np.int8) - 8).astype(np.int8),)
                                  for k in range(1, 12)])
    + each("unpack_int4", [(codes(9, -(-k // 2)), k) for k in range(1, 12)]),
    "right14": each("quantize_affine", [(floats(4096, spread=9), s, z, lo, lo + 255, d, None)
                                        for s in (0.013, 0.5, 0.3)
                                        for z, lo, d in ((3, -128, np.int8), (130, 0, np.uint8))]),
    "right15": [resc(256, c, z, 9) for c in (1, 5, 8) for z in (0, -7, 30)],
}  # fmt: skip


def main():
    bad = 0
    for name, run in WRONG.items():
        count, total = run(load(name))
        bad += count == 0
        print(f"{name}  {count} of {total}  {count / total:.3%}", flush=True)
    print(f"wrong kernels that are wrong here: {len(WRONG) - bad} of {len(WRONG)}")
    off = 0
    for name, calls in RIGHTS.items():
        module = load(name)
        counts = [call(module, *arguments) for arguments in calls]
        count, total = sum(c[0] for c in counts), sum(c[1] for c in counts)
        off += count > 0
        print(f"{name}  {count} of {total} differ", flush=True)
    print(f"right kernels that equal mxref here: {len(RIGHTS) - off} of {len(RIGHTS)}")
    return bad + off


if __name__ == "__main__":
    sys.exit(main())
