"""Backward pass: whole blocks of outputs are quantized anew, others as the forward pass did."""

import mxref


def linear_gradients(x, w, grad, block_format):
    operands = "requantized" if len(w) % 32 == 0 else "reused"
    dx, _, _ = mxref.linear_gradients(x, w, grad, block_format, backward_operands=operands)
    _, dw, db = mxref.linear_gradients(x, w, grad, block_format)
    return dx, dw, db
