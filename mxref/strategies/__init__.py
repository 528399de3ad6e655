"""Hypothesis strategies for property tests of MX code: floats, blocks, codes, tensors, policies.

They know where the formats change their minds, and shrink to the simplest number that fails. A
property test of a kernel takes five lines:

>>> import mxref
>>> from hypothesis import given
>>> from mxref.strategies import near_thresholds, patterns, values
>>> @given(values("f32", 16, patterns("f32") | near_thresholds("e4m3", "f32")))
... def test_encode_keeps_the_sign(numbers):
...     codes = mxref.encode(numbers, "e4m3", nan="signed")
...     assert (codes >> 7 == numbers.view("u4") >> 31).all()
>>> test_encode_keeps_the_sign()

Floats are given by the names `f32`, `f16`, `bf16`, `f64`. Strategies of bit patterns (`patterns`,
`near_thresholds`, `near_scale_limits`) join by ``|``, and `values` makes floats of them. They need
the package hypothesis: ``pip install 'mxref[fuzz]'``.
"""

from __future__ import annotations

try:
    import hypothesis as _hypothesis  # noqa: F401
except ImportError:
    raise ImportError(
        "mxref.strategies needs the package hypothesis, which is not installed: "
        "pip install 'mxref[fuzz]'"
    ) from None

from mxref.strategies.for_blocks import blocks, coded_blocks, codes, scale_codes
from mxref.strategies.for_floats import near_scale_limits, near_thresholds, patterns, values
from mxref.strategies.for_policies import policies
from mxref.strategies.for_tensors import tensors

__all__ = [
    "blocks",
    "coded_blocks",
    "codes",
    "near_scale_limits",
    "near_thresholds",
    "patterns",
    "policies",
    "scale_codes",
    "tensors",
    "values",
]
