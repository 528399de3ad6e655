"""Right matrix products that add in legal ways."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import math

import numpy as np
from products_base import *
from wrong_products import E4, E5, F4, I8, kernel

np.seterr(all="ignore")
f32 = np.float32


def terms(sa, ca, sb, cb, fa, fb, dt=np.float32):
    "(m, n, k) products with scales"
    a, b = dec(ca, fa).astype(np.float64), dec(cb, fb).astype(np.float64)
    e = np.repeat(sa.astype(int), 32, 1)[:, None] + np.repeat(sb.astype(int), 32, 1)[None] - 254
    return np.ldexp(a[:, None] * b[None], e).astype(dt)


def chunks(f):
    "rows of a a few at a time"

    def g(sa, ca, sb, cb, fa, fb):
        step = max(1, (1 << 21) // max(1, cb.size))
        parts = [
            f(sa[i : i + step], ca[i : i + step], sb, cb, fa, fb) for i in range(0, len(sa), step)
        ]
        return finish(np.concatenate(parts), sa, sb)

    g.__name__ = f.__name__
    return g


def seq(t):
    s = t[..., 0]
    for k in range(1, t.shape[-1]):
        s = s + t[..., k]
    return s


@kernel(E4 + F4)
@chunks
def r01_sequential(*x):
    return seq(terms(*x))


@kernel(E4)
@chunks
def r02_pairwise(*x):
    t = terms(*x)
    while t.shape[-1] > 1:
        h = t.shape[-1] // 2 * 2
        t = np.concatenate([t[..., 0:h:2] + t[..., 1:h:2], t[..., h:]], -1)
    return t[..., 0]


@kernel(E4)
@chunks
def r03_by_block(*x):
    t = terms(*x)
    return seq(seq(np.moveaxis(t.reshape(*t.shape[:2], -1, 32), 3, 3)))


@kernel(E4)
def r04_block_then_exponent(sa, ca, sb, cb, fa, fb):
    a, b = dec(ca, fa), dec(cb, fb)
    total = None
    for kb in range(sa.shape[1]):
        s = np.outer(a[:, 32 * kb], b[:, 32 * kb])
        for k in range(32 * kb + 1, 32 * kb + 32):
            s = s + np.outer(a[:, k], b[:, k])
        with_scale = np.ldexp(s, expo(sa[:, kb], sb[:, kb]))
        total = with_scale if total is None else total + with_scale
    return finish(total, sa, sb)


@kernel(E5)
@chunks
def r05_float64(*x):
    return terms(*x, np.float64).sum(-1).astype(f32)


@kernel(E4)
def r06_fsum(sa, ca, sb, cb, fa, fb):
    @chunks
    def f(*x):
        t = terms(*x, np.float64)
        t = np.where(np.isfinite(t), t, np.nan)
        return (
            np.array([[math.fsum(c) for c in r] for r in t], np.float64)
            .astype(f32)
            .reshape(t.shape[:2])
        )

    return f(sa, ca, sb, cb, fa, fb)


def fields(codes, fmt):
    "integer significand (signed) and exponent of its unit, with the exponent field's least for subnormals"
    mant, bias, ebits = {
        "mxfp8_e4m3": (3, 7, 4),
        "mxfp8_e5m2": (2, 15, 5),
        "mxfp6_e3m2": (2, 3, 3),
        "mxfp6_e2m3": (3, 1, 2),
        "mxfp4_e2m1": (1, 1, 2),
    }[fmt]
    c = codes.astype(np.int64)
    e = c >> mant & (1 << ebits) - 1
    m = c & (1 << mant) - 1
    sig = np.where(e > 0, m + (1 << mant), m)
    sig = np.where(c >> mant + ebits & 1, -sig, sig)
    return sig, np.maximum(e, 1) - bias, mant


def trunc_shift(x, s):
    "x * 2^s toward zero, Python integers or int64 arrays with |s| limited"
    s = np.clip(s, -62, 40)
    m = np.abs(x)
    r = np.where(s >= 0, m << np.maximum(s, 0), m >> np.maximum(-s, 0))
    return np.where(x < 0, -r, r)


def parts_of_f32(y):
    m, e = np.frexp(y.astype(np.float64))
    e = np.maximum(e - 1, -126)
    sig = np.ldexp(y.astype(np.float64), 23 - e).astype(np.int64)
    return sig, e


def to_f32_rz(total, unit):
    "total * 2^unit toward zero to float32, overflow Inf"
    m = np.abs(total).astype(object)
    out = np.zeros(total.shape, f32)
    for i in np.ndindex(total.shape):
        v = int(m[i])
        u = int(unit[i])
        if not v:
            continue
        top = v.bit_length() - 1 + u
        low = max(top - 23, -149)
        sh = low - u
        q = v >> sh if sh >= 0 else v << -sh
        r = math.ldexp(q, low) if top < 128 else math.inf
        out[i] = -r if total[i] < 0 and r else r
    return out


def aligned(F, scaled, step):
    def f(sa, ca, sb, cb, fa, fb):
        siga, ea, ma = fields(ca, fa)
        sigb, eb, mb = fields(cb, fb)
        acc = np.zeros((len(ca), len(cb)), f32)
        EA = ea + np.repeat(sa.astype(int) - 127, 32, 1)
        EB = eb + np.repeat(sb.astype(int) - 127, 32, 1)
        for k in range(0, ca.shape[1], 32):
            s = slice(k, k + 32)
            p = siga[:, None, s] * sigb[None, :, s]
            E = np.where(p == 0, -133, EA[:, None, s] + EB[None, :, s])
            cs, ce = parts_of_f32(np.where(np.isfinite(acc), acc, f32(0)))
            ce = np.where(cs == 0, -133, ce)
            e = np.maximum(E.max(-1), ce)
            # unit of a term 2^(E - ma - mb); of the sum 2^(ce - 23); grid 2^(e - F)
            t = trunc_shift(p, E - ma - mb - (e[..., None] - F)).sum(-1) + trunc_shift(
                cs, ce - 23 - (e - F)
            )
            acc = np.where(np.isfinite(acc), to_f32_rz(t, e - F), acc)
        specials = good(sa, ca, sb, cb, fa, fb)
        A, B = dec(ca, fa), dec(cb, fb)
        odd = np.logical_or.outer((~np.isfinite(A)).any(1), (~np.isfinite(B)).any(1)) | nanmask(
            sa, sb
        )
        return np.where(odd, specials, acc).astype(f32)

    return f


r07_aligned_25 = kernel(E4)(aligned(25, True, 32))


def hopper(sa, ca, sb, cb, fa, fb):
    siga, ea, ma = fields(ca, fa)
    sigb, eb, mb = fields(cb, fb)
    F = 13
    total = np.zeros((len(ca), len(cb)), f32)
    for kb in range(sa.shape[1]):
        s = slice(32 * kb, 32 * kb + 32)
        p = siga[:, None, s] * sigb[None, :, s]
        E = np.where(p == 0, -133, ea[:, None, s] + eb[None, :, s])
        e = E.max(-1)
        t = trunc_shift(p, E - ma - mb - (e[..., None] - F)).sum(-1)
        y = to_f32_rz(t, e - F)
        y = (y.view(np.uint32) & np.uint32(0xFFFFFC00)).view(f32)
        total = total + np.ldexp(y, expo(sa[:, kb], sb[:, kb]))
    specials = good(sa, ca, sb, cb, fa, fb)
    A, B = dec(ca, fa), dec(cb, fb)
    odd = np.logical_or.outer((~np.isfinite(A)).any(1), (~np.isfinite(B)).any(1)) | nanmask(sa, sb)
    return np.where(odd, specials, total).astype(f32)


r08_aligned_13 = kernel(E4)(hopper)


def mxf4(sa, ca, sb, cb, fa, fb):
    a, b = (TABLES[f][c].astype(np.float64) * 2 for f, c in ((fa, ca), (fb, cb)))
    if sa.shape[1] % 2:
        a, b = (np.pad(x, ((0, 0), (0, 32))) for x in (a, b))
        sa2, sb2 = (np.pad(x, ((0, 0), (0, 1)), constant_values=127) for x in (sa, sb))
    else:
        sa2, sb2 = sa, sb
    F = 35
    acc = np.zeros((len(a), len(b)), f32)
    for k in range(0, a.shape[1], 64):
        gs, es = [], []
        for g in range(4):
            s = slice(k + 16 * g, k + 16 * g + 16)
            kb = (k + 16 * g) // 32
            p = a[:, None, s] * b[None, :, s]
            gs.append(p.sum(-1).astype(np.int64))
            es.append(np.where((p == 0).all(-1), -139, expo(sa2[:, kb], sb2[:, kb])))
        gs, es = np.stack(gs, -1), np.stack(es, -1)
        cs, ce = parts_of_f32(np.where(np.isfinite(acc), acc, f32(0)))
        ce = np.where(cs == 0, -133, ce)
        e = np.maximum(es.max(-1), ce)
        t = trunc_shift(gs, es - 2 - (e[..., None] - F)).sum(-1) + trunc_shift(
            cs, ce - 23 - (e - F)
        )
        acc = np.where(np.isfinite(acc), to_f32_rz(t, e - F), acc)
    return finish(acc, sa, sb)


r09_aligned_35 = kernel(F4)(mxf4)


@kernel(["mxfp6_e3m2"])
@chunks
def r10_split_k(*x):
    t = terms(*x)
    h = -(-t.shape[-1] // 4)
    s = f32(0)
    for i in range(0, t.shape[-1], h):
        s = s + seq(t[..., i : i + h])
    return s


@kernel(E4)
@chunks
def r11_descending_fma(*x):
    return seq(terms(*x)[..., ::-1])


@kernel(E5)
@chunks
def r12_lanes_16(*x):
    t = terms(*x)
    t = seq(np.moveaxis(t.reshape(*t.shape[:2], -1, 16), 2, 3))
    while t.shape[-1] > 1:
        h = t.shape[-1] // 2
        t = t[..., :h] + t[..., h:]
    return t[..., 0]


@kernel(["mxfp8_e5m2", "mxfp6_e2m3"], multiples=(16, 8, 64))
def r13_tiles_and_blas(sa, ca, sb, cb, fa, fb):
    assert len(sa) % 16 == 0 and len(sb) % 8 == 0 and ca.shape[1] % 64 == 0
    y = np.empty((len(sa), len(sb)), f32)
    for i in range(0, len(sa), 16):
        for j in range(0, len(sb), 8):
            y[i : i + 16, j : j + 8] = good(
                sa[i : i + 16], ca[i : i + 16], sb[j : j + 8], cb[j : j + 8], fa, fb
            )
    return y


@kernel(E4 + I8)
def r14_dtype(sa, ca, sb, cb, fa, fb, dtype):
    return good(sa, ca, sb, cb, fa, fb).astype(dtype)


@kernel(I8 + F4)
def r15_block_blas(sa, ca, sb, cb, fa, fb):
    return good(sa, ca, sb, cb, fa, fb)


@kernel(I8)
def r16_int32_blocks(sa, ca, sb, cb, fa, fb):
    a, b = ca.view(np.int8).astype(np.int32), cb.view(np.int8).astype(np.int32)
    t = np.zeros((len(a), len(b)), f32)
    for kb in range(sa.shape[1]):
        s = slice(32 * kb, 32 * kb + 32)
        t = t + np.ldexp((a[:, s] @ b[:, s].T).astype(f32), expo(sa[:, kb], sb[:, kb]) - 12)
    return finish(t, sa, sb)
