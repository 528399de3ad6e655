"""Hypothesis strategies for property tests of MX code: floats, blocks, codes, tensors, policies.

They draw numbers next to the thresholds of the formats, and shrink to the simplest number that
fails. A property test of a kernel takes five lines:

>>> import mxref
>>> from hypothesis import given
>>> from mxref.strategies import near_thresholds, patterns, values
>>> @given(values("f32", 16, patterns("f32") | near_thresholds("e4m3", "f32")))
... def test_encode_keeps_the_sign(numbers):
...     codes = mxref.encode(numbers, "e4m3", nan="signed")
...     assert (codes >> 7 == numbers.view("u4") >> 31).all()
>>> test_encode_keeps_the_sign()

Float types are `f32`, `f16`, `bf16` and `f64`. Strategies of bit patterns (`patterns`,
`near_thresholds`, `near_scale_limits`) are joined by ``|``, and `values` converts them to floats.
The package hypothesis is needed, which the extra ``fuzz`` brings.
"""

from __future__ import annotations

try:
    import hypothesis as _hypothesis  # noqa: F401
except ImportError:
    from mxref.support.extras import missing_packages as _missing

    raise ImportError(_missing("mxref.strategies", "fuzz", "hypothesis")) from None

from mxref.strategies.for_blocks import blocks, coded_blocks, codes, scale_codes
from mxref.strategies.for_floats import near_scale_limits, near_thresholds, patterns, values
from mxref.strategies.for_integers import integer_cases
from mxref.strategies.for_policies import policies
from mxref.strategies.for_tensors import tensors

__all__ = [
    "blocks",
    "coded_blocks",
    "codes",
    "integer_cases",
    "near_scale_limits",
    "near_thresholds",
    "patterns",
    "policies",
    "scale_codes",
    "tensors",
    "values",
]
