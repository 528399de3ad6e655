"""``mxref identify``: the choices that an implementation makes."""

from __future__ import annotations

import argparse
import itertools
import json
import shlex
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mxref.cases.names import refuse_unknown_names
from mxref.cli.screen import Verbs, add_json_argument, new_parser, print_table
from mxref.cli.target_arguments import (
    add_name_options,
    add_target_arguments,
    chosen_target,
    ending_of,
)

if TYPE_CHECKING:
    from mxref.conformance import Identified, Target
    from mxref.conformance.adders.target_units import UnitFinding
    from mxref.conformance.identification.integer_identification import IntegerFinding
    from mxref.conformance.verdict.cause.cause import Cause


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    about = (
        "find out by at most 64 probes per operation, format and float type which choices an "
        "implementation makes"
    )
    example = "mxref identify tools/adapters/ml_dtypes_adapter.py --op encode --format e4m3"
    parser = new_parser(
        verbs,
        "identify",
        _run,
        about,
        example,
        formats="identify",
        exits=(
            "the answers of each operation are those of a policy, those to the vectors included",
            "some are of no policy, nothing was asked, or a program ended badly",
        ),
        notes="columns:\n  shown by  a question whose answer only these values of the choice give",
    )
    add_target_arguments(parser)
    add_name_options(parser)
    add_json_argument(parser)


def _run(options: argparse.Namespace) -> int:
    from mxref.conformance.identification.identify import settings
    from mxref.operations.registry import CALL_OPERATIONS

    with chosen_target(options) as target:
        integers = (
            (op, f, one.slot_of(f)) for op, one in CALL_OPERATIONS.items() for f in one.formats
        )
        known = ((one.op, one.format, one.float) for one in settings())
        refuse_unknown_names(vars(options), itertools.chain(known, integers))
        return _identify(options, target)


def _identify(options: argparse.Namespace, target: Target) -> int:
    from mxref import conformance
    from mxref.cases.own_formats import notes_on_references
    from mxref.conformance.identification.identified_text import identified_json
    from mxref.operations.registry import OPERATIONS
    from mxref.targets.recipe_functions import BY_RECIPE

    name = target.name
    # Each operation takes time to import, and a module has few.
    own = getattr(target, "operations", OPERATIONS)
    asked = [op for op in options.op or OPERATIONS if op in own]
    found = conformance.identify(target, asked, options.format or None, options.float or None)
    more, units = _calls(target, asked, options.format or ())
    ending = ending_of(target)
    if options.json:
        told = [
            {**record, "shift": shift, "bug": bug}
            for record, (shift, bug) in zip(identified_json(found), _bugs(found), strict=True)
        ]
        if more:
            from mxref.conformance.identification.integer_identification import integer_json

            told += integer_json(more)
        results: list[Identified | IntegerFinding] = [*found, *more]
        for record, one in zip(told, results, strict=True):
            notes = notes_on_references([record["format"]])
            record["note"] = "; ".join([*_equals(options, record, one), *notes])
        if units:
            from mxref.conformance.adders.target_units import unit_json

            told += unit_json(units)
        print(json.dumps(told, indent=1))
    else:
        _print_integers(more, options)
        for unit in units:
            from mxref.conformance.adders.target_units import unit_lines

            print("\n".join(unit_lines(unit)), end="\n\n")
        if found or not (more or units):
            by_recipe = not BY_RECIPE.isdisjoint(getattr(target, "operations", ()))
            _print(name, found, options, by_recipe=by_recipe)
        for note in notes_on_references(one.setting.format for one in found):
            print(f"note: {note}")
    if ending:  # with --json it goes to stderr
        print(f"{name}: {ending}", file=sys.stderr if options.json else sys.stdout)
    same = [
        *(one.consistent for one in found),
        *(bool(one.policies) for one in more),
        *(one.as_named for one in units),
    ]
    return 0 if same and all(same) and not ending else 1


def _calls(
    target: Target, asked: Sequence[str], formats: Collection[str]
) -> tuple[Sequence[IntegerFinding], Sequence[UnitFinding]]:
    """What operations of calls are: the choices of each, and the adders of `mma`."""
    from mxref.operations.registry import REGISTRY

    if not any(REGISTRY[op].own_choices for op in asked):
        return (), ()
    from mxref.conformance.adders.target_units import identify_units
    from mxref.conformance.identification.integer_identification import identify_integers

    return identify_integers(target, asked, formats), identify_units(target, asked, formats)


def _equals(
    options: argparse.Namespace, record: Mapping[str, Any], one: Identified | IntegerFinding
) -> Iterator[str]:
    """What a result equals, or that the vectors contradict it, and the command that asks more."""
    from mxref.conformance.identification.vector_check import contradiction, vectors_asked
    from mxref.operations.registry import REGISTRY

    if one.vectors is None or not (record["consistent"] or one.contradicted):
        return
    policy = None if REGISTRY[record["op"]].own_choices else record["nearest"]
    command = _verify(options, policy, (record["op"], record["format"]))
    if one.contradicted:
        fits = contradiction(record["probes"], record["nearest"], one.vectors)
        yield f"{fits}; `{command}` says more"
    else:
        on = f"{record['probes']} probes{vectors_asked([one.vectors])}"
        yield f"equals {record['policy']} on {on}; `{command}` checks it"


