"""What the kernels share: decoding by table, exponents of scales, NaN scales."""

import ml_dtypes
import numpy as np

_T = {
    "mxfp8_e4m3": ml_dtypes.float8_e4m3fn,
    "mxfp8_e5m2": ml_dtypes.float8_e5m2,
    "mxfp6_e3m2": ml_dtypes.float6_e3m2fn,
    "mxfp6_e2m3": ml_dtypes.float6_e2m3fn,
    "mxfp4_e2m1": ml_dtypes.float4_e2m1fn,
}
TABLES = {}
for _n, _t in _T.items():
    _size = {"mxfp6_e3m2": 64, "mxfp6_e2m3": 64, "mxfp4_e2m1": 16}.get(_n, 256)
    TABLES[_n] = np.arange(_size, dtype=np.uint8).view(_t).astype(np.float32)
TABLES["mxint8"] = np.arange(256, dtype=np.uint8).view(np.int8).astype(np.float32) / 64


def dec(codes, fmt):
    return TABLES[fmt][np.ascontiguousarray(codes)]


def expo(sa, sb):
    """exponents (m, n) of one block"""
    return np.add.outer(sa.astype(int), sb.astype(int)) - 254


def nanmask(sa, sb):
    return np.logical_or.outer((sa == 255).any(axis=1), (sb == 255).any(axis=1))


def finish(total, sa, sb):
    return np.where(nanmask(sa, sb), np.float32(np.nan), total).astype(np.float32)


def block_part(a, b, sa, sb, kb):
    s = slice(32 * kb, 32 * kb + 32)
    with np.errstate(all="ignore"):
        return np.ldexp(a[:, s] @ b[:, s].T, expo(sa[:, kb], sb[:, kb])).astype(np.float32)


def good(sa, ca, sb, cb, fa, fb):
    """A right one: block sums in float32, scaled, added."""
    return product(dec(ca, fa), dec(cb, fb), sa, sb)


def product(a, b, sa, sb):
    total = np.zeros((len(a), len(b)), np.float32)
    with np.errstate(all="ignore"):
        for kb in range(sa.shape[1]):
            total += block_part(a, b, sa, sb, kb)
    return finish(total, sa, sb)
