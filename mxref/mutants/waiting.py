"""What waits: dot products. What waits is never counted as killed."""

from __future__ import annotations

from mxref.mutants.mutant import BLOCKS, FLOATS, Mutant

__all__ = ["WAITING"]


def _dot(id: str, name: str, text: str, *seen: str) -> Mutant:
    waiting = "there are no dot products"
    return Mutant(id, name, text, "dot", None, BLOCKS, FLOATS, "M12", seen, waiting=waiting)


WAITING = (
    _dot("H1", "narrow_sums", "sums in float16 or bfloat16"),
    _dot("H2", "alignment_truncated", "cuts products off when it aligns them", "arXiv 2403.00232"),
    _dot("H3", "scale_product_first", "multiplies the scales beyond float32"),
    _dot("H4", "nan_scale_of_zeros", "ignores a NaN scale of zeros"),
    _dot("H5", "infinity_times_zero", "makes infinity times zero a zero"),
)
