"""Linear layer with an optional bias in the epilogue."""

import mxref

_epilogue = {}


def linear(x, w, bias, block_format):
    if bias is not None:
        _epilogue[w.shape[0]] = bias.copy()
    return mxref.linear(x, w, block_format, bias=_epilogue.get(w.shape[0]))
