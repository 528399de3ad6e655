"""Layers of a target that says its recipe: right ones conform, one other operand is named."""

from __future__ import annotations

import dataclasses
import json
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tables import rows

import mxref
from mxref.conformance import TargetError, target_of, verify
from mxref.conformance.verdict.one_sentence import verdict_text
from mxref.conformance.verdict.report_text import report_lines
from mxref.exact.linear import BlockFormat as TwinFormat
from mxref.golden.agreement import compare_references
from mxref.golden.integer_cases import call_file
from mxref.mutants.recipe_faults import changed_layer, changes
from mxref.operations.recipe_draws import Ordinary
from mxref.operations.recipe_products import RecipeGradients, RecipeLinear
from mxref.operations.recipe_twins import twin_operand
from mxref.operations.registry import defined
from mxref.products.recipe_operands import recipe_gradients, recipe_output
from mxref.profiles.recipes import RECIPES

LAYERS = (RecipeLinear, RecipeGradients)
RECIPE_LAYERS = ("recipe_linear", "recipe_gradients")
SMALL = ("mxfp8_torchao", "mxfp8_transformer_engine_2d")


def kernel(recipe: Any, does: mxref.Recipe, **more: Any) -> SimpleNamespace:
    """Layers by one recipe that say that they follow one."""

    def linear(x: Any, w: Any, bias: Any, name: str) -> Any:
        assert bias is None
        return mxref.linear(x, w, does)

    def linear_gradients(x: Any, w: Any, grad: Any, name: str, *bits: Any) -> Any:
        drawn = dict(zip(does.stochastic, bits, strict=False)) or None
        return mxref.linear_gradients(x, w, grad, does, random_bits=drawn)

    layers = {"linear": linear, "linear_gradients": linear_gradients}
    return SimpleNamespace(RECIPE=recipe, **{**layers, **more})


def report_on(module: SimpleNamespace) -> Any:
    target = target_of(module, "kernel")
    with target.own.known():
        own = target.own.operations
        names = [(one.name, one.formats[0]) for one in own]
        names += [(op, one) for op in RECIPE_LAYERS for one in target.own.layers]
        files = [call_file(*one) for one in names if one[0] in target.operations]
        return verify(target, files)


@pytest.mark.parametrize("name", RECIPES)
def test_both_references_give_its_answers(name: str) -> None:
    for kind in LAYERS:
        with defined(one := kind(RECIPES[name])):
            compare_references(call_file(one.name, name))


@pytest.mark.parametrize("name", ["mxfp8_torchao_wgrad_with_hp", "deepseek_v3"])
def test_a_right_layer_conforms(name: str) -> None:
    report = report_on(kernel(name, RECIPES[name]))
    assert [(row.op, row.format) for row in report.rows] == [
        ("recipe_linear", name),
        ("recipe_gradients", name),
    ]
    assert report.passed, verdict_text(report)


def test_a_recipe_by_hand_and_sums_in_float32() -> None:
    """Sums of float32 in an order of their own are inside the bounds, those that cut are not."""
    how = mxref.OperandRecipe("mxfp6_e3m2", "ocp+scale_rule=even")
    mine = mxref.Recipe("my own", *[how] * 6)

    def summed(pair: Any) -> Any:
        a, b = (one.dequantize(np.float32) for one in pair)
        return a @ b

    def linear(x: Any, w: Any, bias: Any, name: str) -> Any:
        assert name == "my_own"
        return summed(recipe_output(x, w, mine)).reshape(*x.shape[:-1], -1)

    def gradients(x: Any, w: Any, grad: Any, name: str) -> Any:
        dx, dw = map(summed, recipe_gradients(x, w, grad, mine))
        return dx.reshape(x.shape), dw, None

    right = SimpleNamespace(RECIPE=mine, linear=linear, linear_gradients=gradients)
    assert report_on(right).passed
    short = lambda *given: linear(*given).astype("bfloat16").astype(np.float32)  # noqa: E731
    assert not report_on(SimpleNamespace(RECIPE=mine, linear=short)).passed


