"""A model of a matrix unit in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mxref.conformance.adders.reading import Facts
from mxref.conformance.adders.trees import C, SumTree, Tree, canonical, chain_tree, nodes_of
from mxref.policy.choices import Rounding
from mxref.products.adders import Adder

__all__ = ["adder_text", "known", "sentence"]


def adder_text(adder: Adder) -> str:
    """How an adder adds, in words.

    >>> from mxref.products.adders import ADDERS
    >>> adder_text(ADDERS["hopper_f16"]).split("; ")
    ['steps of 16 products with C, aligned to the largest and cut at 2^-25 of it', \
'rounded toward zero to float32']
    """
    words = [_step(adder, adder.step, with_c=adder.promotion is None)]
    words += [f"added up in float32 every {adder.promotion}"] * bool(adder.promotion)
    return "; ".join(words)


def sentence(
    model: SumTree, adder: Adder | None, k: int, unseen: Mapping[str, Sequence[Any]]
) -> str:
    """What a model does, but for fields that no answer shows.

    >>> from mxref.products.adders import ADDERS
    >>> fma = ADDERS["fma_f32"]
    >>> sentence(SumTree(canonical(chain_tree(fma, range(8))), fma), fma, 8, {})
    'one product after the other, from C on, by fused multiply-add'
    """
    told = _told(model, adder, k)
    if "rounding" in unseen:
        least = min(unseen.get("output_bits", [23]))
        told = told.replace(_kept(model.adder), f"; {least} fraction bits or more kept")
    if "tree" in unseen:
        told = told.replace(", by fused multiply-add", ", in float32")
    return told


def _told(model: SumTree, adder: Adder | None, k: int) -> str:
    if adder is not None:
        return adder_text(adder)
    step = model.adder
    for text, tree in _shapes(model, k):
        if tree == model.tree:
            return text
    pure = step.tree or step.step == 1
    return f"a tree of its own, {_pure(step) if pure else _step(step, step.step, with_c=False)}"


def _step(adder: Adder, size: int, *, with_c: bool) -> str:
    """A chain of steps."""
    c = " with C" if with_c else ""
    if size == 1 and adder.fraction_bits is None:
        start = ", from C on" if with_c else ""
        return f"one product after the other{start}, by fused multiply-add"
    many = f"steps of {size} product{'s' * (size > 1)}{c}"
    kept = _kept(adder)
    if adder.tree:
        flush = ", subnormal numbers being zeros" if adder.flush else ""
        return f"{many}, added in pairs in float32{flush}"
    if adder.fraction_bits is None:
        return f"{many}, added exactly and rounded once to nearest{kept}"
    if adder.later_bits is None:
        return f"{many}, aligned to the largest and cut at 2^-{adder.fraction_bits} of it{kept}"
    halves = "even and odd ones apart, " if adder.halves else ""
    many = f"steps of {size} products, {halves}"
    return (
        f"{many}aligned to the largest and cut at 2^-{adder.fraction_bits} of it; then the sum so "
        f"far, from C on, is aligned with theirs, cut down at 2^-{adder.later_bits} of the sum, "
        "and rounded to nearest"
    )


def _kept(adder: Adder) -> str:
    name = "float16" if adder.output == "f16" else "float32"
    if adder.rounding is Rounding.TIES_TO_EVEN:
        exact = adder.fraction_bits is None
        return f" {name}" if exact else f"; rounded to nearest {name}"
    if adder.output_bits < 23:
        return f"; {adder.output_bits} fraction bits kept, toward zero"
    return "; rounded toward zero to float32"


def _shapes(model: SumTree, k: int) -> Iterator[tuple[str, Tree]]:
    """Sums in parts, each with its tree: contiguous or interleaved, in a row or in pairs."""
    step = model.adder
    every = list(range(k))
    for parts in (n for n in range(1, k + 1) if k % n == 0):
        length = k // parts
        ways: dict[str, list[Sequence[int]]] = {
            f"in {parts} parts of {length}": [every[i : i + length] for i in range(0, k, length)],
            f"in {parts} lanes, each product in the next one": [
                every[i::parts] for i in range(parts)
            ],
        }
        for (how, lists), in_first in ((w, f) for w in ways.items() for f in (True, False)):
            chains = [_chain(step, part, with_c=in_first and not i) for i, part in enumerate(lists)]
            for pairs in (False, True):
                total = _paired(chains) if pairs else _in_a_row(chains, with_c=False)
                added = "in pairs" if pairs else "one after the other"
                what = _what(step, length)
                if parts == 1:
                    name = what
                elif parts == k:
                    name = f"all products {added}, {_pure(step)}"
                else:
                    name = f"{how}, {what}; the parts added in {_output(step)} {added}"
                if in_first:
                    start = ", from C on" if parts in (1, k) else ", C in the first part"
                    yield f"{name}{start}", canonical(total)
                else:
                    yield f"{name}, C last", canonical((total, C))
                    if not pairs:
                        yield f"{name}, C first", canonical(_in_a_row(chains, with_c=True))


def _output(step: Adder) -> str:
    return "float16" if step.output == "f16" else "float32"


def _pure(step: Adder) -> str:
    if step.tree or step.fraction_bits is None:
        return f"in {_output(step)}"
    return f"cut at 2^-{step.fraction_bits} of the largest"


def _what(step: Adder, length: int) -> str:
    if step.tree:
        return "products one after the other in float32"
    return _step(step, min(step.step, length), with_c=False)


def _chain(step: Adder, part: Sequence[int], *, with_c: bool) -> Tree:
    start = C if with_c else None
    if step.tree:
        return _in_a_row([C, *part] if with_c else list(part), with_c=False)
    return chain_tree(step, part, start)


def _in_a_row(some: Sequence[Tree], *, with_c: bool) -> Tree:
    total = C if with_c else some[0]
    for one in some if with_c else some[1:]:
        total = (total, one)
    return total


def _paired(some: Sequence[Tree]) -> Tree:
    level = list(some)
    while len(level) > 1:
        level = [tuple(level[i : i + 2]) for i in range(0, len(level), 2)]
    return level[0]


def known(tree: Tree | None, facts: Facts | None) -> str:
    """What is known where no model gives all answers."""
    if tree is None or facts is None:
        return "unknown: masks show no tree of additions"
    sizes = sorted({len(node) for node in nodes_of(tree)})
    words = [f"unknown: a tree of sums of {', '.join(map(str, sizes))} terms"]
    if facts.bits is not None:
        words.append(f"products keep {facts.bits} bits below the largest one, cut {facts.cut}")
    if facts.sum_cut:
        words.append(f"C is cut {facts.sum_cut}")
    return "; ".join(words)
