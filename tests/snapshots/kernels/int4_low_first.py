"""The first code of a pair lies in the low half: another choice, for an even number of codes."""

from mxref import integer


def pack_int4(codes):
    return integer.pack_int4(codes, "low_first")


def unpack_int4(packed, k):
    if k % 2:
        raise ValueError("k must be even")
    return integer.unpack_int4(packed, k, "low_first")
