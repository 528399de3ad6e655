"""Which operations can tell how an answer comes about, step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mxref.exact import integer_steps, product_steps, sample_steps
from mxref.exact.integer_steps import Log, Step
from mxref.operands.kinds import signed
from mxref.operations.affine_words import affine, scale_numbers
from mxref.operations.operation import Words
from mxref.operations.registry import CALL_OPERATIONS
from mxref.operations.sampling import NAMED
from mxref.operations.weight_only import WeightOnlyOperation

__all__ = ["STEPPED", "steps_of"]

Chosen = Mapping[str, str]


def steps_of(name: str, format: str, words: Words, index: int, policy: str) -> list[Step]:
    """The steps to one word of an answer; the word of the last one is the answer's.

    Args:
        name: the operation; empty steps for one that cannot tell them.
        format: of the case.
        words: of the case.
        index: which word of the answer.
        policy: the choices, such as ``default`` or ``scaling=divide+nan=zero``.

    Raises:
        ValueError: the case has no answer under the policy.

    >>> steps_of("pack_int4", "int4", (1, 2, 1, 2), 0, "default")[-1].word
    154
    """
    if name not in STEPPED:
        return []
    operation = CALL_OPERATIONS[name]
    first = {choice: members[0] for choice, members in operation.choices(format).items()}
    return STEPPED[name](format, tuple(words), index, first | operation.parse(format, policy))


def _quantize_affine(format: str, words: Words, index: int, chosen: Chosen) -> Log:
    case = affine(format, words)
    place = case.which[index]
    order = ("scaling", "zero_point", "nan", "infinite")
    choices = [*(chosen[name] for name in order), chosen.get("int32", "saturate")]
    choices.append(chosen.get("scale_type", "float32"))
    scale = int(scale_numbers(format, case).view(np.uint64)[place])
    bits = int(format.removeprefix("u").removeprefix("int").split("_")[0])
    zero = case.zero_points[place]
    x = case.values[index]
    return integer_steps.quantize_affine(x, scale, zero, case.low, case.high, bits, choices)


def _dequantize_affine(format: str, words: Words, index: int, chosen: Chosen) -> Log:
    case = affine(format, words)
    place = case.which[index]
    scale = int(scale_numbers(format, case).view(np.uint64)[place])
    return integer_steps.dequantize_affine(
        signed(case.values[index]), scale, case.zero_points[place]
    )


def _pack_int4(format: str, words: Words, index: int, chosen: Chosen) -> Log:
    codes = CALL_OPERATIONS["pack_int4"].values(format, words)["codes"]
    row, place = divmod(index, -(-codes.shape[1] // 2))
    pair = [*codes[row].tolist(), 0][2 * place : 2 * place + 2]
    return integer_steps.pack_int4(pair[0], pair[1], **chosen)


def _unpack_int4(format: str, words: Words, index: int, chosen: Chosen) -> Log:
    values = CALL_OPERATIONS["unpack_int4"].values(format, words)
    row, place = divmod(index, values["k"])
    byte = int(values["packed"][row, place // 2])
    return integer_steps.unpack_int4(byte, place % 2, **chosen)


def _rescale(format: str, words: Words, index: int, chosen: Chosen) -> Log:
    values = _numbers("rescale", format, words)
    channel = index % values["channels"]
    ends = np.iinfo(format.split("_")[0].split("-")[1])
    return integer_steps.rescale(
        int(values["q"].reshape(-1)[index]),
        int(values["multiplier"][channel]),
        int(values["shift"][channel]),
        (values["input_zero"], values["output_zero"]),
        (int(ends.min), int(ends.max)),
        chosen.get("rounding", "single"),
    )


def _grid_sample(format: str, words: Words, index: int, chosen: Chosen) -> Log:
    call = CALL_OPERATIONS["grid_sample"].call(format, words)
    image, grid, align, padding, zero, *rest = call.arguments
    named = dict(zip(NAMED, rest or [None] * len(NAMED), strict=True))
    images, grids = (one if image.ndim == 4 else one[np.newaxis] for one in (image, grid))
    number, *place = np.unravel_index(index, (*(len(images),), *call.shape[-3:]))
    if named["channels_last"]:
        images, place = np.moveaxis(images, 3, 1), [place[2], *place[:2]]
    rows = images[number, place[0]].tolist()
    x, y = grids[number, place[1], place[2]].tolist()
    how = {"align_corners": align, "padding": padding}
    bits = tuple(_patterns([named[name] or 1 for name in NAMED[2:4]]))
    if call.dtype == np.float32:
        exact = chosen["arithmetic"] == "exact"
        steps = sample_steps.value_steps if exact else sample_steps.float32_value
        return steps(rows, x, y, bits[0], zero, **how)
    ends, output = np.iinfo(call.dtype), named["output_zero"]
    return sample_steps.grid_sample(
        rows,
        x,
        y,
        **how,
        zero_point=zero,
        output=(zero if output is None else output, int(ends.min), int(ends.max)),
        ties=chosen.get("ties", "even_code"),
        mode=named["mode"] or "bilinear",
        scale_bits=(bits[0], bits[1]) if named["output_scale"] else None,
    )


def _weight_only(name: str) -> Callable[[str, Words, int, Chosen], Log]:
    def steps(format: str, words: Words, index: int, chosen: Chosen) -> Log:
        layer = CALL_OPERATIONS[name]
        if not isinstance(layer, WeightOnlyOperation):
            raise TypeError(f"name must be a weight-only layer, got {name!r}")
        outputs = layer.outputs(format, words, chosen.get("nibbles", ""))
        return product_steps.linear(*outputs[index], chosen["order"])

    return steps


def _qlinear_matmul(format: str, words: Words, index: int, chosen: Chosen) -> Log:
    values = _numbers("qlinear_matmul", format, words)
    row, column = divmod(index, values["n"])
    pairs = zip(values["a"][row].tolist(), values["b"][:, column].tolist(), strict=True)
    scales = [values["a_scale"], values["b_scale"][column], values["y_scale"]]
    zeros = [values["a_zero"], int(values["b_zero"][column]), values["y_zero"]]
    ends = np.iinfo(format)
    return product_steps.qlinear(
        list(pairs), _patterns(scales), zeros, int(ends.min), int(ends.max)
    )


def _elementwise(name: str) -> Callable[[str, Words, int, Chosen], Log]:
    def steps(format: str, words: Words, index: int, chosen: Chosen) -> Log:
        values = _numbers(name, format, words)
        rows, columns = values["a"].shape
        b = np.broadcast_to(values["b"], values["a"].shape).reshape(-1)
        x, y = int(values["a"].reshape(-1)[index]), int(b[index])
        scales = _patterns([values[f"{one}_scale"] for one in "aby"])
        zeros = [int(values[f"{one}_zero"]) for one in "aby"]
        low, high = int(np.iinfo(format).min), int(np.iinfo(format).max)
        if name == "qlinear_mul":
            how = chosen["zero_added"]
            return product_steps.qlinear_mul(x, y, scales, zeros, low, high, how)
        one = "a" if rows == columns == 1 else "b" if values["b"].size == 1 else ""
        return product_steps.qlinear_add(x, y, scales, zeros, low, high, chosen["sum"], one)

    return steps


def _numbers(name: str, format: str, words: Words) -> dict[str, Any]:
    return CALL_OPERATIONS[name].values(format, words)


def _patterns(scales: list[Any]) -> list[int]:
    return [int(np.float32(one).view(np.uint32)) for one in scales]


#: The operations that can, each with the function that does.
STEPPED: dict[str, Callable[[str, Words, int, Chosen], Log]] = {
    "quantize_affine": _quantize_affine,
    "dequantize_affine": _dequantize_affine,
    "pack_int4": _pack_int4,
    "unpack_int4": _unpack_int4,
    "rescale": _rescale,
    "grid_sample": _grid_sample,
    "linear_qcs8w": _weight_only("linear_qcs8w"),
    "linear_qcs4w": _weight_only("linear_qcs4w"),
    "matmul_nbits": _weight_only("matmul_nbits"),
    "qlinear_matmul": _qlinear_matmul,
    "qlinear_add": _elementwise("qlinear_add"),
    "qlinear_mul": _elementwise("qlinear_mul"),
}
