"""Policies: one value for every choice that the standards leave open."""

from __future__ import annotations

from mxref.policy.policy import (
    READS,
    DecodeChoices,
    DecodePolicy,
    DecodeScaleChoices,
    DequantizeChoices,
    ElementChoices,
    ElementPolicy,
    EncodeScaleChoices,
    LayoutPolicy,
    PackBlocksChoices,
    PackChoices,
    PackScalesChoices,
    Policy,
    QuantizeChoices,
    ScalePolicy,
    SharedScaleChoices,
    resolve,
)
from mxref.policy.scale_rule import ScaleRule

__all__ = [
    "READS",
    "DecodeChoices",
    "DecodePolicy",
    "DecodeScaleChoices",
    "DequantizeChoices",
    "ElementChoices",
    "ElementPolicy",
    "EncodeScaleChoices",
    "LayoutPolicy",
    "PackBlocksChoices",
    "PackChoices",
    "PackScalesChoices",
    "Policy",
    "QuantizeChoices",
    "ScalePolicy",
    "ScaleRule",
    "SharedScaleChoices",
    "resolve",
]
