"""One enum for each choice that the standards leave open; the first member is what `ocp` does.

A member's value is its spelling in policies. Its `standing` is what the standards say of it; the
`Source:` of its class names the clause of SPEC_NOTES that explains the choice and who makes it.
"""

from __future__ import annotations

from mxref.policy import (
    element_choices,
    float_scale_choices,
    layout_choices,
    product_choices,
    scale_choices,
)
from mxref.policy.choice import Choice, Standing
from mxref.policy.element_choices import *
from mxref.policy.float_scale_choices import *
from mxref.policy.layout_choices import *
from mxref.policy.product_choices import *
from mxref.policy.scale_choices import *

__all__ = ["Choice", "Standing"]
__all__ += element_choices.__all__
__all__ += scale_choices.__all__
__all__ += float_scale_choices.__all__
__all__ += layout_choices.__all__
__all__ += product_choices.__all__