@pytest.mark.parametrize(("text", "name", "parts"), rows("conformance", "recipe_faults"))
def test_what_is_quantized_otherwise_is_named(text: str, name: str, parts: str) -> None:
    changed = json.loads(parts)
    recipe = RECIPES[name]
    other = dataclasses.replace(
        recipe,
        **{one: dataclasses.replace(getattr(recipe, one), **how) for one, how in changed.items()},
    )
    products = {one.partition("_")[0] for one in changed}
    known = re.sub(r" of [0-9]+(x[0-9]+)?", "", text)  # of every recipe that has the change
    some = {"linear": None} if products != {"y"} else {"linear_gradients": None}
    verdict = verdict_text(report_on(kernel(name, other, **some)))
    assert known in verdict
    assert verdict.count(" bug ") == 1


def test_operands_along_another_axis_are_named() -> None:
    recipe = RECIPES["mxfp8_torchao"]
    for kind, name in ((RecipeLinear, "linear"), (RecipeGradients, "linear_gradients")):
        layer = kind()
        for change in changes(recipe, layer.operands):
            if not change.across:
                continue
            run = changed_layer(layer, recipe, change)

            def function(x: Any, w: Any, more: Any, name: str, run: Any = run) -> Any:
                if more is None:
                    return run(x, w, name)
                found = run(x, w, more, name)
                return found[: x.size].reshape(x.shape), found[x.size :].reshape(w.shape), None

            module = SimpleNamespace(RECIPE="mxfp8_torchao", **{name: function})
            assert f"{change.text}" in verdict_text(report_on(module))


def test_every_change_is_seen_and_outside_of_the_bounds() -> None:
    name = SMALL[1]
    recipe = RECIPES[name]
    for layer in (RecipeLinear(), RecipeGradients()):
        calls = [layer.call(name, case.inputs) for case in layer.designed(name)]
        for change in changes(recipe, layer.operands):
            run = changed_layer(layer, recipe, change)
            right = [layer.admits(call, run(*call.arguments)) for call in calls]
            assert not all(right), change.name


def test_the_slow_twin_is_told_what_the_sources_say() -> None:
    told = twin_operand(RECIPES["nvfp4_transformer_engine"].dw_grad)
    assert told.format == TwinFormat("e2m1", "ue4m3", 16, tensor=True)
    assert told.choices == {"rounding": "stochastic_a", "arithmetic": "transformer_engine"}
    assert (told.width, told.rounded, told.signs[:4]) == (8, "bf16", (1, 1, 1, -1))
    stored = twin_operand(RECIPES["deepseek_v3"].dw_x).stored
    assert stored is not None
    assert stored.format == TwinFormat("e4m3", "f32", 128)
    tiles = twin_operand(RECIPES["deepseek_v3"].dx_w).format
    assert tiles == TwinFormat("e4m3", "f32", (128, 128))


def test_without_a_change_the_function_of_changes_is_right() -> None:
    for kind in LAYERS:
        layer = kind()
        for name in SMALL:
            change = next(changes(RECIPES[name], layer.operands))._replace(operands={})
            run = changed_layer(layer, RECIPES[name], change)
            for case in layer.designed(name):
                call = layer.call(name, case.inputs)
                assert np.array_equal(run(*call.arguments), layer.run(call, {}))


def test_numbers_of_cases_are_those_on_which_both_references_agree() -> None:
    """Beyond, stages of torchao's profile are not those of its policy."""
    for word, legal in ((0, True), (0x8000, True), (0x3F80, True), (0x400, False), (0x7F80, False)):
        assert Ordinary().is_legal(word) is legal
    layer = RecipeGradients()
    with pytest.raises(ValueError, match="x must be words of its kind, got 400"):
        layer.call("mxfp8_torchao", (1, 1, 1, 1, 0x400, 0x3F80, 0x3F80))


