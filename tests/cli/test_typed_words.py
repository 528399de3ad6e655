"""Words of a command line that are nearly right: understood, or corrected in a sentence."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from verify_helpers import ENCODE, Kit

import mxref
from mxref.cli import main

Capture = pytest.CaptureFixture[str]


def ends_in(words: list[str], sentence: str, capsys: Capture, rest: str = "") -> None:
    """The command is refused, and its last line ends so, or so and with a rest."""
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[-1].removesuffix(rest).endswith(sentence), err


def test_mxref_alone_prints_a_guide(capsys: Capture) -> None:
    assert main([]) == 2  # nothing was checked: a script without its verb must not pass
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert (len(lines), err) == (6, "")
    assert lines[1].split()[:2] == ["mxref", "verify"]
    assert max(map(len, lines)) <= 80


def test_commands_of_the_guide_exist(capsys: Capture) -> None:
    main([])
    for line in capsys.readouterr().out.splitlines()[1:-1]:
        assert main([line.split()[1], "--help"]) == 0
        capsys.readouterr()


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("verfy", "regen, got 'verfy' (did you mean 'verify'?)"),
        ("Explain", "got 'Explain' (did you mean 'explain'?)"),
        ("format", "got 'format' (did you mean 'formats'?)"),
        ("pipe", "got 'pipe'"),
        ("my_kernel.py", "got 'my_kernel.py' (did you mean `mxref verify my_kernel.py`?)"),
    ],
)
def test_a_word_that_is_no_verb(word: str, sentence: str, capsys: Capture) -> None:
    ends_in([word, "x"], sentence, capsys)
    assert main([word, "--help"]) == 2


def test_help_is_a_verb_as_well(capsys: Capture) -> None:
    for words, same in ((["help"], ["--help"]), (["help", "formats"], ["formats", "--help"])):
        assert main(words) == 0
        text = capsys.readouterr().out
        assert main(same) == 0
        assert text == capsys.readouterr().out != ""


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["verify", "a.py", "--policy", "ocp", "--policy", "ocp+rounding=to_odd"],
            "argument --policy: it must be given once, got ocp and ocp+rounding=to_odd",
        ),
        (
            ["verify", "a.py", "--seed", "1", "--seed=2"],
            "--seed: it must be given once, got 1 and 2",
        ),
        (
            ["export", "table", "--as", "c", "--as", "npy"],
            "--as: it must be given once, got c and npy",
        ),
        (
            ["quantize", "--out", "a", "-o", "b"],
            "-o/--out: it must be given once, got a and b",
        ),
        (["verify", "--polcy=x", "a.py"], "arguments: --polcy=x (did you mean '--policy'?)"),
        (["quantize", "a", "--format", "b", "--axes", "1"], "--axes 1 (did you mean '--axis'?)"),
        (["gen", "encode", "e2m1", "f32"], "arguments: f32"),
    ],
)
def test_options(words: list[str], sentence: str, capsys: Capture) -> None:
    ends_in(words, sentence + ": keep one" * ("given once" in sentence), capsys)


@pytest.mark.parametrize("words", [["-inf"], ["--", "-inf"]])
def test_explain_reads_options_behind_a_negative_name(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", *words, "--format", "e4m3"]) == 0
    assert capsys.readouterr().out.startswith("-inf as f32: ff800000 = -inf\n")


def test_an_option_with_the_same_value_again(capsys: Capture) -> None:
    assert main(["explain", "0.3", "--format", "e2m1", "--float", "f16", "--float", "f16"]) == 0


def test_options_that_are_lists_are_given_again(kit: Kit) -> None:
    spec = kit.target(ENCODE)
    stems = ["encode/e2m1.f32", "encode/e4m3.f32"]
    options = ["--format", "e2m1", "--format", "E4M3", "--vectors", kit.vectors(*stems)]
    assert kit.run(spec, *options).status == 0


PROFILES = (
    "; a profile is named by mxref.profile(NAME), by --profile NAME of commands, and by PROFILE in "
    "a target's file"
)


@pytest.mark.parametrize(
    ("policy", "sentence"),
    [
        ("rceil", "got 'rceil' (did you mean 'ocp+scale_rule=rceil'?)"),
        ("RCEIL", "got 'RCEIL' (did you mean 'ocp+scale_rule=rceil'?)"),
        ("overflow=saturate", "(did you mean 'ocp+overflow=saturate'?)"),
        ("saturate", "(did you mean 'ocp+overflow=saturate' or 'ocp+product_overflow=saturate'?)"),
        ("ocp+rceil", "got 'rceil' (did you mean 'scale_rule=rceil'?)"),
        ("ocp+scale_rule=RCEIL", "got 'RCEIL' (did you mean 'rceil'?)"),
        ("torchao_0_18_rceil", "got 'torchao_0_18_rceil'"),
    ],
)
def test_a_policy(policy: str, sentence: str, tmp_path: Path, capsys: Capture) -> None:
    np.save(tmp_path / "x.npy", np.zeros(4, np.float32))
    path = str(tmp_path / "x.npy")
    ends_in(["quantize", path, "--format", "mxfp4", "--policy", policy], sentence, capsys, PROFILES)
    with pytest.raises(ValueError, match=r"did you mean|PROFILE"):
        mxref.encode(1.0, "e2m1", policy=policy)


def test_an_axis_that_an_array_lacks(tmp_path: Path, capsys: Capture) -> None:
    np.save(tmp_path / "x.npy", np.zeros((2, 4), np.float32))
    words = ["quantize", str(tmp_path / "x.npy"), "--format", "MXFP4", "--axis", "7"]
    ends_in(words, "axis must be in [-2, 1] for 2 axes, got 7", capsys)


FLOATS = "--float must be one of f32, f16, bf16, f64, got 'f33' (did you mean 'f32'?)"
SORTED = "--float must be one of bf16, f16, f32, f64, got 'f33' (did you mean 'f32'?)"


@pytest.mark.parametrize(
    ("verb", "sentence"),
    [
        (["verify"], SORTED),
        (["verify", "--cmd", "cat"], SORTED),
        (["prompts", "x"], SORTED),
        (["export", "vectors", "--as", "npy", "-o", "x"], SORTED),
        (["fuzz"], FLOATS),
        (["identify"], FLOATS),
    ],
)
def test_float_types_of_the_operations_selected(
    verb: list[str], sentence: str, kit: Kit, capsys: Capture
) -> None:
    target = [kit.target(ENCODE)] if verb in (["verify"], ["fuzz"], ["identify"]) else []
    ends_in([*verb, *target, "--op", "encode", "--float", "f33"], sentence, capsys)
    words = [*verb, *target, "--op", "decode", "--format", "e2m1", "--float", "f16"]
    ends_in(words, "--float must be one of f32, got 'f16'", capsys)


def test_float_types_of_one_operation_in_a_pipe(capsys: Capture) -> None:
    ends_in(["gen", "encode", "e2m1", "--float", "f33"], SORTED, capsys)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--format", "fp8"], "--format must be 'e5m2' or 'e4m3', got 'fp8': name one"),
        (["--format", "FP4"], "got the element format 'e2m1': use 'mxfp4_e2m1'"),
        (["--format", "mxfp4", "--profile", "ocp+nan=signed"], "or by --policy NAME of commands"),
        (["--format", "mxfp4", "--profile", "rceil"], "(did you mean 'torchao_0_18_rceil'?)"),
    ],
)
def test_names_that_stand_for_others(words: list[str], sentence: str, capsys: Capture) -> None:
    ends_in(["quantize", "x.npy", *words], sentence, capsys)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("op", "format"),
    [("quantize_affine", "uint8"), ("pack_int4", "int4"), ("linear_qcs4w", "int4_groups")],
)
def test_formats_of_integer_operations_are_names(
    op: str, format: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["gen", op, format]) == 0
    out, _ = capsys.readouterr()
    lines = out.splitlines()
    assert lines[1].split()[1:3] == [op, format]
    # Answers to these questions are compared, here wrong ones.
    text = "\n".join([lines[0], *(f"{line.split()[0]} 00" for line in lines[1:]), ""])
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert main(["check", op, format]) == 1
    assert f": {len(lines) - 1} cases, " in capsys.readouterr().out
