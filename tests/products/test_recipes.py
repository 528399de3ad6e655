"""Layers of recipes equal the slow twin, whose operands are typed again from the sources.

The exact products of small layers are compared bit by bit. Rows and columns are scaled by powers of
two, so that an operand quantized along another axis, or in other tiles, has other numbers.
"""

from __future__ import annotations

import dataclasses
import re
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers import SOURCES
from layer_operands import operands, words

import mxref
from mxref.blocks.container import Blocks
from mxref.exact import recipe as twin
from mxref.exact.linear import BlockFormat
from mxref.exact.recipe import RecipeOperand
from mxref.products.hadamard import Hadamard
from mxref.products.layer_bounds import linear_bounds
from mxref.products.recipe import OPERANDS, OperandRecipe, Recipe
from mxref.products.recipe_operands import recipe_gradients, recipe_output
from mxref.profiles.recipes import RECIPES

SIGNS = (1, 1, 1, -1, 1, -1, -1, -1, -1, -1, -1, 1, -1, 1, -1, -1)


def choices(text: str) -> dict[str, str]:
    return dict(pair.split("=") for pair in text.split())


def alike(
    x: RecipeOperand, w: RecipeOperand, g: RecipeOperand | None = None, **own: RecipeOperand
) -> dict[str, RecipeOperand]:
    g = g or x
    return {**dict(zip(OPERANDS, (x, w, g, w, g, x), strict=True)), **own}


#: On finite numbers that are not tiny the stages of the profiles are those of their policies.
TORCHAO = RecipeOperand(BlockFormat("e4m3"), choices("rule=rceil nan=signed"))
TE_MX = RecipeOperand(BlockFormat("e4m3"), choices("rule=rceil_reciprocal"))
TE_4 = RecipeOperand(
    BlockFormat("e2m1", "ue4m3", 16, tensor=True), {"arithmetic": "transformer_engine"}
)
TE_4_GRAD = TE_4._replace(choices={**TE_4.choices, "rounding": "stochastic_a"}, width=8)
ALONG, TILES = BlockFormat("e4m3", "f32", 128), BlockFormat("e4m3", "f32", (128, 128))
TE_F32 = choices("scale_from=multiplier_or_one element_from=multiplier block_nan=ignore")
TE_8 = {**TE_F32, "scale_power": "bit_ceiling"}
V3 = choices("amax_floor=1e-4 element_from=quotient block_nan=ignore")
DEEPGEMM = choices("amax_floor=1e-4 element_from=reciprocal nan=signed")


def float_scaled(how: dict[str, str], **own: RecipeOperand) -> dict[str, RecipeOperand]:
    return alike(RecipeOperand(ALONG, how), RecipeOperand(TILES, how), **own)


TWINS: dict[str, dict[str, RecipeOperand]] = {
    "mxfp8_torchao": alike(TORCHAO, TORCHAO),
    "mxfp8_torchao_wgrad_with_hp": alike(
        TORCHAO, TORCHAO, dw_grad=RecipeOperand(), dw_x=RecipeOperand()
    ),
    "mxfp8_transformer_engine": alike(TE_MX, TE_MX),
    "mxfp8_transformer_engine_2d": alike(
        TE_MX, TE_MX._replace(format=BlockFormat("e4m3", along=(32, 32)))
    ),
    "nvfp4_transformer_engine": alike(
        TE_4,
        TE_4._replace(format=BlockFormat("e2m1", "ue4m3", (16, 16), tensor=True)),
        TE_4_GRAD,
        dw_grad=TE_4_GRAD._replace(signs=SIGNS),
        dw_x=TE_4._replace(signs=SIGNS),
    ),
    "float8_blockwise_transformer_engine": float_scaled(TE_8),
    "float8_blockwise_transformer_engine_float32": float_scaled(TE_F32),
    "deepseek_v3": float_scaled(V3, dw_x=RecipeOperand(ALONG, V3, stored=RecipeOperand(ALONG, V3))),
    "deepgemm": float_scaled(DEEPGEMM),
}


def drawn(name: str, shape: tuple[int, ...], seed: int) -> dict[str, Any] | None:
    generator = np.random.default_rng(seed)
    stochastic = RECIPES[name].stochastic
    return {one: generator.integers(0, 256, shape) for one in stochastic} or None