def _bugs(results: Sequence[Identified]) -> list[tuple[str, str]]:
    """For each result the shift and the known bugs that explain it, in words, or empty strings."""
    hints: dict[Cause, None] = {}
    found = []
    for one in results:
        causes = _causes(one, tuple(hints))
        hints |= dict.fromkeys(cause for cause in causes if cause.complete)
        texts: dict[bool, list[str]] = {True: [], False: []}
        for cause in causes:
            text = f"{cause.text}: {cause.same} of {cause.total} answers are those of"
            if cause.is_bug:
                text = f"{text} {cause.policy} but for that"
                shifted = cause.kind == "shift"
                texts[shifted].append(text if shifted else f"bug {cause.name}: {text}")
        found.append(("; ".join(texts[True]), "; ".join(texts[False])))
    return found


def _verify(
    options: argparse.Namespace, policy: object, only: tuple[str, str] | None = None
) -> str:
    """The command that asks many more questions.

    Args:
        options: the arguments of the verb.
        policy: the policy; None where `verify` determines it itself.
        only: an operation and format; those that are asked by default if None.
    """
    ops, formats = ([only[0]], [only[1]]) if only else (options.op, options.format)
    target = [options.target] if options.target is not None else ["--cmd", options.cmd]
    words = ["mxref", "verify", *target, *([] if policy is None else ["--policy", str(policy)])]
    words += [word for op in ops for word in ("--op", op)]
    words += [word for format in formats for word in ("--format", format)]
    return shlex.join(words)


def _causes(one: Identified, hints: tuple[Cause, ...]) -> tuple[Cause, ...]:
    """The shift or the known bugs that explain answers of no policy."""
    setting = one.setting
    if not one.clashes or not one.answered or setting.row.bounds(setting.format):
        return ()
    from mxref.conformance.checking.computed import file_of
    from mxref.conformance.compare.compare import judged
    from mxref.conformance.verdict.causes import find_causes
    from mxref.operands.word_rows import padded
    from mxref.policy.policy import Policy
    from mxref.targets.calls import Answers, without_cases

    like = without_cases(setting.op, setting.format, setting.float)
    file = file_of(like, [probe.words for probe in one.probes], "probe")
    errors = {i: probe.error for i, probe in enumerate(one.probes) if probe.answer is None}
    answers = Answers(padded([probe.answer or () for probe in one.probes]), errors)
    outcome = judged(file, file.input_words(), answers, Policy())
    return find_causes(setting.op, [outcome], Policy(), hints) if outcome.failures else ()


def _print_integers(results: Sequence[IntegerFinding], options: argparse.Namespace) -> None:
    for one in results:
        from mxref.conformance.identification.integer_identification import integer_lines

        title, rows, rest = integer_lines(one)
        print(title)
        print_table(("choice", "is", "shown by"), rows)
        for line in rest:
            print(line)
        if one.contradicted:
            print(f"`{_verify(options, None, (one.op, one.format))}` says more")
        print()


def _print(
    name: str,
    results: Sequence[Identified],
    options: argparse.Namespace,
    *,
    by_recipe: bool,
) -> None:
    from mxref.conformance.identification.identified_text import (
        common_policy,
        disagreements,
        lines,
        merged,
    )
    from mxref.conformance.identification.vector_check import vectors_asked

    bugs = dict(zip((one.setting for one in results), _bugs(results), strict=True))
    for group in merged(results):
        title, rows, rest = lines(group)
        print(title)
        if rows:
            print_table(("choice", "is", "shown by"), rows)
        why = dict.fromkeys(line for one in group for line in bugs[one.setting])
        for line in filter(None, (*rest[:-1], *why, *rest[-1:])):
            print(line)
        print()
    consistent = [one for one in results if one.consistent]
    for line in disagreements(consistent):
        print(line)
    policy = common_policy(consistent) if consistent else None
    word = "nothing asked: it covers nothing of this"
    if by_recipe:
        word = "nothing asked: layers by a RECIPE have no choices, `mxref verify` compares them"
    if results:
        probes = sum(len(one.probes) for one in consistent)
        on = f"{probes} probes{vectors_asked(one.vectors for one in consistent if one.vectors)}"
        word = f"equals {policy} on {on}; `{_verify(options, policy)}` checks it"
    if results and policy is None:
        word = "no one policy gives all answers"
    against = sum(one.contradicted for one in results)
    inconsistent = len(results) - len(consistent) - against
    if against or inconsistent:
        of, told = f"of {len(results)}", [f"else {word}"] * bool(consistent)
        if against:
            says = f"`{_verify(options, None)}` says more"
            told.insert(0, f"{against} {of} contradicted by the vectors: {says}")
        if inconsistent:
            told.insert(0, f"{inconsistent} {of} inconsistent")
        shared = set.intersection(*(set(one.profiles) for one in results))
        named = ", ".join(name for name in results[0].profiles if name in shared)
        word = f"equals no policy; profiles: {named}" if named else "; ".join(told)
    print(f"{name}: {word}")
