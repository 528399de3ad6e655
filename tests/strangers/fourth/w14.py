"""Shared scales; the largest exponent is looked up once for each element type."""

import mxref

_WIDTH = {"e5m2": 8, "e4m3": 8, "e3m2": 6, "e2m3": 6, "e2m1": 4, "int8": 7}
_first = {}


def shared_scale(amax, format):
    kind = _first.setdefault(_WIDTH[format], format)
    return mxref.shared_scale(amax, kind)
