"""``mxref explain``: answers to questions about a number, a block, or a word that mxref knows."""

from __future__ import annotations

import argparse
import contextlib
import json
import re
from typing import Any

from mxref.bits.floats import LAYOUTS
from mxref.cli.explain_blocks import words_of
from mxref.cli.explain_bugs import explain_bugs
from mxref.cli.explain_choices import (
    explain_choices,
    explain_members,
    explain_operation,
    explain_policy,
)
from mxref.cli.explain_clauses import explain_clause
from mxref.cli.explain_mutants import explain_mutants
from mxref.cli.explain_numbers import check_format, explain_numbers
from mxref.cli.explain_profiles import explain_profile, profile_data
from mxref.cli.explain_words import explain_case, explain_words
from mxref.cli.explanation import Explanation, print_explanations, print_rows
from mxref.cli.formats_verb import explain_format, format_data
from mxref.cli.own_names import add_formats_argument
from mxref.cli.screen import (
    Verbs,
    add_json_argument,
    add_vectors_argument,
    new_parser,
    print_heading,
)
from mxref.support.text import suggestion

#: Kinds of questions, each with an example; the first ones are in `--help`.
QUESTIONS = {
    "a number in a format": "mxref explain 0.3 --format e2m1",
    "a number, in one profile and another": "mxref explain 465 --format e4m3 --profiles",
    "a number of another type": "mxref explain -inf --format e4m3 --float bf16",
    "an amax, under each scale rule": "mxref explain 1.75 --format mxfp4_e2m1",
    "a block, and who gives which bytes": "mxref explain 0.3 5 -7.1 1.75 --format mxfp4_e2m1",
    "a choice, and its members": "mxref explain scale_rule",
    "the limits of its rules": "mxref explain scale_rule --format mxfp4_e2m1",
    "a member of a choice": "mxref explain rceil",
    "the same in one format": "mxref explain rceil --format mxfp8_e4m3",
    "a word of one kind": "mxref explain choice nan",
    "a policy": "mxref explain ocp+scale_rule=rceil+nan=signed",
    "a clause of SPEC_NOTES": "mxref explain N5",
    "a section of OCP MX": "mxref explain MX-6.3",
    "a profile": "mxref explain torchao_0_18_rceil",
    "known bugs of libraries, with the clauses": "mxref explain bugs",
    "those of one library": "mxref explain bugs fbgemm",
    "an operation": "mxref explain quantize",
    "a format": "mxref explain mxfp4_e2m1",
    "a case of the vectors": "mxref explain encode.e2m1.f32.3fa00000",
    "a flag or a model of a case": "mxref explain M7",
    "a wrong implementation": "mxref explain A7",
}


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    about = (
        "answer a question: what becomes of a number or a block, what a choice, a clause, a "
        "profile, a case or a bug is; alone it lists what can be asked"
    )
    parser = new_parser(
        verbs,
        "explain",
        _run,
        about,
        "\n  ".join(QUESTIONS.values()),
        formats="explain",
        exits=("NAME was explained",),
        notes="A code is in hexadecimal, a distance or an error in the unit of the number.",
    )
    about = (
        "the id of a case; a mutant or a class of mutants; a clause, a model, a flag, a choice, a "
        "member of one, a policy, an operation, a profile, a format, also after its kind; or, "
        "with --format, one number or those of a block: decimals, hex floats, fractions, 2^-126, "
        "1.75*2^8, 0x and a bit pattern, nan, inf"
    )
    # Words like these are numbers, not options.
    parser._negative_number_matcher = re.compile(r"-(?:[\d.]|inf|nan)", re.IGNORECASE)
    parser.add_argument("words", nargs="+", metavar="NAME", help=about).required = False
    about = "the format that a number is cast to, a block is quantized to, or a rule is shown in"
    parser.add_argument("--format", metavar="FORMAT", help=about)
    parser.add_argument("--float", metavar="FLOAT", help="float type of the numbers (default: f32)")
    about = "with a number: what each profile makes of it, grouped by the code"
    parser.add_argument("--profiles", action="store_true", help=about)
    add_formats_argument(parser)
    add_vectors_argument(parser)
    add_json_argument(parser)


def _run(options: argparse.Namespace) -> int:
    asked = " ".join(options.words or [])
    if not asked.strip():
        if options.json:
            print(json.dumps({"questions": QUESTIONS}, indent=1))
        else:
            _list_questions()
        return 0
    options.name = asked
    if options.profiles and options.format is None:
        raise ValueError(
            f"--profiles must be given with a number and --format, got {asked!r} alone"
        )
    print_explanations(_answers(asked, options), asked, as_json=options.json)
    return 0


def _answers(asked: str, options: argparse.Namespace) -> list[Explanation]:
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
        one = None if kind or _names_member(word) else explain_numbers(options)
        if one is not None:
            return [one]
    for name in dict.fromkeys((word, word.lower(), word.upper())):
        options.name = name
        found = [answer for explain in _KINDS for answer in explain(options)]
        with contextlib.suppress(*[ValueError] * bool(found)):  # such as a name of several formats
            found += _formats(options)
        found = [answer for answer in found if kind in ("", answer.data["kind"])]
        if found:  # a word may be several things
            return found
    if kind == "bugs":
        raise ValueError(
            f"bugs must stand before the name of a library that has some, got {asked!r}: no bug "
            "of it is known (`mxref explain bugs` lists all)"
        )
    raise ValueError(_unknown(asked))


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


def _list_questions() -> None:
    """Print what can be asked."""
    print_heading("mxref explain answers questions; --json prints the answer as data")
    print_rows(("what", "such as"), list(QUESTIONS.items()))
    print("a word with several meanings prints them all: mxref explain nan")


def _unknown(name: str) -> str:
    """The error message for a name that nothing has."""
    from mxref.cases.words import FLAGS
    from mxref.cli.command_line import VERBS
    from mxref.golden.explain_number import parse_number
    from mxref.policy.policy import READS, Policy
    from mxref.profiles import PROFILES

    if re.search(r"\^k\b", name):
        return f"NAME must have a number in the place of k, such as 1.75*2^8, got {name!r}"
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
    near = suggestion(name, (*choices, *members, *PROFILES, *FLAGS, *READS))
    return (
        "NAME must be the id of a case such as encode.e2m1.f32.3fa00000, a mutant such as A7 "
        "(`mxref score` lists them), a clause such as N14 or MX-6.3, a model such as M7, a flag, a "
        "choice such as rounding, a member of one such as rceil, a profile such as "
        f"torchao_0_18_rceil, a format, or a number with --format, got {name!r}{near}"
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
_KINDS = (
    explain_clause,
    explain_words,
    explain_choices,
    _profiles,
    explain_operation,
    explain_members,
    explain_policy,
    explain_mutants,
    explain_bugs,
)
#: The kinds of explanations, as they are asked for.
_NAMES = (
    *("clause", "model", "flag", "choice", "integer choice", "profile", "operation"),
    *("member", "integer member", "policy", "mutant", "standing", "bugs", "format"),
)
