"""Right answers where the arithmetic of a profile is not defined to the bit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mxref.bits.float32 import wide
from mxref.bits.floats import F32, LAYOUTS
from mxref.cases.records import VectorFile
from mxref.formats.catalog import block_format

if TYPE_CHECKING:
    from mxref.profiles import Profile

__all__ = ["nearest_admitted"]

Words = NDArray[np.uint64]


def nearest_admitted(
    file: VectorFile, inputs: Words, wanted: Words, answers: Words, profile: Profile | None
) -> Words:
    """The admitted answers that are nearest to some answers; the wanted ones where one is right.

    An admitted scale lies between the lowest and the highest, and so does an element of the same
    sign, under the scale that was given.

    Args:
        file: operation, format and float type.
        inputs: the words of the cases, one a row.
        wanted: the profile's own answers.
        answers: those that are compared with them.
        profile: the profile compared with, if any.
    """
    if profile is None or profile.stages.bounds is None or file.row.blocks != "numbers":
        return wanted
    from mxref.profiles.stages import Rows

    fmt = block_format(file.format)
    if answers.shape[1] != 1 + fmt.elements_per_block:
        return wanted
    layout, sign = LAYOUTS[file.float], np.uint8(fmt.element.sign_bit)
    found, first = wanted.copy(), int(fmt.tensor_scale)
    some = np.flatnonzero(answers[:, 0] < np.uint64(fmt.scale.code_count))
    g = wide(inputs[some, 0].astype(np.uint32), F32) if first else None
    rows = Rows.of(inputs[some, first:].astype(layout.uint), layout, fmt.element, profile.policy)
    scales = answers[some, 0].astype(np.uint8)
    with np.errstate(all="ignore"):
        (low, least), (high, most) = profile.stages.bounds(rows, g, fmt, scales)
    found[some, 0] = np.clip(scales, low, high)
    size, top = answers[some, 1:] & ~np.uint64(sign), least & sign
    found[some, 1:] = np.clip(size, least & ~sign, most & ~sign) | top
    return found
