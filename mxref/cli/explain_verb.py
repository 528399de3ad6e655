"""``mxref explain``: a number, a case, a mutant, a word of the vectors, a choice, a profile."""

from __future__ import annotations

import argparse
import contextlib
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

from mxref.bits.floats import LAYOUTS
from mxref.cases.words import FLAGS
from mxref.cli.explain_casts import codes_of_profiles, print_profiles
from mxref.cli.explain_clauses import explain_clause
from mxref.cli.explain_members import explain_members, explain_operation
from mxref.cli.explain_mutants import explain_mutants
from mxref.cli.explain_profiles import explain_profile
from mxref.cli.formats_verb import explain_format
from mxref.cli.screen import Verbs, add_vectors_argument, new_parser, print_table, vectors_folder
from mxref.support.text import suggestion, unknown_name

#: Width of the text in columns.
_WIDTH = 100


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    about = (
        "explain what a number becomes under every choice, a case of the vectors, the bug of "
        "a mutant, a word of the vectors, a choice, an operation, a profile or a format"
    )
    example = (
        "mxref explain 0.3 --format e2m1\n  mxref explain 465 --format e4m3 --profiles\n"
        "  mxref explain encode.e2m1.f32.3fa00000\n"
        "  mxref explain -inf --format e4m3 --float bf16\n  mxref explain A7\n"
        "  mxref explain N14\n  mxref explain rounding\n  mxref explain torchao_0_18_rceil"
    )
    parser = new_parser(
        verbs,
        "explain",
        _run,
        about,
        example,
        formats="numbers",
        exits=("NAME was explained",),
        notes="A code is in hexadecimal, a distance in the unit of the number.",
    )
    about = (
        "the id of a case; a mutant or a class of mutants; a clause, a model, a flag, a choice, a "
        "member of one, a policy, an operation, a profile, a format; or, with "
        "--format, a decimal, a hex float, a fraction, 2^-126, 0x and a bit pattern, nan or inf"
    )
    # These are numbers, no options.
    parser._negative_number_matcher = re.compile(r"-(?:[\d.]|inf|nan)", re.IGNORECASE)
    parser.add_argument("name", metavar="NAME", help=about)
    parser.add_argument("--format", metavar="FORMAT", help="format that a number is encoded to")
    parser.add_argument("--float", metavar="FLOAT", help="float type of a number (default: f32)")
    about = "with a number: what each profile makes of it, grouped by the code"
    parser.add_argument("--profiles", action="store_true", help=about)
    add_vectors_argument(parser)


def _run(options: argparse.Namespace) -> int:
    given = options.name
    if options.profiles and options.format is None:
        raise ValueError(
            f"--profiles must be given with a number and --format, got {given!r} alone"
        )
    if _cases(options) or _values(options):
        return 0
    for name in dict.fromkeys((given, given.lower(), given.upper())):
        options.name = name
        found = [explain(options) for explain in _KINDS]
        if any(found):  # a word may be several things
            return 0
    if explain_format(given):
        return 0
    raise ValueError(_unknown(given))


def _unknown(name: str) -> str:
    """The sentence about a name that nothing has."""
    from mxref.cli.command_line import VERBS
    from mxref.golden.explain import parse_number
    from mxref.policy.policy import READS, Policy
    from mxref.profiles import PROFILES

    with contextlib.suppress(ValueError):
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


def _values(options: argparse.Namespace) -> bool:
    """Explain a number; False without --format."""
    if options.format is None:
        return False
    from mxref.conformance.compare.failure_text import show_code, show_float
    from mxref.exact.format_table import FORMATS
    from mxref.formats import catalog
    from mxref.golden.explain import answers, fraction, neighbours, parse_number

    known = {**catalog.SCALE_FORMATS, **catalog.ELEMENT_FORMATS, **catalog.OTHER_FORMATS}
    formats = {name: fmt for name, fmt in known.items() if name in {*FORMATS, "e8m0"}}
    if options.format in (blocks := {**catalog.BLOCK_FORMATS, **catalog.OTHER_BLOCK_FORMATS}):
        block = blocks[options.format]
        got = f"got {block.name}: name {block.element.name} or {block.scale.name}"
        raise ValueError(f"--format must be one of elements or scales, not of whole blocks, {got}")
    if options.format not in formats:
        raise ValueError(unknown_name("--format", options.format, formats))
    float = options.float or "f32"
    if float not in LAYOUTS:
        raise ValueError(unknown_name("--float", float, LAYOUTS))
    fmt, layout = formats[options.format], LAYOUTS[float]
    bits = parse_number(options.name, layout)
    of_profiles = codes_of_profiles(bits, layout, fmt) if options.profiles else None
    print(f"{options.name} as {float}: {show_float(bits, layout)}")
    number = fraction(bits, layout)
    if number is not None:
        number = number if fmt.signed else abs(number)
        near = neighbours(number, fmt)
        distances = [each[1] for each in near if each is not None]
        for side, each in zip(("at or below", "at or above"), near, strict=True):
            if each is None:
                print(f"{side}: nothing in {fmt.name}")
                continue
            other = [distance for distance in distances if distance is not each[1]]
            word = "exactly" if each[1] == 0 else _away(each[1])
            if other and other[0] >= each[1] > 0:
                word += ", midway" if other[0] == each[1] else ", nearer"
            print(f"{side}: {show_code(each[0], fmt)}, {word}")
    print()
    if of_profiles is not None:
        print_profiles(*of_profiles, layout, fmt)
        return True
    rows = []
    for code, choices in answers(bits, float, fmt).items():
        text = "an error" if code is None else show_code(code, fmt)
        rows += [(text if i == 0 else "", line) for i, line in enumerate(_lines(choices))]
    print_table((fmt.name, "under"), rows)
    print("every other choice as ocp")
    return True


