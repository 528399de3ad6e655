"""Bugs of the museum planted in the Triton kernels, and those that they cannot have."""

from __future__ import annotations

from planting import Planted, patches

__all__ = ["LEFT_OUT", "PLANTED"]

#: Bugs that are the museum's mutants from float32 only.
FROM_F32 = (
    *("A9", "A9b", "A9c", "A10b", "A10c", "A11", "A12", "A16b", "A17b", "A17d"),
    *("A18a", "C19", "E9a"),
)
#: Those that are another bug from float16: subnormal numbers, infinity and shifts of a float32.
NOT_F16 = ["A17c", "B7", "B7b", "D4", "E8", "E9b"]
#: Bugs that are wrong in their own way where the museum's mutant has zero and subnormal numbers as
#: they come (A17), clamps the largest float32 (C19), reads NaN and infinity as they are (E4c) or
#: gives zero far below the subnormal numbers, where the kernels shift by more than 31 bits (C5f),
#: or takes a block with a negative infinity or NaN for one of numbers (C8f).
OF_THEIR_OWN = ["A17a", "A17c", "C19", "C19b", "C5f", "C8f", "E4c"]


def floats(id: str) -> tuple[str, ...]:
    if id in FROM_F32:
        return ("f32",)
    return ("f32", "bf16") if id in NOT_F16 else ("f32", "bf16", "f16")


PLANTED = [
    Planted(ids, rewrites, floats(ids.split()[0]), same=ids.split()[0] not in OF_THEIR_OWN)
    for kind in ("rounding", "scales", "nvfp4", "reading", "packing")
    for ids, rewrites in patches(kind).items()
]
#: Of the classes of rounding, range, scales and layouts: what the kernels cannot have, and why.
LEFT_OUT = {
    "C9d": "each block is a row of what its scale is computed from",
    "G7c": "each block is a row of what is read under its scale",
    "G8x": "the kernels are given one scale of a tensor, not one for each row",
    "G8y": "the kernels are given one scale of a tensor, not one for each row",
    "G3u": "it would read behind the last byte",
    "G4": "blocks are rows of what the kernels are given; which axis that is the caller knows",
}