def check(
    name: str, arrays: list[Any], source: str, target: str = "f32", seed: int = 0, **own: Any
) -> None:
    """y, dx and dw of a layer equal those of the twin, bit by bit."""
    recipe = dataclasses.replace(RECIPES[name], **own)
    x, w, grad, _ = arrays
    slow, dtype = TWINS[name], SOURCES[target]
    got = mxref.linear(x, w, recipe, dtype=dtype)
    assert words(got) == twin.output(words(x), words(w), source, [slow["y_x"], slow["y_w"]], target)
    bits = drawn(name, grad.shape, seed)
    draws = [None if bits is None else words_of(bits[one]) for one in ("dx_grad", "dw_grad")]
    dx, dw, db = mxref.linear_gradients(x, w, grad, recipe, dtype=dtype, random_bits=bits)
    backward = [slow[one] for one in OPERANDS[2:]]
    want = twin.gradients(words(x), words(w), words(grad), source, backward, target, draws)
    assert (words(dx), words(dw)) == want
    assert dx.shape == x.shape
    assert np.array_equal(db, mxref.linear_gradients(x, w, grad, "mxfp8_e4m3", dtype=dtype)[2])


def words_of(bits: Any) -> list[list[int]]:
    return bits.reshape(-1, bits.shape[-1]).tolist()  # type: ignore[no-any-return]


#: Leading axes of x, K and N: more than a block or a tile of 16, 32 and of 128.
SIZES = ((2, 24), 48, 40), ((2, 66), 132, 5)


def test_each_recipe_has_a_twin() -> None:
    assert [*TWINS] == [*RECIPES]


@pytest.mark.parametrize("name", RECIPES)
def test_n53_a_layer_of_each_recipe_equals_the_twin(name: str) -> None:
    long = "f32" in str(TWINS[name]["y_x"].format)
    spread = 3 if name.startswith("nvfp4") else 9  # MXFP8 has other numbers if it underflows
    check(name, operands(60, *SIZES[long], "bf16", spread), "bf16")


@pytest.mark.parametrize("name", ["mxfp8_torchao", "deepseek_v3", "nvfp4_transformer_engine"])
@pytest.mark.parametrize("target", ["f64", "bf16"])
def test_float_types(name: str, target: str) -> None:
    check(name, operands(61, (16,), 32, 16, "f32", 3), "f32", target)


def test_random_bits_are_those_of_each_product() -> None:
    name = "nvfp4_transformer_engine"
    x, w, grad, _ = operands(62, (32,), 32, 16, "bf16", 2)
    bits = drawn(name, grad.shape, 1)
    assert bits is not None
    first = mxref.linear_gradients(x, w, grad, RECIPES[name], random_bits=bits)
    for one, same in (("dx_grad", 1), ("dw_grad", 0)):
        other = {**bits, one: 255 - bits[one]}
        again = mxref.linear_gradients(x, w, grad, RECIPES[name], random_bits=other)
        assert np.array_equal(first[same], again[same])
        assert not np.array_equal(first[1 - same], again[1 - same])


# --- the Hadamard transform ---------------------------------------------------------------------

HADAMARD = RECIPES["nvfp4_transformer_engine"].dw_x.transform


def test_n53_the_matrix_is_orthogonal_and_that_of_the_source() -> None:
    assert HADAMARD is not None
    matrix = HADAMARD.matrix * 4
    assert np.array_equal(matrix @ matrix.T, 16 * np.eye(16))
    # Rows 1 and 15 of get_hadamard_matrix, with the second and the last of the signs.
    assert matrix[1].tolist() == [1, -1] * 8
    assert matrix[15].tolist() == [
        -n for n in (1, -1, -1, 1, -1, 1, 1, -1, -1, 1, 1, -1, 1, -1, -1, 1)
    ]
    assert matrix[:, 0].tolist() == [*SIGNS]


@pytest.mark.parametrize("axis", [0, 1])
def test_n53_the_transform_is_exact_and_rounded_once(axis: int) -> None:
    """By fractions, and a rounding to bfloat16 that looks at both neighbours."""
    generator = np.random.default_rng(3)
    values = generator.standard_normal((16, 32)) * np.exp2(generator.integers(-30, 30, (16, 32)))
    x = values.astype(ml_dtypes.bfloat16)
    assert HADAMARD is not None
    got = np.moveaxis(HADAMARD.transformed(x, axis), axis, -1).reshape(-1, 16)
    rows = np.moveaxis(x, axis, -1).reshape(-1, 16).astype(np.float64)
    for row, found in zip(rows, got, strict=True):
        for column in range(16):
            signs = [s * (-1) ** (i & column).bit_count() for i, s in enumerate(SIGNS)]
            exact = sum(Fraction(v) * s for v, s in zip(row.tolist(), signs, strict=True)) / 4
            number = found[column]
            away = abs(Fraction(float(number)) - exact)
            for other in (
                np.nextafter(number, number.dtype.type(end)) for end in (-np.inf, np.inf)
            ):
                beside = abs(Fraction(float(other)) - exact)
                even = int(number.view(np.uint16)) % 2 == 0
                assert away < beside or (away == beside and even)