def _words(options: argparse.Namespace) -> bool:
    """Explain a model, a flag or a choice; False if there is none of that name."""
    from mxref.cases.words import MODELS
    from mxref.policy.policy import READS, Policy

    name, found = options.name, False
    for kind, texts in (("model", MODELS), ("flag", FLAGS)):
        if name in texts:
            found = True
            print(f"{kind} {name}: {texts[name]}")
    if name in Policy().choices():
        found = True
        members = Policy.members(name)
        about = (type(members[0]).__doc__ or "").partition("\n")[0]
        print(f"choice {name}: {about}")
        print(f"read by {', '.join(op for op in READS if name in READS[op])}; the first is ocp's")
        print_table(("member", "standing"), [(one.value, one.standings) for one in members])
    return found


def _cases(options: argparse.Namespace) -> bool:
    """Explain a case of the vectors; False if the name is not the id of a case."""
    from mxref.cases.words import INTEGER_OPERATIONS, MODELS, OPERATIONS, RULES
    from mxref.conformance.compare.failure_text import show_input, show_output

    op, *rest = options.name.split(".")
    if op not in OPERATIONS or len(rest) != 3:
        return False
    if options.format is not None or options.float is not None:
        raise ValueError("--format and --float must be absent where NAME is the id of a case")
    from mxref.cases.read import read_vectors
    from mxref.cases.records import words

    folder = options.vectors or vectors_folder()
    files = read_vectors(folder, lambda stem: stem == f"{op}/{rest[0]}.{rest[1]}")
    found = ((file, case) for file in files for case in file.cases if case.id == options.name)
    file, case = next(found, (None, None))
    if file is None or case is None:
        raise ValueError(f"there is no case {options.name!r} in {folder}")
    print(case.id)
    value = show_input(file, case.inputs[0]) if len(case.inputs) == 1 else ""
    print(f"in    {value or _wrapped(words(case.inputs, file.in_digits))}")
    required = "required of everyone" if case.required else "the standard leaves the answer open"
    if op in INTEGER_OPERATIONS:
        required = "no standard says what is right"
    if op == "quantize" and case.rule == "MX-6.3":
        required = "the standard leaves the scale open, not the elements under it"
    print(f"rule  {case.rule}, {RULES[case.rule]}: {required}")
    print(f"model {case.model}, {MODELS[case.model]}")
    for flag in case.flags:
        print(f"flag  {flag}: {FLAGS[flag]}")
    for index, answer in enumerate(case.answers):
        value = show_output(file, answer[0]) if len(answer) == 1 else ""
        print(f"\nout   {value or _wrapped(words(answer, file.out_digits))}")
        columns = [c for i, c in enumerate(file.columns) if not case.by or case.by[i] == index]
        for line in _lines([column.removeprefix("ocp+") for column in columns]):
            print(f"      {line}")
    return True


def _away(distance: Fraction) -> str:
    """A positive dyadic distance, in decimal and, if it has at most 64 bits, exactly.

    >>> _away(Fraction(3, 8)), _away(Fraction(1, 2) - Fraction(1, 2**1074))
    ('3 * 2^-3 (0.375) away', 'about 0.5 away')
    """
    n, power = distance.numerator, 1 - distance.denominator.bit_length()
    zeros = (n & -n).bit_length() - 1
    n, power = n >> zeros, power + zeros
    about = f"{float(distance):.3g}"
    return f"{n} * 2^{power} ({about}) away" if n.bit_length() <= 64 else f"about {about} away"


def _wrapped(text: str) -> str:
    return "\n      ".join(_lines(text.split(" ")))


def _lines(words: Sequence[str]) -> Iterator[str]:
    """Lines of words that fit the width of the text."""
    line = ""
    for word in words:
        if line and len(line) + len(word) + 1 > _WIDTH - 24:
            yield line
            line = ""
        line = f"{line} {word}" if line else word
    yield line


#: The kinds of words, in the order in which they are explained.
_KINDS = (
    explain_clause,
    _words,
    explain_profile,
    explain_operation,
    explain_members,
    explain_mutants,
)
