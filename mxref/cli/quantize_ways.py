"""The ways in which `mxref quantize` quantizes a file: formats under policies or profiles."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref import files
from mxref.bits.floats import LAYOUTS, U8
from mxref.blocks.container import Blocks
from mxref.blocks.dequantization import dequantize
from mxref.blocks.quantization import quantize
from mxref.blocks.tiles import Axis
from mxref.formats.catalog import BlockFormat, block_format
from mxref.numbers.codes import word_of
from mxref.policy.policy import Policy
from mxref.profiles import Profile, profile

__all__ = ["LeftOut", "Way", "ways_of"]


@dataclass(frozen=True, slots=True)
class Way:
    """A block format under a policy or a profile.

    Args:
        format: the block format, with the requested block size.
        by: the policy or profile.
        name: the policy or profile as it was given.
    """

    format: BlockFormat
    by: Policy | Profile
    name: str

    @property
    def about(self) -> dict[str, str]:
        """The names of the format and of the policy or profile, for reports."""
        kind = "profile" if isinstance(self.by, Profile) else "policy"
        return {"format": self.format.name, kind: self.name}

    @property
    def policy(self) -> Policy:
        """The policy, also that of a profile."""
        return self.by.policy if isinstance(self.by, Profile) else self.by

    @property
    def bits(self) -> float:
        """Stored bits of an element: its own, and its share of the scale in whole bytes.

        >>> from mxref.policy.policy import Policy
        >>> Way(block_format("mxfp4_e2m1"), Policy(), "ocp").bits
        4.25
        """
        scale = 8 * np.dtype(word_of(self.format.scale)).itemsize
        return self.format.element.bits + scale / self.format.elements_per_block

    def quantize(self, values: NDArray[Any], axis: Axis, out: tuple[U8, U8] | None) -> Blocks:
        """The blocks of a tensor.

        Raises:
            TypeError, ValueError: as `mxref.quantize` and `Profile.quantize`.
        """
        if isinstance(self.by, Profile):
            return self.by.quantize(values, self.format, axis=axis, out=out)
        # A spelling, unlike a `Policy`, may have no choice that the format does not read.
        return quantize(values, self.format, self.name, axis=axis, out=out)

    def read(self, blocks: Blocks, dtype: type[np.float64]) -> NDArray[Any]:
        """The numbers of blocks as the profile reads them; if it reads none, the exact products."""
        if isinstance(self.by, Profile) and self.by.speaks_of("dequantize", self.format.name):
            return self.by.dequantize(blocks, dtype)
        return dequantize(blocks, dtype)

    def why_not(self, entry: files.Entry) -> str | None:
        """The reason why a tensor's type is not taken, or None."""
        by = self.by
        if isinstance(by, Profile) and entry.kind.lower() not in (by.floats or LAYOUTS):
            return f"it holds {entry.kind}, which {by.name} does not take"
        return None

    def try_out(self) -> None:
        """Quantize no numbers, to find out whether the way is possible.

        Raises:
            ValueError: the format and the policy or profile do not go together.
        """
        floats = self.by.floats if isinstance(self.by, Profile) else None
        shape = (0,) * len(self.format.block_shape)
        empty = np.zeros(shape, LAYOUTS[(floats or ("f32",))[0]].dtype)
        self.quantize(empty, -1, None)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A way that is not possible, and the reason."""

    way: Way
    reason: str


def ways_of(
    formats: Sequence[str],
    policies: Sequence[str],
    profiles: Sequence[str],
    block_size: int | None = None,
) -> tuple[list[Way], list[LeftOut]]:
    """Each format under each policy and profile, and the combinations that are not possible.

    Args:
        formats: names of block formats.
        policies: spellings of policies; `ocp` if neither policies nor profiles are given.
        profiles: names of profiles.
        block_size: elements of a block; the format's own if None.

    Raises:
        ValueError: an unknown name, or no way that is possible.

    >>> ways, left = ways_of(["nvfp4", "mxint8"], ["ocp", "ocp+scale_rule=rceil"], [])
    >>> [(way.format.name, way.name) for way in ways]
    [('nvfp4', 'ocp'), ('mxint8', 'ocp'), ('mxint8', 'ocp+scale_rule=rceil')]
    >>> left[0].reason
    'quantize to nvfp4 does not read scale_rule, since its scale is ue4m3'
    """
    known = [block_format(name) for name in dict.fromkeys(formats)]
    if block_size is not None:
        known = [dataclasses.replace(fmt, block_size=block_size) for fmt in known]
    by: list[tuple[Policy | Profile, str]] = []
    names = policies if policies or profiles else ["ocp"]
    by += ((Policy.parse(name), name) for name in dict.fromkeys(names))
    by += ((profile(name), name) for name in dict.fromkeys(profiles))
    ways: list[Way] = []
    left_out: list[LeftOut] = []
    first: ValueError | None = None
    for fmt in known:
        for one, name in by:
            way = Way(fmt, one, name)
            try:
                way.try_out()
            except ValueError as error:
                first = first or error
                lacks = isinstance(one, Profile) and not one.speaks_of("quantize", fmt.name)
                reason = f"{name} does not quantize it" if lacks else str(error)
                left_out.append(LeftOut(way, reason))
            else:
                ways.append(way)
    if first and not ways:
        raise first
    return ways, left_out
