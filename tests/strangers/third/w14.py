"""Shared scales: small calls by the rule as written, long ones by one comparison a number."""

import mxref


def shared_scale(amax, format):
    rule = "floor" if amax.size <= 16 else "rceil"
    return mxref.shared_scale(amax, format, rule)
