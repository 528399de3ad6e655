"""Targets: somebody's implementation, as a Python file or module with some of the operations.

=================  =========================================================  ====================
function           arguments                                                  returns
=================  =========================================================  ====================
``encode``         values (n,), element format name                           codes (n,)
``decode``         codes (n,), element format name                            float32 (n,)
``encode_scale``   values (n,)                                                scale codes (n,)
``decode_scale``   scale codes (n,)                                           float32 (n,)
``shared_scale``   amax (n,), element format name                             scale codes (n,)
``quantize``       values (n, 32), block format name                          scale codes (n,) and
                                                                              codes (n, 32)
``dequantize``     scale codes (n,), codes (n, 32), block format name, dtype  floats (n, 32)
=================  =========================================================  ====================

``encode_stochastic(values, random_bits, random_width, format)`` gives codes (n,) from values (n,),
random bits (n,) and their number; its ``POLICY`` says which of the three methods is meant.

Layouts are asked for one case at a time, since shapes differ; k is 32:

===================  ====================================================  ======================
function             arguments                                             returns
===================  ====================================================  ======================
``pack``             codes (n,), element format name                       bytes (m,)
``unpack``           bytes (m,), element format name, n                    codes (n,)
``pack_scales``      scale codes (r, c)                                    bytes (m,)
``unpack_scales``    bytes (m,), (r, c)                                    scale codes (r, c)
``pack_blocks``      scale codes (n,), codes (n, k), block format name     bytes (n, m)
``unpack_blocks``    bytes (n, m), block format name                       scale codes (n,) and
                                                                           codes (n, k)
``quantize_tensor``  values (r, c), block format name, axis                scale codes and codes,
                                                                           in C order
===================  ====================================================  ======================

``matmul(scales_a, codes_a, scales_b, codes_b, format_a, format_b)`` gives the product (m, n) of
codes (m, k) and (n, k), which have a scale for each 32 elements along k, as float32; with a seventh
parameter it is given the dtype of the result. k is filled up to whole blocks, or m, n and k to
multiples of ``MULTIPLES``, three integers, with code 00 and the scale 1, or with the last elements
where a tensor's scale is infinite or NaN. Optional parameters named
``alpha``, ``beta``, ``c`` (m, n) and ``bias`` (n,) are asked for, too: alpha a b + beta c + bias,
where c is not read if beta is 0; c and bias have the dtype of the result.
``MULTIPLES`` may also be a mapping by operation (`needs.py`): ``{"encode": 32, "quantize": 128}``.
With ``REUSES_RESULT = True`` results are copied at once. With ``ROW_SCALES = True`` the scale of a
tensor is a column, float32 (n, 1), with a scale for each row.

``linear(x, w, bias, block_format)`` gives y = x w' + bias from floats x (s, r, k), w (n, k) and
bias (n,) or None, and ``linear_gradients(x, w, grad, block_format)`` the gradients of x, w and the
bias from grad (s, r, n). Both are asked for one case at a time. With ``RECIPE``, a `Recipe` or the
name of one, both are layers by it (docs/recipes.md).

Integer operations are asked for one call a case; dtypes are NumPy's:

=====================  ==================================================  =========================
function               arguments                                           returns
=====================  ==================================================  =========================
``quantize_affine``    float32 values, scale, zero point, quant_min,       codes of the dtype, in
                       quant_max, dtype, axis                              the values' shape
``dequantize_affine``  codes, scale, zero point, quant_min, quant_max,     float32 of their shape
                       dtype, axis
``pack_int4``          int8 codes (n, k)                                   uint8 (n, ceil(k / 2))
``unpack_int4``        uint8 bytes (n, ceil(k / 2)), k                     int8 codes (n, k)
``rescale``            integers (n, c), int32 multipliers (c,), int8       integers (n, c) of the
                       shifts (c,), zero points of input and output,       dtype
                       dtype, bits of the multipliers
``grid_sample``        codes (c, h, w), int16 grid (r, s, 2) with x        codes (c, r, s)
                       first, align_corners, padding, zero point
                       (others by name: docs/integers.md)
``linear_qcs8w``       float32 x (m, k), int8 w (n, k), float32 scales     float32 (m, n)
                       (n,); (n, g) in the format ``int8_groups``
``linear_qcs4w``       float32 x (m, k), uint8 w (n, ceil(k / 2)),         float32 (m, n)
                       float32 scales (n,); (n, g) in ``int4_groups``
``matmul_nbits``       float32 x (m, k), uint8 bytes (n, g, size),         float32 (m, n)
                       float32 scales (n, g), uint8 bytes of zero points
                       (n, ceil(g bits / 8)) or None, bits of a code
=====================  ==================================================  =========================

Scale and zero point are a float and an int, and the axis is None; or arrays, of one axis with a
number for each index along ``axis``, or of three with one for each group along it. These
operations have choices of their own: a target is right if one policy gives all of its answers, and
need not say which. Of ``linear_qcs8w``, ``linear_qcs4w`` and ``matmul_nbits`` it is right, too, if
all are inside the bounds of float32 sums.

Half of the tensors are not contiguous in memory. Blocks of NVFP4 have 16 elements, and so
have those of ``fp4_e8m0``: ``fp4_ue4m3`` and this one are asked as the MX formats are, and of
``nvfp4`` the float32 scale of the tensor is the last argument. ``nvfp4_16x16`` has tiles: values
and codes are matrices (16 r, 16 c), scale codes (r, c). ``matmul`` has a scale for each 16 elements
of blocks of 16; of ``nvfp4`` it is asked if it has the parameters ``tensor_scale_a`` and
``tensor_scale_b``, float32 factors that are given by name. These formats are asked for only where
``FORMATS`` names them, and so are ``encode`` and ``decode`` of the formats that MX has not,
such as ``e4m3fnuz``.

``FILE.py:NAME`` and ``package.module:NAME`` name an attribute that has the functions and claims: an
object, a class or a namespace, so that one file may have several targets.

Codes are uint8, one in each byte. A target may say what it claims: ``POLICY`` (a policy string),
``FORMATS`` and ``FLOATS`` (names that it covers; everything if absent), ``PROFILE`` (the name of
the profile that it equals to the last bit, whose policy it then claims unless it has a ``POLICY``).
A format of its own is an object in ``FORMATS``, and a list of its numbers in ``FORMAT_VALUES``; a
profile of its own is an object, too.

Results may be arrays of NumPy and ml_dtypes, or of any library with ``__dlpack__``, on any device;
torch's bfloat16, float8 and packed float4 count as those of ml_dtypes do. What is passed, and has
to be left as it is, are fresh NumPy arrays, or with ``ARRAYS = "torch"`` (``"cupy"``, ``"jax"``)
that library's, on the device that ``DEVICE`` names (``"cuda"``): bfloat16 as its bfloat16, dtypes
as its dtypes, the scale of an NVFP4 tensor as an array without axes. A float type that the library
has no arrays of is not covered, such as float64 in JAX unless the target sets ``jax_enable_x64``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS
from mxref.cases.records import VectorFile
from mxref.operations.registry import CALL_OPERATIONS, OPERATIONS, REGISTRY
from mxref.policy.policy import Policy
from mxref.support.own_names import keeping_names, names_kept
from mxref.support.time_limit import limited
from mxref.targets.array_libraries import Library, library_of
from mxref.targets.calls import Answers, call_codes, call_function, is_fault, message
from mxref.targets.claims import (
    claimed,
    claimed_policy,
    claimed_profile,
    claims_cover,
    said_true,
    smallest_block,
    usual_formats,
)
from mxref.targets.imports import TargetError, is_of_library
from mxref.targets.needs import Needs, given_row_scales, read_at_once
from mxref.targets.own_definitions import OwnDefinitions
from mxref.targets.product_function import ProductFunction, with_named
from mxref.targets.recipe_functions import GRADIENTS, gradients_as_one, layers_renamed, unread
from mxref.targets.sampler_function import named_parameters, with_options

if TYPE_CHECKING:
    from mxref.profiles import Profile

__all__ = [
    "PythonTarget",
    "Target",
    "TargetError",
    "reading_attributes",
    "target_of",
]

#: What a target may say of itself, beside its operations.
_CLAIMS = (
    *("POLICY", "PROFILE", "ARRAYS", "DEVICE", "FLOATS", "FORMATS", "THREADS", "MULTIPLES"),
    *("REUSES_RESULT", "ROW_SCALES", "RECIPE"),
)

#: What may define formats and operations of its own.
_LAYERS = ("RECIPE", "MULTIPLES", "linear", "linear_gradients")
_DEFINES = ("FORMATS", "FORMAT_VALUES", "OPERATIONS", *_LAYERS)
#: What gives some arguments by name to the function of an operation.
_BY_NAME = {"matmul": with_named, "grid_sample": with_options}


class Target(Protocol):
    """An implementation to be checked, of any kind: it answers words with words."""

    @property
    def name(self) -> str:
        """Its name in reports."""

    @property
    def policy(self) -> Policy:
        """The policy that it claims."""

    def covers(self, op: str, format: str, float: str) -> bool:
        """Whether it covers an operation, format and float type."""

    def ask(self, file: VectorFile, inputs: NDArray[np.uint64]) -> Answers:
        """Its answers to input words, one case a row.

        Args:
            file: operation, format and float type; its cases, if there are any, are the inputs.
            inputs: the words.
        """


@dataclass(frozen=True, slots=True)
class PythonTarget:
    """An implementation in Python functions.

    Args:
        name: what reports call it.
        operations: its functions by operation.
        policy: the policy that it claims.
        formats: the formats that it covers.
        floats: the float types that it covers.
        lacks: float types that its array library cannot hold, each with the reason.
        profile: the profile that it claims to equal.
        threads: whether several threads may call it at once.
        own: its own formats and operations, which must be known when it is asked about them.
        notes: what it is never asked because of what it needs, for reports.
        streams: whether it can be called on another stream of its device, see `late_calls`.
        load: what loads it once more, with nothing kept of earlier calls; None if nothing can.
        named: the parameters of `grid_sample` that are given by name, which it has.
    """

    name: str
    operations: Mapping[str, Callable[..., Any]]
    policy: Policy
    formats: frozenset[str]
    floats: frozenset[str]
    lacks: Mapping[str, str] = field(default_factory=dict)
    profile: Profile | None = None
    threads: bool = False
    own: OwnDefinitions = field(default_factory=OwnDefinitions)
    notes: tuple[str, ...] = ()
    streams: bool = False
    load: Callable[[], PythonTarget] | None = None
    named: frozenset[str] = frozenset()

    @property
    def claims_formats(self) -> bool:
        """Whether it names its formats; else it is asked all of MX."""
        return self.formats != frozenset(usual_formats())

    def covers(self, op: str, format: str, float: str) -> bool:
        """Whether the target covers an operation, format and float type."""
        has = op in self.operations and claims_cover(self.formats, self.floats, format, float)
        if not has or float not in getattr(self.operations[op], "floats", (float,)):
            return False
        function = self.operations[op]
        if isinstance(function, ProductFunction):
            return function.takes(format)
        return self.named >= {*REGISTRY[op].by_name(format)}

    def ask(self, file: VectorFile, inputs: NDArray[np.uint64]) -> Answers:
        """Its answers to input words, one case a row."""
        return call_function(self.operations[file.op], file, inputs)

    def codes(self, file: VectorFile, values: NDArray[Any]) -> NDArray[Any]:
        """The codes of many floats (n,) as the target returned them, not converted to words.

        Args:
            file: of `encode`, `encode_scale` or `shared_scale`.
            values: the floats, which it may overwrite.

        Raises:
            AnswerError: the result is no array of codes of that shape.
            Exception: whatever the target raises.
        """
        return call_codes(self.operations[file.op], file, values)


@contextlib.contextmanager
def reading_attributes(name: str) -> Iterator[None]:
    """Turn exceptions that a target's attributes raise when they are read into a TargetError."""
    try:
        with names_kept():
            yield
    except BaseException as error:
        if isinstance(error, TargetError) or not is_fault(error):
            raise
        text = f"cannot be read: {message(error)}"
        raise TargetError(f"target {name} {text}") from error