def test_special_values_of_the_transform() -> None:
    assert HADAMARD is not None
    x = np.zeros((3, 16), np.float32)
    x[1, 2], x[2, :2] = np.nan, (np.inf, np.inf)
    got = HADAMARD.transformed(x).astype(np.float32)
    assert not np.signbit(got[0]).any()
    assert np.isnan(got[1]).all()
    assert np.isnan(got[2]).sum() == 8
    assert np.isinf(got[2]).sum() == 8


# --- bounds ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RECIPES)
def test_float32_sums_in_two_orders_are_inside(name: str) -> None:
    """Of the numbers that operands stand for, in float32; those of another recipe are outside."""
    recipe, other = RECIPES[name], RECIPES["mxfp8_transformer_engine"]
    x, w, grad, bias = operands(65, (2, 144), 160, 16, "bf16", 1)
    bits = drawn(name, grad.shape, 5)
    y = mxref.linear_bounds(x, w, recipe)
    dx, dw, db = mxref.linear_gradients_bounds(x, w, grad, recipe, random_bits=bits)
    pairs = recipe_output(x, w, recipe), *recipe_gradients(x, w, grad, recipe, bits)
    for pair, bounds in zip(pairs, (y, dx, dw), strict=True):
        a, b = (one.dequantize() if isinstance(one, Blocks) else one for one in pair)
        for step in (1, -1):
            left, right = a.astype(np.float32)[:, ::step], b.astype(np.float32)[::step]
            found = sum(np.outer(*one) for one in zip(left.T, right, strict=True))
            assert bounds.hold(np.float32(found).reshape(bounds.lo.shape)).all()
    exact = mxref.linear(x, w, recipe, bias=bias)
    assert mxref.linear_bounds(x, w, recipe, bias=bias).hold(exact).all()
    assert db.hold(mxref.linear_gradients(x, w, grad, recipe, random_bits=bits)[2]).all()
    if name.startswith("nvfp4"):
        assert not y.hold(mxref.linear(x, w, other)).all()
        assert not dw.hold(mxref.linear_gradients(x, w, grad, other)[1]).all()


@pytest.mark.parametrize("rounding", ["nearest", "any"])
def test_bounds_under_float32_scales(rounding: Any) -> None:
    """The ends by fractions: n + 6, or 2K + 14 and 3K of the smallest numbers."""
    recipe = RECIPES["deepgemm"]
    x, w, _, _ = operands(66, (3,), 140, 2, "f32", 1)
    bounds = mxref.linear_bounds(x, w, recipe, dtype=np.float64, rounding=rounding)
    a, b = (one.dequantize(np.float64) for one in recipe_output(x, w, recipe))
    for i, j in np.ndindex(3, 2):
        terms = [
            Fraction(p) * Fraction(q) for p, q in zip(a[i].tolist(), b[:, j].tolist(), strict=True)
        ]
        count, size = sum(map(bool, terms)), sum(map(abs, terms))
        away = (count + 6) * size / 2**24 + Fraction(count, 2**150)
        if rounding == "any":
            away = 2 * (2 * 140 + 14) * size / 2**24 + 2 * Fraction(3 * 140, 2**150)
        assert float(sum(terms) - away) == bounds.lo[i, j]
        assert float(sum(terms) + away) == bounds.hi[i, j]


# --- recipes as values --------------------------------------------------------------------------


def test_a_recipe_made_by_hand() -> None:
    """Formats and a policy alike are what `linear` does of them."""
    x, w, grad, bias = operands(63, (40,), 64, 24)
    how = mxref.OperandRecipe("mxfp6_e3m2", "ocp+scale_rule=even")
    mine = mxref.Recipe("mine", how, how, how, how, how, how)
    own: Any = {"scale_rule": "even"}
    assert np.array_equal(
        mxref.linear(x, w, mine, bias=bias), mxref.linear(x, w, "mxfp6_e3m2", bias=bias, **own)
    )
    for got, want in zip(
        mxref.linear_gradients(x, w, grad, mine, accumulation="pairwise"),
        mxref.linear_gradients(x, w, grad, "mxfp6_e3m2", accumulation="pairwise", **own),
        strict=True,
    ):
        assert np.array_equal(got, want)
    kept = dataclasses.replace(mine, y_x=mxref.OperandRecipe())
    assert np.array_equal(
        mxref.linear(x, w, kept), mxref.linear(x, w, "mxfp6_e3m2", activations="kept", **own)
    )
    assert kept == dataclasses.replace(mine, y_x=mxref.OperandRecipe())
    assert hash(kept) != hash(mine)


