"""Bugs planted in the Triton kernels that matrices show, and those of rceil_reciprocal."""

from planting import patches

__all__ = ["OF_MATRICES", "OF_RECIPROCALS"]

OF_MATRICES = patches("matrices")
OF_RECIPROCALS = patches("reciprocals")
