"""Floats as integer bit patterns: layouts, rounding to odd, float32 arithmetic, output arrays."""