def test_what_no_product_reads_is_refused() -> None:
    x, w, grad, _ = operands(64, (32,), 32, 16, "bf16", 2)
    four, eight = mxref.recipe("nvfp4_transformer_engine"), mxref.recipe("deepseek_v3")
    bits = np.zeros(grad.shape, int)
    for error, call in {
        "random_bits must have those of dx_grad and dw_grad": lambda: mxref.linear_gradients(
            x, w, grad, four, random_bits={"dx_grad": bits}
        ),
        "random_bits must be those of no operand": lambda: mxref.linear(
            x, w, four, random_bits={"dx_grad": bits}
        ),
        "random_bits of dx_grad must have shape": lambda: mxref.linear_gradients(
            x, w, grad, four, random_bits={"dx_grad": bits[:1], "dw_grad": bits}
        ),
        "random_bits must be None without a recipe": lambda: mxref.linear(
            x, w, "mxfp8_e4m3", random_bits={"y_x": bits}
        ),
        "weight_format must be None with the recipe deepseek_v3": lambda: mxref.linear(
            x, w, eight, weight_format="mxfp8_e4m3"
        ),
        "scale_rule must be left out with the recipe deepseek_v3": lambda: mxref.linear(
            x, w, eight, scale_rule="rceil"
        ),
        "accumulation must be exact": lambda: mxref.linear(x, w, eight, accumulation="pairwise"),
        "a multiple of 16 numbers along the axis": lambda: mxref.linear_gradients(
            x[:30], w, grad[:30], four, random_bits=dict.fromkeys(four.stochastic, bits[:30])
        ),
        "signs must be a power of four": lambda: mxref.Hadamard((1,) * 8),
        "signs must be 1 or -1": lambda: mxref.Hadamard((1, 2, 1, 1)),
        "random_width must be given": lambda: mxref.OperandRecipe(
            "nvfp4", "ocp+rounding=stochastic_a"
        ),
        "dw_x must have the transform of dw_grad": lambda: dataclasses.replace(four, dw_x=four.y_x),
        "stored must have a format": lambda: mxref.OperandRecipe(
            "mxfp8_e4m3", stored=mxref.OperandRecipe()
        ),
        "recipe must be one of": lambda: mxref.recipe("mxfp8_torchoa"),
    }.items():
        with pytest.raises(ValueError, match=error):
            call()  # type: ignore[no-untyped-call]
    for wrong in (lambda: mxref.OperandRecipe("nvfp4", 3), lambda: mxref.Recipe(y_x="nvfp4")):  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="must be a"):
            wrong()


def test_bounds_hold_what_a_kernel_gives_or_are_refused() -> None:
    """DeepGEMM's product of both scales is 0 in float32: 2e-30 / 448 times 1e-14 / 448."""
    layer = mxref.recipe("float8_blockwise_transformer_engine_float32")
    x, w = np.full((1, 128), 1e-30, np.float32), np.full((1, 128), 3e-15, np.float32)
    x[0, 0], w[0, 1] = 2e-30, -1e-14
    with pytest.raises(ValueError, match="must have scales under which products are normal"):
        linear_bounds(x, w, layer)


@pytest.mark.parametrize(
    "same",
    [
        [[1, 1, 1, -1], "bfloat16"],
        [np.array([1, 1, 1, -1]), "bfloat16"],
        [(1, 1, 1, -1), ml_dtypes.bfloat16],
    ],
)
def test_transforms_are_equal_by_their_signs_and_type(same: Any) -> None:
    one, other = Hadamard((1, 1, 1, -1)), Hadamard(*same)
    assert one == other
    assert hash(one) == hash(other)
    fp8 = OperandRecipe("mxfp8_e4m3", transform=one)
    Recipe("own", y_x=fp8, y_w=dataclasses.replace(fp8, transform=other))


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Hadamard(16), "signs must be numbers 1 or -1, got int"),  # type: ignore[arg-type]
        (lambda: Hadamard((1,)).transformed([[1.0]], 9), "axis must be one of the 2 axes"),
        (lambda: OperandRecipe(transform="h"), "transform must be a Hadamard, got str"),  # type: ignore[arg-type]
        (lambda: OperandRecipe(stored="nvfp4"), "stored must be a OperandRecipe, got str"),  # type: ignore[arg-type]
        (lambda: OperandRecipe(random_width="8"), "random_width must be an int, got str"),  # type: ignore[arg-type]
        (lambda: OperandRecipe(random_width=99), "random_width must be from 1 to 32, got 99"),
        (lambda: Recipe(5), "name must be a str, got int"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_part_of_a_recipe_is_refused(make: Any, text: str) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(text)):
        make()


@pytest.mark.parametrize(
    "layer", [mxref.linear, lambda x, w, name: mxref.linear_gradients(x, w, x, name)]
)
def test_the_name_of_a_recipe_is_no_format(layer: Any) -> None:
    x = np.ones((16, 16), np.float32)
    with pytest.raises(ValueError, match=r"got 'deepgemm'; a recipe .* is made by mxref\.recipe\("):
        layer(x, x, "deepgemm")
    with pytest.raises(ValueError, match=r"use 'mxfp8_e4m3'$"):
        layer(x, x, "e4m3")
