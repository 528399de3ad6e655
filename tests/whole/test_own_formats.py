"""A format, a block format and a profile that are defined outside of mxref go through the verbs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from json_tables import cases
from refused import assert_says, refusals

from mxref import exact, formats, golden, profiles
from mxref.cli.command_line import main
from mxref.formats import BlockFormat, ElementFormat, ScaleFormat, Specials
from mxref.golden.made_files import own_files
from mxref.policy.policy import Policy
from mxref.profiles import Profile

ROOT = Path(__file__).parents[2]
EXAMPLE = (ROOT / "tools/examples/my_format.py").read_text()
E3M1 = ElementFormat("e3m1", 3, 1, 3)
MXE3M1 = BlockFormat("mxe3m1", E3M1, formats.E8M0, 16)
POSITIVE = [Fraction(n, 8) for n in (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192)]
VALUES = {"e3m1": [*POSITIVE, *(-number for number in POSITIVE)]}

Run = Any


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """A function that runs a verb on the example, with some of its text replaced."""

    def verb(words: str, **changes: str) -> tuple[int, str]:
        text = EXAMPLE
        for old, new in changes.items():
            assert CHANGED[old] in text
            text = text.replace(CHANGED[old], new)
        file = tmp_path / "kernel.py"
        file.write_text(text)
        status = main([word.replace("FILE", str(file)) for word in words.split()])
        out, err = capsys.readouterr()
        return status, out + err

    return verb


#: Texts of the example that tests replace.
CHANGED = {
    "ties": "code += (magnitude == _MIDDLES[np.minimum(code, 14)]) & (code % 2 == 1)",
    "amax": "np.abs(x).max(axis=1)",
    "codes": "return (code | 16 *",
    "exponent": "[1] - 1 - 4",
    "values": "FORMAT_VALUES =",
    "name": '"e3m1", exponent_bits',
    "block": '"mxe3m1"',
}


def test_the_page_shows_lines_of_the_example() -> None:
    page = (ROOT / "docs/own_formats.md").read_text()
    page = page[: page.index("## An operation of your own")]
    blocks = re.findall(r"^```python\n((?!>>>).*?)^```", page, re.S | re.M)
    lines = {line for block in blocks for line in block.splitlines() if " import " not in line}
    assert len(lines) > 6
    assert lines <= {*EXAMPLE.splitlines(), ""}


def test_a_right_kernel_passes(run: Run) -> None:
    status, text = run("verify FILE --sizes 65536")
    assert status == 0
    assert text.rstrip().endswith("10900 cases, 0 failed: conforms")
    assert "one reference" not in text
    assert "; a search of " in text


@pytest.mark.parametrize(
    ("change", "sentence"),
    cases(__file__, "wrong kernels"),
    ids=["subnormals", "last element", "one code"],
)
def test_what_is_wrong_with_a_kernel_is_told(
    run: Run, change: dict[str, str], sentence: str
) -> None:
    status, text = run("verify FILE --sizes 0 --op encode --op quantize", **change)
    assert status == 1
    assert sentence in text


def test_identify_finds_the_one_choice_of_a_kernel(run: Run) -> None:
    status, text = run("identify FILE --op encode --op quantize --float f32", ties="")
    assert status == 0
    assert "equals ocp+rounding=ties_to_zero on" in text


def test_fuzz_finds_one_number_that_is_wrong(run: Run) -> None:
    ties = "code += (magnitude == _MIDDLES[np.minimum(code, 14)]) & (code == 1)"
    status, text = run("fuzz FILE --op encode --float f32", ties=ties)
    (line,) = (line for line in text.split("\n") if line.startswith("encode e3m1 f32 under ocp:"))
    assert status == 1
    # A tie above an odd code: 7/16 between 3/8 and 1/2, 7/8, 7/4, 7/2, 7, 14; not 3/16.
    (value,) = re.findall(r"= ([-0-9.]+),", line)
    assert abs(Fraction(value)) in {Fraction(7, 16) * 2**n for n in range(6)}
    assert np.frombuffer(bytes.fromhex(line.partition("in ")[2][:8])[::-1], "<f4")[0] == float(
        value
    )


@pytest.mark.parametrize("verb", ["verify --sizes 0", "identify", "fuzz --examples 9"])
def test_without_the_numbers_there_is_one_reference(run: Run, verb: str) -> None:
    words = f"{verb} --op decode --op dequantize --float f32 FILE"
    status, text = run(words, values="OTHER =")
    assert status == 0
    assert text.count("note: one reference: ") == 1
    status, text = run(f"{words} --json", values="OTHER =")
    assert status == 0
    assert "one reference" in json.dumps(json.loads(text))
    assert "one reference" not in run(words)[1]


@pytest.mark.parametrize(("call", "kind", "text"), refusals("whole", "registered"))
def test_what_nothing_can_be_asked_about_is_refused(
    call: Callable[[], object], kind: type[Exception], text: str
) -> None:
    assert_says(call, kind, text)
    assert "e3m1" not in formats.CODE_FORMATS


def test_numbers_that_are_not_those_of_the_format_are_refused(run: Run) -> None:
    other = {"name": '"e3m1_off", exponent_bits', "values": 'FORMAT_VALUES = {"e3m1_off":'}
    twice = "[2 * number for number in _POSITIVE + [-number for number in _POSITIVE]]}; OTHER ="
    other["values"] += twice
    status, text = run("verify FILE", **other, block='"mxe3m1_off"')
    assert status == 2
    assert text.endswith("got 0.125 for 01, not 1/4\n")


def test_a_profile_of_a_file_is_what_a_kernel_is_compared_with(run: Run) -> None:
    _, text = run("verify FILE --sizes 0 --profile FILE:CEIL")
    assert "differs from profile my_library (your model of my library 2.1)" in text
    ceil = "[1] - 4 - (np.frexp(np.where(np.isfinite(x), x, 1))[0] == 0.5)"
    status, text = run("verify FILE --sizes 0 --profile FILE:CEIL", exponent=ceil)
    assert status == 0
    assert "conforms to profile my_library (your model of my library 2.1)" in text
    assert run("fuzz FILE --profile FILE:CEIL --op shared_scale --float f32", exponent=ceil)[0] == 0
    assert run("fuzz FILE --profile FILE:CEIL --op shared_scale --float f32")[0] == 1
    assert "policy   ocp+scale_rule=ceil" in run("explain FILE:CEIL")[1]
    assert "my_library and ocp, mxe3m1" in run("diff FILE:CEIL ocp --format mxe3m1")[1]
    assert "none has that name" in run("explain FILE:FLOOR")[1]
    assert "my_library" not in profiles.PROFILES
    assert "e3m1" not in formats.CODE_FORMATS


def test_vectors_are_written_and_agree_with_both_references(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "vectors"
    status, text = run(f"regen --formats FILE --out {folder}")
    assert status == 0
    assert text.startswith("38 files, ")
    assert run(f"regen --formats FILE --check --out {folder}")[0] == 0
    assert "--out must be given with --formats" in run("regen --formats FILE")[1]
    with formats.registered(MXE3M1), exact.described(VALUES):
        files = golden.read_vectors(folder)
        assert [*own_files()] == [file.stem for file in files]
        assert golden.check(folder, golden.build()) == []
    for case in next(file for file in files if file.stem == "decode/e3m1.f32").cases:
        number = Fraction(np.array(case.output(0), np.uint32).view(np.float32)[0].item())
        assert number == VALUES["e3m1"][case.inputs[0]]
    with pytest.raises(ValueError, match="got 'mxe3m1'"):
        formats.block_format("mxe3m1")


NONE, FNUZ, NAN = Specials.NONE, Specials.FNUZ, Specials.TOP_CODE_NAN
OTHERS = (
    BlockFormat("mx_fnuz", ElementFormat("fnuz6", 3, 2, 4, FNUZ), formats.E8M0, 8),
    BlockFormat("mx_p3", ElementFormat("p7", 3, 3, 4, Specials.P3109), formats.E8M0, 24),
    BlockFormat("mx_i4", ElementFormat("fixed4", 1, 2, 1, twos_complement=True), formats.E8M0, 64),
    BlockFormat("e2m1_e5m0", formats.E2M1, formats.E5M0, 32),
    BlockFormat(
        "ieee_powers",
        ElementFormat("e5m1", 5, 1, 15, Specials.IEEE),
        ScaleFormat("e6m0", 6, 0, 31, NAN, subnormals=False),
        16,
    ),
    BlockFormat(
        "e2m0_ue3m4", ElementFormat("e2m0x", 2, 0, 1), ScaleFormat("ue3m4", 3, 4, 3, NAN), 16
    ),
    BlockFormat("e2m2_two", ElementFormat("e2m2", 2, 2, 1), formats.UE4M3, 16, tensor_scale=True),
)


@pytest.fixture(params=OTHERS, ids=lambda fmt: fmt.name)
def other(request: pytest.FixtureRequest) -> Iterator[BlockFormat]:
    """A block format that both references know."""
    block: BlockFormat = request.param
    parts = [part for part in (block.element, block.scale) if not exact.knows(part.name)]
    values = {part.name: [*map(part.value, range(part.code_count))] for part in parts}
    with ExitStack() as scope:
        scope.enter_context(formats.registered(block))
        scope.enter_context(exact.described(values))
        yield block


def test_both_references_agree_on_formats_of_every_kind(other: BlockFormat) -> None:
    """A file is made by the twin, compared with the fast path, and refused if they differ."""
    made = [make() for stem, make in own_files().items() if stem.endswith(".f32")]
    assert {file.op for file in made} >= {"quantize", "dequantize"}
    assert all(len(file.cases) > 7 for file in made)


def test_a_name_stands_for_one_format() -> None:
    with formats.registered(E3M1), formats.registered(E3M1, MXE3M1), exact.described(VALUES):
        assert formats.element_format("e3m1") is E3M1
        assert exact.value(0x0F, "e3m1") == 24
    with (
        pytest.raises(ValueError, match="name of its own"),
        formats.registered(ElementFormat("e3m1", 3, 1, 4)),
    ):
        pass
    with (
        pytest.raises(ValueError, match="those that e3m1 has had so far"),
        exact.described({"e3m1": [2 * number for number in VALUES["e3m1"]]}),
    ):
        pass
    mine = Profile("ocp", Policy.parse("ocp+scale_rule=ceil"), "mine", "1")
    with pytest.raises(ValueError, match="name of its own"), profiles.registered(mine):
        pass
