"""A profile as a target, with which an implementation is compared bit for bit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mxref import formats
from mxref.bits.floats import LAYOUTS
from mxref.blocks.container import Blocks
from mxref.blocks.two_level import TensorScale, TensorScaleKind
from mxref.cases.answers import answerable
from mxref.cases.records import VectorFile
from mxref.formats.catalog import BLOCK_FORMATS, E8M0, ELEMENT_FORMATS
from mxref.targets.calls import Answers, by_halves, call_function
from mxref.targets.target import PythonTarget

if TYPE_CHECKING:
    from mxref.profiles import Profile

__all__ = ["profile_answers", "profile_target", "speaks_of"]

_OPERATIONS = (
    "encode", "decode", "encode_scale", "decode_scale", "shared_scale", "quantize", "dequantize",
    "pack", "unpack",
)  # fmt: skip


def profile_target(profile: Profile) -> PythonTarget:
    """The target that answers as a profile does."""

    def quantize(
        values: NDArray[Any], block_format: str, *scale: np.float32
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        blocks = profile.quantize(values, block_format, tensor_scale=_tensor_scale(profile, scale))
        scales = blocks.scale_codes
        return scales if blocks.format.is_tiled else scales[:, 0], blocks.codes

    def dequantize(
        scale_codes: NDArray[Any],
        codes: NDArray[Any],
        block_format: str,
        dtype: Any,
        *scale: np.float32,
    ) -> NDArray[Any]:
        fmt, whole = formats.block_format(block_format), _tensor_scale(profile, scale)
        scales = scale_codes if fmt.is_tiled else scale_codes[:, np.newaxis]
        blocks = Blocks(codes, scales, fmt, -1, codes.shape, tensor_scale=whole)
        return profile.dequantize(blocks, dtype)

    own = {"quantize": quantize, "dequantize": dequantize}
    named = {format for some in (profile.formats or {}).values() for format in some}
    return PythonTarget(
        name=profile.name,
        operations={
            op: own.get(op, getattr(profile, op))
            for op in _OPERATIONS
            if profile.formats is None or op in profile.formats
        },
        policy=profile.policy,
        formats=frozenset({*ELEMENT_FORMATS, *BLOCK_FORMATS, E8M0.name, *named}),
        floats=frozenset(LAYOUTS if profile.floats is None else profile.floats),
        profile=profile,
    )


def profile_answers(profile: Profile, file: VectorFile, inputs: NDArray[np.uint64]) -> Answers:
    """The answers of a profile to input words, one case a row, and the errors of those it refuses.

    Answers of a profile do not depend on each other, so that a few refusals cost few calls.
    """
    function = profile_target(profile).operations[file.op]
    return by_halves(lambda some: call_function(function, file, some, find=False), inputs)


def _tensor_scale(profile: Profile, scale: tuple[np.float32, ...]) -> TensorScale | None:
    """The tensor's scale, which calls for some formats have as their last argument."""
    from mxref.operations.blocks import TENSOR_KINDS

    kind = TENSOR_KINDS.get(profile.policy.scale.scale_arithmetic.value, TensorScaleKind.FACTOR)
    return TensorScale(int(scale[0].view(np.uint32)), kind) if scale else None


def speaks_of(profile: Profile, op: str, format: str, float: str) -> bool:
    """Whether a profile determines the answers to a vector file.

    >>> from mxref.profiles import profile
    >>> [speaks_of(profile("torchao_0_18_floor"), "encode", "e2m1", one) for one in ("f32", "f64")]
    [True, False]
    """
    covers = profile_target(profile).covers(op, format, float)
    return (
        covers and profile.speaks_of(op, format) and answerable(op, format, float, profile.policy)
    )
