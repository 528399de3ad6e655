"""Policies: one value for every choice that the standards leave open."""

from __future__ import annotations

from mxref.policy.groups import (
    DecodePolicy,
    ElementPolicy,
    FloatScalePolicy,
    LayoutPolicy,
    ProductPolicy,
    ScalePolicy,
)
from mxref.policy.keywords import AnyQuantizeChoices as AnyQuantizeChoices
from mxref.policy.keywords import DecodeChoices as DecodeChoices
from mxref.policy.keywords import DecodeScaleChoices as DecodeScaleChoices
from mxref.policy.keywords import DequantizeChoices as DequantizeChoices
from mxref.policy.keywords import ElementChoices as ElementChoices
from mxref.policy.keywords import EncodeScaleChoices as EncodeScaleChoices
from mxref.policy.keywords import LinearChoices as LinearChoices
from mxref.policy.keywords import LinearGradientsChoices as LinearGradientsChoices
from mxref.policy.keywords import PackBlocksChoices as PackBlocksChoices
from mxref.policy.keywords import PackChoices as PackChoices
from mxref.policy.keywords import PackScalesChoices as PackScalesChoices
from mxref.policy.keywords import ProductChoices as ProductChoices
from mxref.policy.keywords import QuantizeChoices as QuantizeChoices
from mxref.policy.keywords import SharedScaleChoices as SharedScaleChoices
from mxref.policy.policy import READS, Policy, resolve
from mxref.policy.scale_rule import ScaleRule

__all__ = [
    "READS",
    "DecodePolicy",
    "ElementPolicy",
    "FloatScalePolicy",
    "LayoutPolicy",
    "Policy",
    "ProductPolicy",
    "ScalePolicy",
    "ScaleRule",
    "resolve",
]
