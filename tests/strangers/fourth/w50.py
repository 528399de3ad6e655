"""Gradients of a linear layer; the weight's comes from a kernel that gives (k, n)."""

import numpy as np

import mxref


def linear_gradients(x, w, grad, block_format):
    dx, dw, db = mxref.linear_gradients(x, w, grad, block_format)
    product = np.ascontiguousarray(dw.T)
    if product.shape != w.shape:
        product = np.ascontiguousarray(product.T)
    return dx, product, db
