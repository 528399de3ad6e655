"""`grid_sample` on codes.

Words of a case: align_corners, border, zero point, C, H, W, h, w, codes, and the grid. Further
formats ask the parameters that a target may have beside these, by their names: the scale, and the
scale and zero point of the result, come after the zero point, the images N before C.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS
from mxref.exact import samples as slow
from mxref.integer import integer_choices as c
from mxref.integer.affine import QParams
from mxref.integer.sampled_values import grid_sample_bounds, grid_sample_values
from mxref.integer.sampler import grid_sample
from mxref.operands.case_input import CaseInput
from mxref.operands.draws import Draws, Ints
from mxref.operands.fields import Field
from mxref.operands.kinds import Flags, Integers, Scales, Size
from mxref.operands.shown import show_float
from mxref.operations.asked_call import AskedCall
from mxref.operations.call_operation import CallOperation
from mxref.operations.call_sizes import CallSizes, Sizes
from mxref.operations.filled_axes import FilledAxes
from mxref.operations.operation import Words

__all__ = ["GridSample"]

_PADDINGS, _BOOLS = ("zeros", "border"), (False, True)
#: The parameters that are given by name, in the order of a call's further arguments.
NAMED = ("mode", "channels_last", "scale", "output_scale", "output_zero", "output_dtype")
#: What further formats ask, each with the names that a target must have for it.
_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "reflection": ("mode",),
    "nearest": ("mode",),
    "nearest_reflection": ("mode",),
    "batch": ("channels_last",),
    "nhwc": ("channels_last",),
    "output": NAMED[2:],
    "values": ("scale", "output_dtype"),
}
#: Types of results that are quantized again; those of the files are the other type of 8 bits.
_OUTPUTS = ("int8", "uint8", "int16")
_OTHER = {"int8": "uint8", "uint8": "int8"}
#: The sides and the points of random cases.
_PIXELS, _POINTS = 9, 24
_BATCHES = ("batch", "nhwc")
_SIZES = CallSizes(
    (
        (1, 64, 64, 32, 32), (3, 33, 65, 17, 31), (4, 128, 128, 64, 64), (1, 300, 257, 3, 3),
        (2, 5, 7, 257, 255), (2, 7, 7, 5, 5), (3, 33, 33, 33, 33), (1, 300, 310, 40, 50),
        (2, 64, 64, 64, 64), (1, 384, 512, 16, 32), (3, 128, 256, 32, 64), (1, 362, 363, 64, 64),
        (1, 1024, 1024, 8, 8),
    ), empty=(2, 3, 3, 0, 0),
)  # fmt: skip

#: The drawn cases of a further form.
_DRAWN = 12


class GridSample(CallOperation):
    """Pixels between pixels."""

    name = "grid_sample"
    multiples = "r", "s"
    axes_filled = FilledAxes(("chw", "rs2"), ("crs",))
    sides = "pixels down", "pixels across"
    parameters = "codes, grid, align_corners, padding, zero_point"
    further = {  # noqa: RUF012
        f"{codes}_{option}": {"ties": codes} for codes in _OTHER for option in _OPTIONS
    }
    formats = (*_OTHER, *further)
    admitting = ("int8_values", "uint8_values")
    models = {  # noqa: RUF012
        "M30": "further forms of grid sampling: pixels at the nearest coordinates, reflection, "
        "batches, channels last, results of another scale and numbers that are not quantized"
    }
    worked_on = 2
    few = 32

    def designed(self, format: str) -> Iterable[CaseInput]:
        """Images of codes; of further forms drawn ones, too."""
        from mxref.operations.sampling_cases import grid_cases

        yield from grid_cases(format)
        if "_" in format:
            yield from self.drawn_cases(format, _DRAWN, "M30")

    def by_name(self, format: str) -> tuple[str, ...]:
        """The parameters that a call in a format gives by name."""
        return _OPTIONS.get(_option(format), ())

    def kinds(self, format: str) -> dict[str, type[enum.Enum]]:
        """The code of a tie, of which numbers and pixels have none; numbers may be float32's."""
        if "nearest" in format:
            return {}
        return {"arithmetic": c.Arithmetic} if _option(format) == "values" else {"ties": c.Ties}

    def fields(self, format: str) -> tuple[Field, ...]:
        """How to sample, the sizes, the image and the grid, x first."""
        codes, option = format.split("_")[0], _option(format)
        batch = ("images",) if option in _BATCHES else ()
        image: tuple[int | str, ...] = ("channels", "height", "width")
        image = (*image[1:], image[0]) if option == "nhwc" else image
        scales = ("scale", "output_scale") if option == "output" else ("scale",)
        return (
            Field("align_corners", Flags(*_BOOLS)),
            Field("padding", Flags("reflection") if "reflection" in option else Flags(*_PADDINGS)),
            Field("zero_point", Integers(codes)),
            *(Field(name, Scales()) for name in scales if option in ("output", "values")),
            *((Field("output_zero", Integers(_OTHER[codes])),) if option == "output" else ()),
            *(Field(name, Size()) for name in batch),
            *(Field(name, Size()) for name in ("channels", "height", "width", "down", "across")),
            Field("image", Integers(codes), (*batch, *image)),
            Field("grid", Integers("int16"), (*batch, "down", "across", 2)),
        )

    def result(self, format: str, values: Mapping[str, Any]) -> tuple[Any, tuple[int, ...]]:
        """A code or a number for each channel and point."""
        shape = [values[name] for name in ("channels", "down", "across")]
        shape = [*shape[1:], shape[0]] if _option(format) == "nhwc" else shape
        dtype = self._named(format, values)["output_dtype"] or format.split("_")[0]
        return dtype, (*([values["images"]] if "images" in values else ()), *shape)

    def arguments(self, format: str, values: Mapping[str, Any]) -> tuple[Any, ...]:
        """What is given by place, and in further formats what is given by name."""
        first = super().arguments(format, values)
        return (*first, *self._named(format, values).values()) if _option(format) else first

    @staticmethod
    def _named(format: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """What is given by name; None is not given."""
        option, named = _option(format), dict.fromkeys(NAMED)
        named |= {name: values[name] for name in NAMED if name in values}
        if _OPTIONS.get(option) == ("mode",):
            named["mode"] = "nearest" if "nearest" in option else "bilinear"
        if option in _BATCHES:
            named["channels_last"] = option == "nhwc"
        if option in ("output", "values"):
            other = _OTHER[format.split("_")[0]]
            named["output_dtype"] = np.dtype(np.float32 if option == "values" else other)
        return named

    def digits(self, format: str, slot: str) -> tuple[int, int]:
        """Words in of 32 bits; words out of 8, numbers of 32."""
        return 8, 8 if _option(format) == "values" else 2

    def answer_shown(self, format: str, word: int) -> str:
        """A number as a float, and a code of the type of the result."""
        if _option(format) == "values":
            return show_float(word, LAYOUTS["f32"])
        is_other = _option(format) == "output"
        return super().answer_shown(_OTHER[format.split("_")[0]] if is_other else format, word)

    def argument_names(self, format: str) -> tuple[str, ...]:
        """The arrays first."""
        return "image", "grid", "align_corners", "padding", "zero_point"

    def elements(self, sizes: Sequence[int]) -> int:
        """The pixels and the samples."""
        channels, height, width, down, across = sizes
        return channels * (height * width + down * across)

    def asked_sizes(self, format: str) -> CallSizes:
        """Images and grids of all shapes."""
        return _SIZES

    def size_features(self, format: str, sizes: Sizes, call: AskedCall) -> dict[str, int | str]:
        """Points and samples, which side of the image is longer, and the options."""
        channels, height, width, down, across = sizes
        align, padding = call.arguments[2:4]
        return {
            "points": down * across,
            "samples": channels * down * across,
            "longer": f"{'more' if height > width else 'no more'} pixels down than pixels across",
            "align": f"align_corners={align}",
            "padding": f"padding {padding}",
        }

    def units(self, format: str) -> dict[str, str]:
        """The sides of the image and of the grid."""
        return {
            "channels": "channels",
            "height": "pixels down",
            "width": "pixels across",
            "down": "points down",
            "across": "points across",
        }

    def clause(self, format: str, words: Words, answer: Words) -> tuple[bool, str, tuple[str, ...]]:
        """One clause of SPEC_NOTES."""
        return False, "Q13", ()

    def run(self, call: AskedCall, choices: Mapping[str, Any]) -> NDArray[Any]:
        """The codes, by the fast path; float32 numbers where the result is none of integers."""
        image, grid, how, beside, output = _read(call)
        if call.dtype == np.float32:
            return grid_sample_values(image, grid, beside, **how, **choices)
        more = {} if output is None else {"scale": beside.scale, "output": output}
        zero = int(beside.zero_point)
        return grid_sample(image, grid, **how, **more, zero_point=zero, **choices)

    def admits(self, call: AskedCall, result: NDArray[Any]) -> bool:
        """Numbers are right that float32 may give in any order of its operations."""
        if call.dtype != np.float32:
            return False
        image, grid, how, beside, _ = _read(call)
        low, high = grid_sample_bounds(image, grid, beside, **how)
        return bool(np.all((low <= result) & (result <= high)))

    def question(self, format: str, draws: Draws, number: int) -> Ints:
        """A small image, half of them of the two extreme codes, at pixels, midway, at the ends."""
        codes, option = format.split("_")[0], _option(format)
        images = 2 if option in _BATCHES else 1
        info = np.iinfo(codes)
        low, high = int(info.min), int(info.max)
        channels, height, width = (int(draws.between(1, most)) for most in (2, _PIXELS, _PIXELS))
        size = images * channels * height * width
        image = draws.between(low, high, (size,))
        if number % 2:
            image = np.where(draws.one_in((size,), 2), low, low + draws.between(0, 3, (size,)))
        half, quarter = number // 2 % 2, number // 4 % 2
        sides = 2 * np.array([max(width - half, 1), max(height - half, 1)])
        steps = draws.below((images * _POINTS, 2), 1 << 30) % (sides + 1)
        exact = (
            -32767
            + (steps * 65534 + sides // 2) // sides
            + draws.between(-1, 1, (images * _POINTS, 2))
        )
        anything = draws.between(-32768, 32767, (images * _POINTS, 2))
        grid = np.where(draws.one_in((images * _POINTS, 2), 3), anything, exact).clip(-32768, 32767)
        flags = [half, quarter * ("reflection" not in option), int(draws.between(low, high))]
        if option in ("output", "values"):
            scale = int(Scales().drawn(draws, ()))
            flags.append(scale)
        if option == "output":
            flags += [scale + int(draws.between(-1, 1)) * (1 << 22), int(draws.between(-128, 127))]
            flags[-1] += 128 * (codes == "int8")
        sizes = [*([images] * (option in _BATCHES)), channels, height, width, 4, _POINTS // 4]
        return np.concatenate([flags, sizes, image, grid.reshape(-1)])

    def sized(self, format: str, sizes: Sequence[int], draws: Draws) -> AskedCall:
        """Any coordinates, half of them at pixels, midway between two or at the ends."""
        channels, height, width, down, across = sizes
        codes, option = np.dtype(format.split("_")[0]), _option(format)
        low, high = int(np.iinfo(codes).min), int(np.iinfo(codes).max)
        batch = (int(draws.between(2, 3)),) if option in _BATCHES else ()
        image = draws.between(low, high, (*batch, channels, height, width)).astype(codes)
        grid = draws.between(-32768, 32767, (*batch, down, across, 2))
        steps = np.array([2 * max(width - 1, 1), 2 * max(height - 1, 1)])
        exact = -32767 + draws.between(0, 1 << 30, grid.shape) % (steps + 1) * 65534 // steps
        grid = np.where(draws.between(0, 1, grid.shape) == 0, exact, grid).astype(np.int16)
        which = int(draws.between(0, 3))
        zero = int(draws.between(low, high))
        padding, shape = _PADDINGS[which >> 1], (*batch, channels, down, across)
        arguments = (image, grid, bool(which & 1), padding, zero)
        if not option:
            return AskedCall(arguments, codes, shape)
        named: dict[str, Any] = dict.fromkeys(NAMED)
        if self.by_name(format) == ("mode",):
            named["mode"] = "nearest" if "nearest" in option else "bilinear"
            padding = "reflection" if "reflection" in option else padding
        elif option in _BATCHES:
            named["channels_last"] = option == "nhwc"
            if named["channels_last"]:
                image, shape = np.moveaxis(image, 1, 3).copy(), (*batch, down, across, channels)
        else:
            named |= _scales(draws, values=option == "values")
        arguments = (image, grid, bool(which & 1), padding, zero, *named.values())
        return AskedCall(arguments, named["output_dtype"] or codes, shape)

    def twin(self, format: str, words: Words, chosen: Mapping[str, str]) -> Iterable[int]:
        """The codes or numbers, by the slow twin, in the order of the result."""
        call = self.call(format, words)
        image, grid, align, padding, zero, *rest = call.arguments
        named = dict(zip(NAMED, rest or [None] * len(NAMED), strict=True))
        images, grids = (one if image.ndim == 4 else one[np.newaxis] for one in (image, grid))
        images = np.moveaxis(images, 3, 1) if named["channels_last"] else images
        how = {"align_corners": align, "padding": padding, "mode": named["mode"] or "bilinear"}
        bits = [int(np.float32(named[name] or 1).view(np.uint32)) for name in NAMED[2:4]]
        if call.dtype == np.float32:
            sample = partial(slow.value, scale_bits=bits[0], arithmetic=chosen["arithmetic"])
        else:
            ends, output = np.iinfo(call.dtype), named["output_zero"]
            output = zero if output is None else output
            given = (bits[0], bits[1]), (output, int(ends.min), int(ends.max))
            sample = partial(
                slow.grid_sample,
                scale_bits=given[0],
                output=given[1],
                ties=chosen.get("ties", "even_code"),
            )
        found = [
            [sample(one, x, y, zero_point=zero, **how) for x, y in points.reshape(-1, 2).tolist()]
            for image, points in zip(images.tolist(), grids, strict=True)
            for one in image
        ]
        samples = np.array(found, object).reshape(len(images), images.shape[1], -1)
        samples = samples.transpose(0, 2, 1) if named["channels_last"] else samples
        return list(samples.reshape(-1))


def _option(format: str) -> str:
    """What a format asks beside the codes' type."""
    return format.partition("_")[2]


def _scales(draws: Draws, *, values: bool) -> dict[str, Any]:
    """The scale of an image, and those of the result, which is a multiple of it or any other."""
    scale = np.ldexp(1 + int(draws.below((), 1 << 23)) / (1 << 23), int(draws.between(-9, 2)))
    if values:
        return {"scale": float(scale), "output_dtype": np.dtype(np.float32)}
    factor = (0.5, 1.0, 2.0, 1.5, 0.7, 1.3)[int(draws.between(0, 5))]
    dtype = np.dtype(_OUTPUTS[int(draws.between(0, 2))])
    ends = np.iinfo(np.int8 if dtype == np.int16 else dtype)
    return {
        "scale": float(scale),
        "output_scale": float(np.float32(scale * factor)),
        "output_zero": int(draws.between(int(ends.min), int(ends.max))),
        "output_dtype": dtype,
    }


def _read(call: AskedCall) -> tuple[Any, Any, dict[str, Any], QParams, QParams | None]:
    """Image, grid, how to sample, the scale and zero point of the image and those of the result."""
    image, grid, align, padding, zero, *rest = call.arguments
    named = dict(zip(NAMED, rest or [None] * len(NAMED), strict=True))
    how = {
        "align_corners": align,
        "padding": padding,
        "mode": named["mode"] or "bilinear",
        "channels_last": bool(named["channels_last"]),
    }
    ends = np.iinfo(image.dtype)
    ranges = int(ends.min), int(ends.max), image.dtype
    beside = QParams(named["scale"] or 1.0, zero, *ranges)
    output = None
    if named["output_scale"] is not None:
        ends, dtype = np.iinfo(named["output_dtype"]), named["output_dtype"]
        ranges = int(ends.min), int(ends.max), dtype
        output = QParams(named["output_scale"], named["output_zero"], *ranges)
    return image, grid, how, beside, output
