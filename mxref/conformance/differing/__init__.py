"""Differences between two profiles in a block format: kinds, examples and figures on data."""
