"""The answers of ``mxref explain``: what has the name that is asked for."""

from __future__ import annotations

import argparse
import contextlib
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeAlias

from mxref.bits.floats import LAYOUTS
from mxref.cli.explain_blocks import words_of
from mxref.cli.explain_bugs import explain_bugs
from mxref.cli.explain_choices import (
    explain_choices,
    explain_members,
    explain_policy,
)
from mxref.cli.explain_clauses import explain_clause
from mxref.cli.explain_codes import explain_code
from mxref.cli.explain_foreign import explain_foreign
from mxref.cli.explain_mutants import OF_MEMBERS, explain_mutants
from mxref.cli.explain_numbers import check_format, explain_numbers
from mxref.cli.explain_operations import explain_adder, explain_operation
from mxref.cli.explain_packages import explain_package
from mxref.cli.explain_profiles import explain_profile, profile_data
from mxref.cli.explain_topics import TOPICS, explain_kind, explain_recipe, explain_topic
from mxref.cli.explain_words import explain_case, explain_words
from mxref.cli.explanation import Explanation, print_rows
from mxref.cli.formats_verb import explain_format, format_data
from mxref.support.text import suggestion

__all__ = ["KINDS", "LATE", "answers"]

#: What explains the words of a kind.
Kind: TypeAlias = Callable[[argparse.Namespace], list[Explanation]]


def answers(asked: str, options: argparse.Namespace) -> list[Explanation]:
    """The answers to a question.

    Raises:
        ValueError: nothing has that name.
    """
    one = explain_case(options)
    if one is not None:
        return [one]
    kind, word = _kind_and_word(asked)
    options.kind = kind
    if options.format is not None:
        check_format(options.format)
        one = None
        if not kind and not _names_member(word):
            one = explain_code(options) or explain_numbers(options)
        if one is not None:
            return [one]
    for name in dict.fromkeys((word, word.lower(), word.upper())):
        options.name = name
        found = _found(options)
        with contextlib.suppress(*[ValueError] * bool(found)):  # such as a name of several formats
            found += _formats(options)
        found = [answer for answer in found if kind in ("", answer.data["kind"])]
        if found:  # a word may be several things
            return found
    if kind == "profiles":
        raise ValueError(
            "profiles must stand before the name of a package that several begin with, such as "
            f"torchao, got {asked!r}: a single one is explained by its own name"
        )
    if kind == "bugs":
        raise ValueError(
            f"bugs must stand before the name of a library that has some, got {asked!r}: no bug "
            "of it is known (`mxref explain bugs` lists all)"
        )
    raise ValueError(_unknown(asked))


def _found(options: argparse.Namespace) -> list[Explanation]:
    """What has the name, formats aside."""
    found = {one: one(options) for one in KINDS if one not in LATE}
    none = not any(found.values())
    found |= {one: one(options) for one in LATE if none or options.name in LATE[one]}
    return [answer for one in KINDS for answer in found.get(one, ())]


def _kind_and_word(asked: str) -> tuple[str, str]:
    """The kind that is asked for, empty for any kind, and the word.

    >>> _kind_and_word("integer choice nan"), _kind_and_word("rceil")
    (('integer choice', 'nan'), ('', 'rceil'))
    """
    kind, _, word = asked.rpartition(" ")
    return (kind, word) if kind in _NAMES else ("", asked)


def _names_member(word: str) -> bool:
    """Whether a word names a member or a choice, which --format may accompany."""
    from mxref.golden.explain_number import parse_number
    from mxref.policy.policy import Policy, spellings

    with contextlib.suppress(ValueError):
        parse_number(word, LAYOUTS["f64"])
        return False  # such as nan
    return bool(spellings(word)) or word.lower() in Policy().choices()


