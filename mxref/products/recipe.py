"""Recipes of training: how each operand of a linear layer's three products is quantized."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from numpy.typing import ArrayLike

from mxref import formats
from mxref.blocks.container import Blocks
from mxref.blocks.tiles import Axis
from mxref.formats.catalog import BlockFormat
from mxref.policy.policy import Policy
from mxref.products.hadamard import Hadamard

__all__ = ["OPERANDS", "OperandRecipe", "Quantizer", "Recipe"]

#: The operands of y = x w', dx = grad w and dw = grad' x, in this order.
OPERANDS = ("y_x", "y_w", "dx_grad", "dx_w", "dw_grad", "dw_x")


class Quantizer(Protocol):
    """What quantizes an operand in place of a policy; a `Profile` is one."""

    @property
    def name(self) -> str:
        """Its name."""

    def quantize(
        self, values: ArrayLike, block_format: str | BlockFormat, *, axis: Axis = -1
    ) -> Blocks:
        """Blocks of a tensor."""


@dataclass(frozen=True, slots=True)
class OperandRecipe:
    """How one operand of a product is quantized.

    Args:
        block_format: block format or its name; its blocks run along the axis that the product sums
            over, or are tiles over both axes. None: the operand stays in high precision.
        by: a policy or its spelling, or a profile.
        transform: a Hadamard transform along the summed axis, before quantizing.
        stored: how the tensor was quantized before, along its last axis; it is read back in its own
            float type (integers: float32) and only then transformed and quantized.
        random_width: the width of the random bits that a stochastic rounding of `by` reads.

    Raises:
        ValueError: unknown format or policy; a format with blocks along more than two axes; a
            stochastic rounding without `random_width`, or the other way round; `stored` that is
            kept, stochastic or stored itself.
        TypeError: neither a format, a policy nor a quantizer.

    >>> str(OperandRecipe("mxfp8_e4m3", "ocp+scale_rule=rceil"))
    'mxfp8_e4m3, 32 along the sum, ocp+scale_rule=rceil'
    >>> str(OperandRecipe())
    'kept'
    """

    block_format: BlockFormat | str | None = None
    by: Policy | Quantizer | str = "ocp"
    transform: Hadamard | None = None
    stored: OperandRecipe | None = None
    random_width: int | None = None

    def __post_init__(self) -> None:
        by: object = Policy.parse(self.by) if isinstance(self.by, str) else self.by
        if not isinstance(by, Policy) and not callable(getattr(by, "quantize", None)):
            raise TypeError(
                "by must be a Policy, its spelling, or a profile, got " + type(self.by).__name__
            )
        object.__setattr__(self, "by", by)
        for name, kind in (("transform", Hadamard), ("stored", OperandRecipe)):
            given = getattr(self, name)
            if given is not None and not isinstance(given, kind):
                raise TypeError(f"{name} must be a {kind.__name__}, got {type(given).__name__}")
        width = self.random_width
        if width is not None and (isinstance(width, bool) or not isinstance(width, int)):
            raise TypeError(f"random_width must be an int, got {type(width).__name__}")
        if width is not None and not 1 <= width <= 32:
            raise ValueError(f"random_width must be from 1 to 32, got {width}")
        if self.block_format is not None:
            fmt = formats.block_format(self.block_format)
            object.__setattr__(self, "block_format", fmt)
            if len(fmt.block_shape) > 2:
                raise ValueError(
                    "block_format must have blocks along one axis or two for a layer, got a block "
                    f"size of {fmt.block_size}"
                )
        if self.is_stochastic != (self.random_width is not None):
            raise ValueError(
                "random_width must be given with a stochastic rounding, and only then, got "
                f"{self.random_width}"
            )
        before = self.stored
        if before is not None and (before.format is None or before.is_stochastic or before.stored):
            raise ValueError(
                "stored must have a format, a deterministic rounding and nothing stored before, "
                f"got {before}"
            )

    @property
    def format(self) -> BlockFormat | None:
        """The block format; None if the operand stays in high precision."""
        return None if self.block_format is None else formats.block_format(self.block_format)

    @property
    def is_stochastic(self) -> bool:
        """Whether it is rounded with random bits."""
        by = self.by
        return (
            self.block_format is not None
            and isinstance(by, Policy)
            and by.element.rounding.stochastic
        )

    def __str__(self) -> str:
        """The format, the shape of its blocks, the transform and the rounding, in a line."""
        fmt, words = self.format, list[str]()
        if self.stored is not None:
            words.append(f"[{str(self.stored).replace('the sum', 'the last axis')}] and then")
        if self.transform is not None:
            words.append(f"Hadamard of {self.transform.size} in {self.transform.dtype},")
        if fmt is None:
            return " ".join([*words, "kept"])
        sizes = fmt.block_shape
        shape = "x".join(map(str, sizes)) + (" along the sum" if len(sizes) == 1 else " tiles")
        by = self.by
        how = str(by) if isinstance(by, str | Policy) else by.name
        return " ".join([*words, f"{fmt.name}, {shape}, {how}"])


_KEPT = OperandRecipe()


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a linear layer does in training: y = x w', dx = grad w, dw = grad' x.

    A value like a policy: `dataclasses.replace` changes an operand. An operand that is not given
    stays in high precision. `linear` and `linear_gradients` take one in place of a block format.

    Args:
        name: its name.
        y_x: how x is quantized for the output, along its inputs.
        y_w: how w is, along its inputs.
        dx_grad: how the output's gradient is for that of the input, along its outputs.
        dx_w: how w is, along its outputs.
        dw_grad: how the output's gradient is for that of the weight, along its rows.
        dw_x: how x is, along its rows.
        source: the implementation, its commit and the file with the recipe.

    Raises:
        TypeError: an operand that is no `OperandRecipe`.
        ValueError: a transform of one operand of a product that the other does not have.

    Source: SPEC_NOTES N53.

    >>> fp8 = OperandRecipe("mxfp8_e4m3", "ocp+scale_rule=rceil")
    >>> print(Recipe("forward in MXFP8", y_x=fp8, y_w=fp8))
    forward in MXFP8
    y  = x w'     x:    mxfp8_e4m3, 32 along the sum, ocp+scale_rule=rceil
                  w:    mxfp8_e4m3, 32 along the sum, ocp+scale_rule=rceil
    dx = grad w   grad: kept
                  w:    kept
    dw = grad' x  grad: kept
                  x:    kept
    """

    name: str = "own"
    y_x: OperandRecipe = _KEPT
    y_w: OperandRecipe = _KEPT
    dx_grad: OperandRecipe = _KEPT
    dx_w: OperandRecipe = _KEPT
    dw_grad: OperandRecipe = _KEPT
    dw_x: OperandRecipe = _KEPT
    source: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise TypeError(f"name must be a str, got {type(self.name).__name__}")
        for name in OPERANDS:
            if not isinstance(getattr(self, name), OperandRecipe):
                raise TypeError(
                    f"{name} must be an OperandRecipe, got {type(getattr(self, name)).__name__}"
                )
        for left, right in zip(OPERANDS[::2], OPERANDS[1::2], strict=True):
            if getattr(self, left).transform != getattr(self, right).transform:
                raise ValueError(
                    f"{right} must have the transform of {left}, since a product is the same only "
                    "if both of its operands are transformed"
                )

    @property
    def stochastic(self) -> tuple[str, ...]:
        """The names of the operands that are rounded with random bits."""
        return tuple(name for name in OPERANDS if getattr(self, name).is_stochastic)

    def __str__(self) -> str:
        """A line for each operand, under the name."""
        return "\n".join([self.name, *self._lines()])

    def _lines(self) -> Iterator[str]:
        products = ("y  = x w'", "", "dx = grad w", "", "dw = grad' x", "")
        for product, name in zip(products, OPERANDS, strict=True):
            yield f"{product:<13} {name.partition('_')[2] + ':':<6}{getattr(self, name)}"
