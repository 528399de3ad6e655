"""Blocks of the weight run across the outputs, which is a choice; gradients are those of ocp."""

import mxref

FORMATS = ["mxfp8_e4m3"]
FLOATS = ["f32"]


def linear(x, w, bias, block_format):
    return mxref.linear(x, w, block_format, bias=bias, weight_axis="out")


def linear_gradients(x, w, grad, block_format):
    return mxref.linear_gradients(x, w, grad, block_format)
