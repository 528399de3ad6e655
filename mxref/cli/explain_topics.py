"""``mxref explain`` with a recipe, with the name of a kind, or with a word of the field."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from mxref.cli.explain_operations import called_as
from mxref.cli.explanation import LINES, WIDTH, Explanation, print_part, print_rows, print_wrapped
from mxref.cli.screen import print_heading, print_text

__all__ = ["TOPICS", "explain_kind", "explain_recipe", "explain_topic"]

#: What to ask for, what it is, and the words of the field that mean it.
_ASKED = (
    ("scale_layout", "where the scales of a matrix lie", "swizzle swizzled layout scale_factors"),
    ("fp6_packing", "how four FP6 codes lie in three bytes", "packing bit_order"),
    ("fp4_packing", "which nibble has the first FP4 code", "packing nibble bit_order"),
    ("nibbles", "which nibble has the first int4 code", "nibble int4"),
    ("pack_int4", "int4 codes, two to a byte", "int4"),
    ("encode_stochastic", "an operation, and how it is called", "stochastic_rounding random_bits"),
    ("stochastic_a", "one of three ways to use random bits", "stochastic stochastic_rounding sr"),
    ("pre_rounding", "a cast of the input before", "double_rounding"),
    ("subnormal_inputs", "subnormal inputs taken for zeros", "ftz daz denormal denormals flush"),
    ("recipes", "what each operand of a layer's products is", "recipe training"),
    ("N53", "training recipes, and their Hadamard transform", "hadamard rht random_hadamard"),
    ("adders", "how tensor cores add", "adder hopper blackwell ampere tensor_core accumulation"),
    ("N47", "matrix units, promotion to float32", "promotion tensor_cores"),
    ("N41", "NVFP4 and the scale of its tensor", "tensor_scale global_scale"),
    ("scale_rule", "the scale of a block from its largest magnitude", "scale_factor amax"),
    ("e8m0", "the scale format of MX", "ue8m0"),
    ("quantize_affine", "integers with a scale and a zero point", "int8 uint8 int16 affine"),
    ("Q3", "when the zero point is added", "tflite zero_points quantize_linear"),
)
#: For each word of the field what to ask for.
TOPICS: dict[str, list[tuple[str, str]]] = {}
for _name, _what, _words in _ASKED:
    for _word in _words.split():
        TOPICS.setdefault(_word, []).append((_name, _what))


def explain_topic(options: argparse.Namespace) -> list[Explanation]:
    """What mxref calls that which a word of the field means."""
    word = options.name.replace(" ", "_").replace("-", "_")
    if word not in TOPICS:
        return []
    data = {
        "kind": "word",
        "name": options.name,
        "about": "see " + ", ".join(name for name, _ in TOPICS[word]),
        "see": [{"name": name, "about": what} for name, what in TOPICS[word]],
    }
    return [Explanation(data, _show_topic)]


def explain_recipe(options: argparse.Namespace) -> list[Explanation]:
    """How a recipe of training quantizes each operand."""
    from mxref.products.recipe import OPERANDS
    from mxref.profiles.recipes import RECIPES

    if options.name not in RECIPES:
        return []
    one = RECIPES[options.name]
    data = {
        "kind": "recipe",
        "name": one.name,
        "about": "operands of y = x w', dx = grad w, dw = grad' x",
        "source": one.source,
        "operands": {name: str(getattr(one, name)) for name in OPERANDS},
        "clause": "N53",
    }
    return [Explanation(data, _show_recipe)]


def explain_kind(options: argparse.Namespace) -> list[Explanation]:
    """All things of a kind, such as `adders`."""
    if options.name not in _LISTS:
        return []
    rows = [{"name": name, "about": about} for name, about in _LISTS[options.name]()]
    about = f"all {options.name}"
    return [Explanation({"kind": "list", "name": options.name, "about": about, "of": rows}, _list)]


def _recipes() -> Iterator[tuple[str, str]]:
    from mxref.profiles.recipes import RECIPES

    yield from ((one.name, one.source) for one in RECIPES.values())


def _adders() -> Iterator[tuple[str, str]]:
    from mxref.conformance.adders.sentence import adder_text
    from mxref.products.adders import ADDERS

    yield from ((name, adder_text(adder)) for name, adder in ADDERS.items())


def _operations() -> Iterator[tuple[str, str]]:
    from mxref.operations.registry import REGISTRY

    yield from ((name, called_as(name)) for name in REGISTRY)


def _choices() -> Iterator[tuple[str, str]]:
    from mxref.cli.explain_choices import integer_choices
    from mxref.policy.policy import Policy

    kinds = {name: type(Policy.members(name)[0]) for name in Policy().choices()}
    for name, kind in {**integer_choices(), **kinds}.items():
        yield name, (inspect.getdoc(kind) or "").partition("\n")[0]


def _clauses() -> Iterator[tuple[str, str]]:
    from mxref.cli.spec_notes import clauses

    yield from ((one.name, one.about) for one in clauses().values())


def _profiles() -> Iterator[tuple[str, str]]:
    from mxref.profiles import PROFILES

    yield from ((one.name, one.source) for one in PROFILES.values())


_LISTS: dict[str, Callable[[], Iterator[tuple[str, str]]]] = {
    "recipes": _recipes,
    "adders": _adders,
    "operations": _operations,
    "choices": _choices,
    "clauses": _clauses,
    "profiles": _profiles,
}


def _show_topic(data: dict[str, Any]) -> None:
    print_heading(f"{data['name']}: see")
    rows = [(one["name"], one["about"], f"mxref explain {one['name']}") for one in data["see"]]
    print_rows(("name", "what it is", "ask"), rows)


def _show_recipe(data: dict[str, Any]) -> None:
    print_heading(f"recipe {data['name']}: {data['about']}")
    width = max(map(len, data["operands"])) + 2
    print_heading(f"{'operand':{width}}how it is quantized")
    for operand, how in data["operands"].items():
        print_wrapped(f"{operand:{width}}{how}", " " * width)
    print_part("source", data["source"])
    print_part("called", f'mxref.linear(x, w, recipe) with recipe = mxref.recipe("{data["name"]}")')
    print_part("clause", data["clause"])


def _list(data: dict[str, Any]) -> None:
    """Print a line for each, or the names alone if these are too many for a screen."""
    print_heading(data["about"])
    names = [one["name"] for one in data["of"]]
    width = max(map(len, names))
    if len(names) > LINES - 3:
        print_wrapped("  " + ", ".join(names), "  ")
    else:
        lines = (f"{one['name']:{width}}  {one['about']}" for one in data["of"])
        print_text(*(one if len(one) <= WIDTH else f"{one[: WIDTH - 4]} ..." for one in lines))
    print(f"more of one: mxref explain {names[0]}; what each is: --json")