def _unknown(name: str) -> str:
    """The error message for a name that nothing has."""
    from mxref.cases.words import FLAGS
    from mxref.cli.command_line import VERBS
    from mxref.golden.explain_number import parse_number
    from mxref.operations.registry import REGISTRY
    from mxref.policy.policy import Policy
    from mxref.products.adders import ADDERS
    from mxref.profiles import PROFILES
    from mxref.profiles.recipes import RECIPES

    if re.search(r"\^k\b", name):
        return f"NAME must have a number in the place of k, such as 1.75*2^8, got {name!r}"
    if re.fullmatch(r"0[xb][0-9a-f]{1,3}|0b[01_]+", name, re.IGNORECASE):
        about = f"as in `mxref explain {name} --format e4m3`"
        return f"--format must be given with a code, {about}, got {name!r} alone"
    with contextlib.suppress(ValueError):
        words = words_of(name)
        for word in words:
            parse_number(word, LAYOUTS["f64"])
        if len(words) > 1:
            about = f"as in `mxref explain {' '.join(words)} --format mxfp4_e2m1`"
            return f"--format must be given with the numbers of a block, {about}, got them alone"
        name = words[0] if words else name
        parse_number(name, LAYOUTS["f64"])
        about = f"as in `mxref explain {name} --format e2m1`"
        return f"--format must be given with a number, {about}, got {name!r} alone"
    if name in VERBS:
        return f"NAME must be no verb, got {name!r}: `mxref {name} --help` explains it"
    choices = Policy().choices()
    members = (one.value for choice in choices for one in Policy.members(choice))
    known = (*choices, *members, *PROFILES, *FLAGS, *REGISTRY, *ADDERS, *RECIPES, *TOPICS)
    near = suggestion(name, known)
    return (
        "NAME must be the id of a case such as encode.e2m1.f32.3fa00000, a mutant such as A7 "
        "(`mxref score` lists them), a clause such as N14 or MX-6.3, a model such as M7, a flag, a "
        "choice such as rounding, a member of one such as rceil, a profile such as "
        "torchao_0_18_rceil, an operation, an adder, a recipe, a format, a kind such as adders, or "
        f"a number with --format (`mxref explain` alone lists them), got {name!r}{near}"
    )


def _profiles(options: argparse.Namespace) -> list[Explanation]:
    from mxref.profiles import PROFILES

    if options.name not in PROFILES:
        return []

    def show(_: dict[str, Any]) -> None:
        explain_profile(options)

    return [Explanation(profile_data(PROFILES[options.name]), show)]


def _formats(options: argparse.Namespace) -> list[Explanation]:
    name = options.name
    data = format_data(name)
    if data is None:
        return []
    about = "its numbers: `mxref formats`"
    return [
        Explanation({"kind": "format", "name": name, "about": about, **data}, lambda _: _show(name))
    ]


def _show(name: str) -> None:
    explain_format(name, whole=16, print_rows=print_rows)


#: The kinds of words, in the order in which they are explained.
KINDS: tuple[Kind, ...] = (
    explain_package,
    explain_clause,
    explain_words,
    explain_choices,
    _profiles,
    explain_operation,
    explain_adder,
    explain_members,
    explain_policy,
    explain_mutants,
    explain_bugs,
    explain_foreign,
    explain_recipe,
    explain_kind,
    explain_topic,
)
#: The kinds that take long to import, with those of their names that are other things, too; they
#: are asked for no other name that one of `KINDS` has.
LATE: Mapping[Kind, Collection[str]] = {
    explain_mutants: OF_MEMBERS,
    explain_adder: ("deepgemm_fp8", "deepseek_v3_fp8"),
    explain_recipe: ("deepgemm", "deepseek_v3"),
}
#: The kinds of explanations, as they are asked for.
_NAMES = (
    *("clause", "model", "flag", "choice", "integer choice", "profile", "operation", "adder"),
    *("member", "integer member", "policy", "mutant", "standing", "bugs", "format"),
    *("foreign format", "profiles", "recipe", "list", "word"),
)
