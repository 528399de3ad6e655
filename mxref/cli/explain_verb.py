"""``mxref explain``: answers to questions about a number, a block, or a word that mxref knows."""

from __future__ import annotations

import argparse
import json
import re

from mxref.cli.explanation import print_explanations, print_rows
from mxref.cli.own_names import add_formats_argument
from mxref.cli.screen import (
    Verbs,
    add_json_argument,
    add_vectors_argument,
    new_parser,
    print_heading,
)

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
    "the profiles of a package": "mxref explain torchao",
    "known bugs of libraries, with the clauses": "mxref explain bugs",
    "those of one library": "mxref explain bugs fbgemm",
    "an operation": "mxref explain quantize",
    "an adder of a matrix unit": "mxref explain hopper_fp8",
    "a recipe of training": "mxref explain nvfp4_transformer_engine",
    "all of a kind": "mxref explain adders",
    "a word of the field": "mxref explain swizzle",
    "a format": "mxref explain mxfp4_e2m1",
    "a format that mxref does not have": "mxref explain bfp8",
    "a case of the vectors": "mxref explain encode.e2m1.f32.3fa00000",
    "a call on integers, step by step": "mxref explain rescale.int8-int8.bytes.half_0_0",
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
        "member of one, a policy, an operation, a profile, a package that has several, a format, "
        "also after its kind; or, with --format, one number or those of a block: decimals, hex "
        "floats, fractions, 2^-126, 1.75*2^8, 0x and a bit pattern, nan, inf"
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
    from mxref.cli.explain_answers import answers

    options.name = asked
    if options.profiles and options.format is None:
        raise ValueError(
            f"--profiles must be given with a number and --format, got {asked!r} alone"
        )
    print_explanations(answers(asked, options), asked, as_json=options.json)
    return 0


def _list_questions() -> None:
    """Print what can be asked."""
    print_heading("mxref explain answers questions; --json prints the answer as data")
    print_rows(("what", "such as"), list(QUESTIONS.items()))
    print("a word with several meanings prints them all: mxref explain nan")
