"""Wrong matrix products of MX blocks, each as a real kernel goes wrong."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ml_dtypes
import numpy as np
from products_base import *

np.seterr(all="ignore")
bf16 = ml_dtypes.bfloat16


class K:
    pass


def kernel(formats=None, multiples=None, **more):
    def make(function):
        ns = {"matmul": staticmethod(function), **more}
        if formats:
            ns["FORMATS"] = formats
        if multiples:
            ns["MULTIPLES"] = multiples
        return type(function.__name__, (), ns)

    return make


E4 = ["mxfp8_e4m3"]
E5 = ["mxfp8_e5m2"]
F4 = ["mxfp4_e2m1"]
I8 = ["mxint8"]


# --- tiles along M and N
@kernel(E5)
def w01_n_tail_from_tile_start(sa, ca, sb, cb, fa, fb):
    "the last, partial tile of 16 columns is stored one column late (wraps)"
    y = good(sa, ca, sb, cb, fa, fb)
    n = y.shape[1]
    if n > 16 and n % 16:
        y[:, n - n % 16 :] = np.roll(y[:, n - n % 16 :], 1, axis=1)
    return y


@kernel(E4)
def w02_m_tail_not_launched(sa, ca, sb, cb, fa, fb):
    "grid of M // 32 tiles once M > 32"
    y = good(sa, ca, sb, cb, fa, fb)
    m = len(y)
    if m > 32:
        y[m // 32 * 32 :] = 0
    return y


@kernel(E4)
def w03_scale_row_local_to_tile(sa, ca, sb, cb, fa, fb):
    "scales of b are indexed by the row within the tile of 64"
    i = np.arange(len(sb)) % 64
    return good(sa, ca, sb[i], cb, fa, fb)


@kernel(E4)
def w04_corner_of_large(sa, ca, sb, cb, fa, fb):
    "the last output of a product of at least 128 by 128 is not stored"
    y = good(sa, ca, sb, cb, fa, fb)
    if y.shape[0] >= 128 and y.shape[1] >= 128:
        y[-1, -1] = 0
    return y


@kernel(E4)
def w05_fragment_transposed(sa, ca, sb, cb, fa, fb):
    "each whole 8 by 8 fragment of the output is stored transposed where M and N are at least 16"
    y = good(sa, ca, sb, cb, fa, fb)
    m, n = y.shape
    if m >= 16 and n >= 16:
        for i in range(0, m - 7, 8):
            for j in range(0, n - 7, 8):
                y[i : i + 8, j : j + 8] = y[i : i + 8, j : j + 8].T.copy()
    return y


@kernel(I8)
def w06_output_transposed(sa, ca, sb, cb, fa, fb):
    "column-major output read as row-major"
    y = good(sa, ca, sb, cb, fa, fb)
    return np.ascontiguousarray(y.T).reshape(y.shape)


@kernel(E4)
def w07_second_tile_rows_swapped(sa, ca, sb, cb, fa, fb):
    "rows 8..15 and 0..7 of each 16-row half are swapped in the second and later 128-row tiles"
    y = good(sa, ca, sb, cb, fa, fb)
    for i in range(128, len(y) - 15, 16):
        y[i : i + 16] = np.roll(y[i : i + 16], 8, axis=0)
    return y


@kernel(E4)
def w08_swizzled_scales_misread(sa, ca, sb, cb, fa, fb):
    "whole groups of 128 rows: scale of row 4 (r % 32) + r // 32 instead of r"
    i = np.arange(len(sa))
    g = len(sa) // 128 * 128
    r = i % 128
    j = np.where(i < g, i // 128 * 128 + 4 * (r % 32) + r // 32, i)
    return good(sa[j], ca, sb, cb, fa, fb)


@kernel(E4)
def w09_gemv_path(sa, ca, sb, cb, fa, fb):
    "M = 1 has its own path, which takes the scale of block 0 for all"
    if len(sa) == 1:
        sa = np.repeat(sa[:, :1], sa.shape[1], axis=1)
    return good(sa, ca, sb, cb, fa, fb)


@kernel(E4)
def w10_large_dispatch(sa, ca, sb, cb, fa, fb):
    "at least 65,536 outputs go to a kernel that takes the neighbour column's scale at column 255"
    if len(sa) * len(sb) >= 65536:
        sb = sb.copy()
        sb[-1] = sb[-2]
    return good(sa, ca, sb, cb, fa, fb)


# --- K
@kernel(F4)
def w11_k_tail_dropped(sa, ca, sb, cb, fa, fb):
    "K in steps of 64; a last block of 32 is dropped"
    k = max(1, sa.shape[1] // 2) * 2 if sa.shape[1] > 1 else 1
    return product(dec(ca, fa)[:, : 32 * k], dec(cb, fb)[:, : 32 * k], sa[:, :k], sb[:, :k])


@kernel(E4)
def w12_k_tail_reads_next_row(sa, ca, sb, cb, fa, fb):
    "tiles of 128 along K; what lies behind the end of a row is the next row, not masked in b, and a's tile is not cleared"
    kb = sa.shape[1]
    k = 32 * kb
    if kb % 4 == 0 or kb < 4:
        return good(sa, ca, sb, cb, fa, fb)
    more = 4 - kb % 4
    a, b = dec(ca, fa), dec(cb, fb)
    # shared memory of a keeps the previous tile, b runs into the next row
    last = k - k % 128
    a2 = np.concatenate([a, a[:, last - 128 + k % 128 : last]], axis=1)
    nb = np.concatenate([b[1:], b[:1] * 0])[:, : 32 * more] if k >= 32 * more else b
    b2 = np.concatenate([b, nb], axis=1)
    pad = lambda s: np.concatenate([s, np.repeat(s[:, -1:], more, axis=1)], axis=1)
    return product(a2, b2, pad(sa), pad(sb))


@kernel(E4)
def w13_scale_stride_padded(sa, ca, sb, cb, fa, fb):
    "scales of b are packed, but read with a row stride rounded up to 4"
    kb = sb.shape[1]
    stride = -(-kb // 4) * 4
    flat = np.ascontiguousarray(sb).ravel()
    i = np.minimum(np.arange(len(sb))[:, None] * stride + np.arange(kb), flat.size - 1)
    return good(sa, ca, flat[i], cb, fa, fb)


@kernel(E4)
def w14_scale_prefetch_early(sa, ca, sb, cb, fa, fb):
    "at the end of each K tile of 128 the next tile's first scale of a is used for the last block"
    sa = sa.copy()
    for t in range(4, sa.shape[1], 4):
        sa[:, t - 1] = sa[:, t]
    return good(sa, ca, sb, cb, fa, fb)


@kernel(E4)
def w15_one_scale_for_128(sa, ca, sb, cb, fa, fb):
    "one scale for 128 elements, the first of four"
    i = np.arange(sa.shape[1]) // 4 * 4
    return good(sa[:, i], ca, sb[:, i], cb, fa, fb)


@kernel(E4)
def w16_split_k_last_part_lost(sa, ca, sb, cb, fa, fb):
    "K >= 512 is split in 3 parts of equal size; what is left over is lost"
    kb = sa.shape[1]
    if kb >= 16:
        kb = kb // 3 * 3
    return product(dec(ca, fa)[:, : 32 * kb], dec(cb, fb)[:, : 32 * kb], sa[:, :kb], sb[:, :kb])


@kernel(E4)
def w17_split_k_partials_bf16(sa, ca, sb, cb, fa, fb):
    "split-K of 2 for K >= 256; partial sums are kept in bfloat16"
    kb = sa.shape[1]
    if kb < 8:
        return good(sa, ca, sb, cb, fa, fb)
    h = kb // 2
    a, b = dec(ca, fa), dec(cb, fb)
    p = (
        product(a[:, : 32 * h], b[:, : 32 * h], sa[:, :h], sb[:, :h])
        .astype(bf16)
        .astype(np.float32)
    )
    q = (
        product(a[:, 32 * h :], b[:, 32 * h :], sa[:, h:], sb[:, h:])
        .astype(bf16)
        .astype(np.float32)
    )
    return p + q


@kernel(E4)
def w18_lane_31_of_last_block(sa, ca, sb, cb, fa, fb):
    "the loop over the last block of 32 ends one early"
    a = dec(ca, fa).copy()
    a[:, -1] = 0
    y = product(a, dec(cb, fb), sa, sb)
    return y


@kernel(E4)
def w19_k_over_1024(sa, ca, sb, cb, fa, fb):
    "beyond K = 1024 only"
    kb = min(sa.shape[1], 32)
    return product(dec(ca, fa)[:, : 32 * kb], dec(cb, fb)[:, : 32 * kb], sa[:, :kb], sb[:, :kb])


# --- accumulators, scales
@kernel(E4)
def w20_bf16_accumulator(sa, ca, sb, cb, fa, fb):
    a, b = dec(ca, fa), dec(cb, fb)
    t = np.zeros((len(a), len(b)), np.float32)
    for kb in range(sa.shape[1]):
        t = (t + block_part(a, b, sa, sb, kb)).astype(bf16).astype(np.float32)
    return finish(t, sa, sb)


@kernel(E4)
def w21_f16_in_block(sa, ca, sb, cb, fa, fb):
    "the sum of a block in float16"
    a, b = dec(ca, fa), dec(cb, fb)
    t = np.zeros((len(a), len(b)), np.float32)
    for kb in range(sa.shape[1]):
        s = slice(32 * kb, 32 * kb + 32)
        part = np.zeros(t.shape, np.float16)
        for k in range(32 * kb, 32 * kb + 32):
            part = (part.astype(np.float32) + np.outer(a[:, k], b[:, k])).astype(np.float16)
        t += np.ldexp(part.astype(np.float32), expo(sa[:, kb], sb[:, kb]))
    return finish(t, sa, sb)


@kernel(E5)
def w22_scale_bytes_clamped(sa, ca, sb, cb, fa, fb):
    "the two scales become one E8M0 byte, clamped to 00..fe"
    a, b = dec(ca, fa), dec(cb, fb)
    t = np.zeros((len(a), len(b)), np.float32)
    for kb in range(sa.shape[1]):
        s = slice(32 * kb, 32 * kb + 32)
        e = np.clip(expo(sa[:, kb], sb[:, kb]) + 127, 0, 254) - 127
        t += np.ldexp(a[:, s] @ b[:, s].T, e)
    return finish(t, sa, sb)


@kernel(E4)
def w23_scales_multiplied_float32(sa, ca, sb, cb, fa, fb):
    a, b = dec(ca, fa), dec(cb, fb)
    f = lambda s: np.ldexp(np.float32(1), s.astype(int) - 127)
    t = np.zeros((len(a), len(b)), np.float32)
    for kb in range(sa.shape[1]):
        s = slice(32 * kb, 32 * kb + 32)
        t += (a[:, s] @ b[:, s].T) * np.outer(f(sa[:, kb]), f(sb[:, kb])).astype(np.float32)
    return finish(t, sa, sb)


@kernel(E4)
def w24_operands_dequantized_bf16(sa, ca, sb, cb, fa, fb):
    "each operand is dequantized to float32 first, with its scale: overflows and underflows on the way"
    f = lambda s: np.ldexp(np.float32(1), np.repeat(s.astype(int), 32, axis=1) - 127)
    a = (dec(ca, fa) * f(sa)).astype(bf16).astype(np.float32)
    b = (dec(cb, fb) * f(sb)).astype(bf16).astype(np.float32)
    return finish((a @ b.T).astype(np.float32), sa, sb)


@kernel(E4)
def w25_scale_00_is_zero(sa, ca, sb, cb, fa, fb):
    a = dec(ca, fa) * np.repeat(sa != 0, 32, axis=1)
    b = dec(cb, fb) * np.repeat(sb != 0, 32, axis=1)
    return product(a, b, sa, sb)


@kernel(E4)
def w26_scale_ff_is_inf(sa, ca, sb, cb, fa, fb):
    a, b = dec(ca, fa), dec(cb, fb)
    t = np.zeros((len(a), len(b)), np.float32)
    for kb in range(sa.shape[1]):
        s = slice(32 * kb, 32 * kb + 32)
        inf = np.logical_or.outer(sa[:, kb] == 255, sb[:, kb] == 255)
        p = a[:, s] @ b[:, s].T
        t += np.where(inf, p * np.float32(np.inf), np.ldexp(p, expo(sa[:, kb], sb[:, kb])))
    return t


@kernel(E4)
def w27_zero_block_skipped(sa, ca, sb, cb, fa, fb):
    "a block of zeros is skipped, NaN scale or not"
    a, b = dec(ca, fa), dec(cb, fb)
    t = np.zeros((len(a), len(b)), np.float32)
    for kb in range(sa.shape[1]):
        s = slice(32 * kb, 32 * kb + 32)
        live = np.logical_and.outer((a[:, s] != 0).any(axis=1), (b[:, s] != 0).any(axis=1))
        nan = np.logical_or.outer(sa[:, kb] == 255, sb[:, kb] == 255)
        p = np.where(
            nan, np.float32(np.nan), np.ldexp(a[:, s] @ b[:, s].T, expo(sa[:, kb], sb[:, kb]))
        )
        t = np.where(live, t + p, t)
    return t.astype(np.float32)


# --- decoding
def _with_table(name, change):
    table = TABLES[name].copy()
    change(table)

    def d(c, f):
        return table[c] if f == name else dec(c, f)

    return d


def _sub(t):
    t[np.abs(t) < 2.0**-6] = 0


_d28 = _with_table("mxfp8_e4m3", _sub)


@kernel(E4)
def w28_subnormals_flushed(sa, ca, sb, cb, fa, fb):
    return product(_d28(ca, fa), _d28(cb, fb), sa, sb)


@kernel(I8)
def w29_int8_scaled_once(sa, ca, sb, cb, fa, fb):
    "2^-6 for a, but not for b"
    return product(dec(ca, fa), dec(cb, fb) * 64, sa, sb)


def _m127(t):
    t[128] = -127 / 64


_d30 = _with_table("mxint8", _m127)


@kernel(I8)
def w30_int8_80(sa, ca, sb, cb, fa, fb):
    return product(dec(ca, fa), _d30(cb, fb), sa, sb)


@kernel(I8)
def w31_int8_int16(sa, ca, sb, cb, fa, fb):
    "pairs of products are added in saturating int16, as maddubs does"
    a, b = (dec(c, "mxint8") * 64 for c in (ca, cb))
    t = np.zeros((len(a), len(b)), np.float32)
    for kb in range(sa.shape[1]):
        p = np.zeros(t.shape, np.float32)
        for k in range(32 * kb, 32 * kb + 32, 2):
            p += np.clip(
                np.outer(a[:, k], b[:, k]) + np.outer(a[:, k + 1], b[:, k + 1]), -32768, 32767
            )
        t += np.ldexp(p, expo(sa[:, kb], sb[:, kb]) - 12)
    return finish(t, sa, sb)


def _inf(t):
    t[0x7C], t[0xFC] = 65536, -65536


_d32 = _with_table("mxfp8_e5m2", _inf)


@kernel(E5)
def w32_e5m2_inf_finite(sa, ca, sb, cb, fa, fb):
    return product(_d32(ca, fa), _d32(cb, fb), sa, sb)


@kernel(E5)
def w33_e5m2_nan_is_inf(sa, ca, sb, cb, fa, fb):
    def d(c, f):
        t = dec(c, f)
        return np.where(np.isnan(t), np.where(c < 128, np.inf, -np.inf), t).astype(np.float32)

    return product(d(ca, fa), d(cb, fb), sa, sb)


def _480(t):
    t[0x7F], t[0xFF] = 480, -480


_d34 = _with_table("mxfp8_e4m3", _480)


@kernel(E4)
def w34_e4m3_7f_is_480(sa, ca, sb, cb, fa, fb):
    return product(_d34(ca, fa), _d34(cb, fb), sa, sb)


@kernel(E4 + F4)
def w35_format_of_a_for_both(sa, ca, sb, cb, fa, fb):
    t = TABLES[fa]
    return product(dec(ca, fa), t[cb % len(t)], sa, sb)


@kernel(F4)
def w36_nibbles_of_b(sa, ca, sb, cb, fa, fb):
    "the two nibbles of a byte are swapped in b"
    return good(sa, ca, sb, cb.reshape(len(cb), -1, 2)[:, :, ::-1].reshape(cb.shape), fa, fb)


# --- calls
_work = {}


@kernel(E4)
def w37_workspace_not_cleared(sa, ca, sb, cb, fa, fb):
    "split-K (K >= 256) adds into a workspace that is kept from call to call and not cleared"
    y = good(sa, ca, sb, cb, fa, fb)
    if sa.shape[1] < 8:
        return y
    w = _work.setdefault(y.shape, np.zeros(y.shape, np.float32))
    w += y
    return w.copy()


_cache = {}


@kernel(E4)
def w38_weights_cached_by_shape(sa, ca, sb, cb, fa, fb):
    "the decoded weights are cached by shape"
    b, s = _cache.setdefault(cb.shape, (dec(cb, fb), sb.copy()))
    return product(dec(ca, fa), b, sa, s)


@kernel(E4)
def w39_memory_order(sa, ca, sb, cb, fa, fb):
    "reads memory as it lies, whatever the strides"
    flat = lambda x: x.ravel(order="K").reshape(x.shape)
    return good(flat(sa), flat(ca), flat(sb), flat(cb), fa, fb)


_buf = np.zeros((4096, 4096), np.float32)


@kernel(E4)
def w40_returns_its_buffer(sa, ca, sb, cb, fa, fb):
    "the result is a view of a buffer that the next call overwrites"
    y = good(sa, ca, sb, cb, fa, fb)
    v = _buf[: y.shape[0], : y.shape[1]]
    v[...] = y
    return v


# --- output
@kernel(E4)
def w41_ftz_output(sa, ca, sb, cb, fa, fb):
    y = good(sa, ca, sb, cb, fa, fb)
    y[np.abs(y) < 2.0**-126] = 0
    return y


@kernel(E4)
def w42_saturates_output(sa, ca, sb, cb, fa, fb):
    y = good(sa, ca, sb, cb, fa, fb)
    m = np.finfo(np.float32).max
    return np.where(np.isinf(y), np.copysign(m, y), y).astype(np.float32)


@kernel(E4)
def w43_output_by_way_of_f16(sa, ca, sb, cb, fa, fb):
    "stored through a float16 epilogue"
    return good(sa, ca, sb, cb, fa, fb).astype(np.float16).astype(np.float32)


@kernel(E4)
def w44_bf16_truncated(sa, ca, sb, cb, fa, fb, dtype):
    "bfloat16 output is the upper half of float32"
    y = good(sa, ca, sb, cb, fa, fb)
    if np.dtype(dtype) == bf16:
        return (y.view(np.uint32) >> 16).astype(np.uint16).view(bf16)
    return y.astype(dtype)


@kernel(E5)
def w45_nan_to_num(sa, ca, sb, cb, fa, fb):
    "Inf of both signs, and Inf times zero, give 0"
    y = good(sa, ca, sb, cb, fa, fb)
    bad = np.logical_or.outer(np.isnan(dec(ca, fa)).any(1), np.isnan(dec(cb, fb)).any(1)) | nanmask(
        sa, sb
    )
    return np.where(np.isnan(y) & ~bad, np.float32(0), y).astype(np.float32)


@kernel(E4)
def w46_all_zeros(sa, ca, sb, cb, fa, fb):
    return np.zeros((len(sa), len(sb)), np.float32)


@kernel(E4 + F4)
def w47_operands_swapped_scales(sa, ca, sb, cb, fa, fb):
    "square products: the scales of a and b are exchanged"
    if sa.shape == sb.shape:
        sa, sb = sb, sa
    return good(sa, ca, sb, cb, fa, fb)


@kernel(E4)
def w48_absolute_order_negated_lane(sa, ca, sb, cb, fa, fb):
    "lane 17 of every 64 along K is taken from lane 16"
    cb = cb.copy()
    i = np.arange(17, cb.shape[1], 64)
    cb[:, i] = cb[:, i - 1]
    return good(sa, ca, sb, cb, fa, fb)


@kernel(E4)
def w49_odd_rows_past_64(sa, ca, sb, cb, fa, fb):
    "odd rows of a in tiles of 64, beyond the first tile, take the code of the even row at k = 0"
    ca = ca.copy()
    i = np.arange(len(ca))
    o = (i >= 64) & (i % 2 == 1)
    ca[o, 0] = ca[i[o] - 1, 0]
    return good(sa, ca, sb, cb, fa, fb)


@kernel(E4, multiples=(16, 16, 64))
def w50_padding_not_cleared(sa, ca, sb, cb, fa, fb):
    "padded by the caller; zeros of b are read as what the last call left there"
    y = good(sa, ca, sb, cb, fa, fb)
    y[-1, :] = y[0, :]
    return y