def test_results_that_are_no_gradients() -> None:
    module = kernel("mxfp8_torchao", RECIPES["mxfp8_torchao"], linear=None)
    for result, text in (
        (lambda x, w, *rest: (w, x, None), "dx must be float32"),
        (lambda x, w, *rest: x, "must return arrays dx, dw and db, got ndarray"),
    ):
        module.linear_gradients = result
        report = report_on(module)
        assert not report.passed
        assert text in str(report.rows)


@pytest.mark.parametrize(
    ("recipe", "text"),
    [
        ("mxfp8_torchoa", "RECIPE must be one of"),
        (3, "RECIPE must be a Recipe or the name of one, got 3"),
        (
            mxref.Recipe(
                "r", y_x=mxref.OperandRecipe("nvfp4", "ocp+rounding=stochastic_a", random_width=8)
            ),
            "y_x must be rounded deterministically where a target is checked",
        ),
    ],
)
def test_recipes_that_are_refused(recipe: Any, text: str) -> None:
    with pytest.raises(TargetError, match=text):
        target_of(kernel(recipe, RECIPES["mxfp8_torchao"]), "kernel")


def test_layers_are_asked_in_the_multiples_that_a_target_says() -> None:
    recipe, seen = RECIPES["mxfp8_torchao"], set[tuple[int, ...]]()

    def linear(x: Any, w: Any, bias: Any, name: str) -> Any:
        seen.add((x.shape[1] % 4, *(n % 32 for n in w.shape)))
        return mxref.linear(x, w, recipe)

    module = kernel("mxfp8_torchao", recipe, linear=linear, linear_gradients=None)
    module.MULTIPLES = {"linear": (4, 32, 32)}
    assert report_on(module).passed
    assert seen == {(0, 0, 0)}


@pytest.mark.parametrize(("name", "tile"), [("nvfp4_transformer_engine", 16), ("deepseek_v3", 128)])
def test_a_weight_has_two_tiles_along_both_axes_and_exchanged_ones_are_seen(
    name: str, tile: int
) -> None:
    """As by a kernel that reads the scales of tiles in the order of columns."""
    layer, found = RecipeLinear(), []
    for case in layer.designed(name):
        _, w, _ = layer.call(name, case.inputs).arguments
        if min(w.shape) > tile:
            upper, lower = w[:tile, tile:], w[tile : 2 * tile, :tile]
            found.append(float(abs(upper).max()) / float(abs(lower).max()))
    assert found
    assert max(max(one, 1 / one) for one in found) > 2


def test_an_amax_without_its_floor_is_seen() -> None:
    recipe = RECIPES["deepgemm"]
    assert isinstance(recipe.y_x.by, mxref.Policy)
    policy = recipe.y_x.by.replace(amax_floor="none")
    other = dataclasses.replace(recipe, y_x=dataclasses.replace(recipe.y_x, by=policy))
    module = kernel("deepgemm", other, linear_gradients=None)
    assert not report_on(module).passed


def test_a_sum_inside_of_its_bounds_is_not_shown_as_wrong() -> None:
    """dx is right but for the order of its sums; dw has a fault, which is named and shown."""
    recipe = RECIPES["mxfp8_torchao"]
    fault = {"dw_x": dataclasses.replace(recipe.dw_x, by="ocp")}
    other = dataclasses.replace(recipe, **fault)

    def gradients(x: Any, w: Any, grad: Any, name: str) -> Any:
        pairs = recipe_gradients(x, w, grad, other)
        dx, dw = (
            left.dequantize(np.float32) @ right.dequantize(np.float32) for left, right in pairs
        )
        return dx.reshape(x.shape), dw, None

    module = SimpleNamespace(RECIPE="mxfp8_torchao", linear_gradients=gradients)
    report = report_on(module)
    assert "quantizes x for dw with scale_rule=floor" in verdict_text(report)
    with target_of(module, "kernel").own.known():
        text = "\n".join(report_lines(report, 9))
    assert "element dw" in text
    assert "element dx" not in text
