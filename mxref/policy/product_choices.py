"""Choices of products and of linear layers; see `mxref.policy.choices`."""

from __future__ import annotations

from mxref.policy.choice import CONTRADICTS, PERMITTED, SILENT, Choice

__all__ = ["Accumulation", "Activations", "BackwardOperands", "GradientRows", "WeightAxis"]


class Accumulation(Choice):
    """The precision and the order of a sum of products. Source: SPEC_NOTES N26, N43.

    All but `exact` add in float32, each sum rounded, and convert the result to the output type.
    The aligned ones are the adders of NVIDIA's tensor cores, by the bits that they keep.
    """

    EXACT = "exact", PERMITTED  #: the exact sum, rounded once
    SEQUENTIAL = "sequential", PERMITTED  #: along the summed axis, from the first product on
    PAIRWISE = "pairwise", PERMITTED  #: neighbours, then neighbouring sums; an odd one is carried
    BY_BLOCK = "by_block", PERMITTED  #: sequential in each block, then over the sums of blocks
    SCALES_LAST = "scales_last", CONTRADICTS  #: codes in each block, then times both scales
    ALIGNED_25 = "aligned_25", PERMITTED  #: 32 products truncated to 25 bits below the largest
    ALIGNED_35 = "aligned_35", PERMITTED  #: E2M1: 64 products, 16 of them exact, in 35 bits
    ALIGNED_13 = "aligned_13", PERMITTED  #: codes in 13 bits, then times both scales, in float32


class BackwardOperands(Choice):
    """The operands of a linear layer's gradients. Source: SPEC_NOTES N44."""

    REQUANTIZED = "requantized", SILENT  #: each quantized along the axis that is summed over
    REUSED = "reused", SILENT  #: those of the forward product, the gradient along its last axis


class GradientRows(Choice):
    """The rows that share blocks in the product for a weight's gradient. Source: SPEC_NOTES N44."""

    FLATTENED = "flattened", SILENT  #: all rows, one after the other
    SEQUENCES = "sequences", SILENT  #: those of the second-last axis: blocks end with a sequence


class WeightAxis(Choice):
    """The axis of blocks of a linear layer's weight. Source: SPEC_NOTES N44."""

    IN = "in", SILENT  #: along the inputs, the axis that is summed over
    OUT = "out", SILENT  #: across the outputs


class Activations(Choice):
    """Whether a linear layer's input is quantized. Source: SPEC_NOTES N44."""

    QUANTIZED = "quantized", SILENT  #: in blocks along its last axis
    KEPT = "kept", SILENT  #: as it is: only the weight is quantized