def target_of(module: object, name: str) -> PythonTarget:
    """The target made of a module, or of any object with the operations as attributes."""
    with reading_attributes(name):
        own = OwnDefinitions.of({n: getattr(module, n) for n in _DEFINES if hasattr(module, n)})
        with own.known():
            return _read(module, name, own)


def _read(module: object, name: str, own: OwnDefinitions) -> PythonTarget:
    """`target_of`, without handling exceptions of the attributes that it reads."""
    has = {one: getattr(module, one) for one in (*OPERATIONS, *_CLAIMS) if hasattr(module, one)}
    found = {
        op: has[op]
        for op in OPERATIONS
        if callable(has.get(op)) and not is_of_library(has[op], op, module)
    }
    if "RECIPE" in has:
        found = layers_renamed(found, {one.name for one in own.operations})
    if not found:
        raise TargetError(f"target {name} must have at least one of: {', '.join(OPERATIONS)}")
    profile = claimed_profile(has["PROFILE"], name) if "PROFILE" in has else None
    policy = claimed_policy(has.get("POLICY", "ocp" if profile is None else profile.policy), name)
    said = ("THREADS", "REUSES_RESULT", "ROW_SCALES")
    threads, reuses, by_rows = (said_true(has, one, name) for one in said)
    try:
        library = library_of(has.get("ARRAYS", "numpy"), has.get("DEVICE"))
        needs = Needs.of_functions(has.get("MULTIPLES", {}), found)
        hopeless = needs.hopeless()
        given = {op: _BY_NAME[op](f) if op in _BY_NAME else f for op, f in found.items()}
        operations = {
            op: needs.filling(op, _called(op, function, library, reuses=reuses), policy)
            for op, function in given.items()
            if op not in hopeless
        }
        for op in operations.keys() & {*GRADIENTS}:
            operations[op] = gradients_as_one(operations[op])
        if by_rows:
            operations = {op: given_row_scales(op, f, needs) for op, f in operations.items()}
        if "matmul" in operations:
            product, some = operations["matmul"], needs.of_products()
            operations["matmul"] = ProductFunction.of(found["matmul"], product, some)
    except ValueError as error:
        raise TargetError(f"target {name}: {error}") from None
    floats = claimed(has.get("FLOATS"), name, "FLOATS", lambda: LAYOUTS)
    formats = claimed(has.get("FORMATS"), name, "FORMATS", usual_formats)
    if "RECIPE" in has:  # of all recipes its layers are asked one
        formats = formats - {*CALL_OPERATIONS[GRADIENTS[0]].formats} | own.layers
    formats |= {one for op in own.operations for one in op.formats if op.name in operations}
    return PythonTarget(
        name=name,
        operations=operations,
        policy=policy,
        formats=formats,
        floats=floats - set(library.lacks),
        lacks={float: why for float, why in library.lacks.items() if float in floats},
        profile=profile,
        threads=threads,
        own=own,
        notes=(*hopeless.values(), *needs.notes(smallest_block(formats)), *unread(has, operations)),
        streams=library.late is not None,
        named=named_parameters(has.get("grid_sample"), filled="grid_sample" in needs.multiples),
    )


def _called(
    op: str, function: Callable[..., Any], library: Library, *, reuses: bool
) -> Callable[..., Any]:
    """A target's function as it is called: with arrays of its library, within a time limit."""
    taking = _limited(op, keeping_names(library.taking(function)))
    return read_at_once(taking) if reuses else taking


def _limited(op: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose calls have a time limit, where another process keeps it."""

    def call(*arguments: Any) -> Any:
        with limited(f"{op} of the target"):
            return function(*arguments)

    return call
