"""The ledger: what it asks, what it finds of planted differences, and what it says of them."""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import problems, refuse_other_drawing
from commands import fits
from helpers import ROOT, run, sentence
from ledger import __main__ as command
from ledger.asks import random_elements, rounds
from ledger.claims import claiming, claiming_integers, claiming_products, meaning
from ledger.examine import examine
from ledger.pages import Notes, pages
from ledger.product_page import INTEGERS, product_page
from ledger.question_kinds import HOWS, KINDS, hows, kinds
from ledger.reasons import reasons
from ledger.recording import hex_text
from ledger.residuals import unlisted
from ledger.tally import Tally, same_bits
from tables import rows

from mxref.cases.answers import fast_answers
from mxref.operands.word_rows import NO_WORD
from mxref.policy.policy import Policy
from mxref.profiles import profile
from mxref.targets.calls import Answers, without_cases
from mxref.targets.profile_target import profile_target
from mxref.targets.target import PythonTarget

DATA = ROOT / "tests" / "tools" / "data"
INF, NAN = 0x7F800000, 0x7FC00001


def block(*words: int) -> np.ndarray:
    return np.array([[*words, *[0] * (32 - len(words))]], np.uint64)


def target(name: str, **claims: Any) -> PythonTarget:
    """A profile as an implementation of its own, with few formats."""
    right = profile_target(profile(name))
    all_of = right.operations
    small = {
        "operations": {op: all_of[op] for op in ("shared_scale", "quantize", "dequantize")},
        "formats": frozenset({"e2m1", "mxfp4_e2m1"}),
        "floats": frozenset({"f32"}),
    }
    return dataclasses.replace(right, **(small | claims))


def planted(name: str, op: str, change: Any) -> PythonTarget:
    """The same with an operation whose results are changed."""
    right = target(name)
    function = right.operations[op]
    return dataclasses.replace(
        right, operations={op: lambda *inputs: change(inputs, function(*inputs))}
    )


# What is asked


def test_rounds_ask_everything_where_there_is_little() -> None:
    def words(op: str, format: str, float: str) -> np.ndarray:
        file = without_cases(op, format, float)
        parts = [part for _, part in rounds(file, Policy(), 0)]
        return np.concatenate(parts)

    assert sorted(words("encode", "e4m3", "bf16")[:, 0].tolist()) == [*range(1 << 16)]
    assert sorted(words("shared_scale", "e4m3", "f16")[:, 0].tolist()) == [*range(1 << 15)]
    assert words("decode", "e3m2", "f32")[:, 0].tolist() == [*range(64)]
    assert words("decode_scale", "e8m0", "f32")[:, 0].tolist() == [*range(256)]
    blocks = words("dequantize", "mxfp8_e4m3", "bf16")
    pairs = {(row[0], code) for row in blocks.tolist() for code in row[1:]}
    assert len(pairs) == 1 << 16
    with pytest.raises(ValueError, match="op must be one that the ledger asks"):
        words("encode_stochastic", "e4m3", "f32")


def test_the_block_product_is_asked_for_float32_and_its_share_is_a_share() -> None:
    file = without_cases("quantize", "mxfp4_e2m1", "f32")

    def scales(share: int) -> set[int]:
        parts = rounds(file, Policy(), 0, share)
        blocks = np.concatenate([w for name, w in parts if name == "block product"])
        answers = fast_answers(file.op, file.format, file.float, blocks, Policy())
        return {*answers[:, 0].tolist()}

    assert scales(10) == {*range(0, 253, 10)}
    assert scales(50) == {*range(0, 253, 50)}
    short = without_cases("quantize", "mxfp4_e2m1", "bf16")
    assert {name for name, _ in rounds(short, Policy(), 64)} == {"random"}


def test_random_elements_go_to_blocks_first() -> None:
    def files(*stems: str) -> list[Any]:
        return [without_cases(*stem.split()) for stem in stems]

    both = files("quantize mxfp4_e2m1 f32", "quantize mxfp4_e2m1 bf16", "encode e2m1 f32",
                 "encode e2m1 bf16", "decode e2m1 f32")  # fmt: skip
    found = random_elements(both, 1000)
    assert found["quantize/mxfp4_e2m1.f32"] == found["quantize/mxfp4_e2m1.bf16"] == 500
    assert set(found) == {"quantize/mxfp4_e2m1.f32", "quantize/mxfp4_e2m1.bf16", "encode/e2m1.f32"}
    assert random_elements(both[2:], 1000) == {"encode/e2m1.f32": 1000}


# Kinds


@pytest.mark.parametrize(("op", "format", "words", "kind"), rows("tools", "ledger_kinds"))
def test_kinds(op: str, format: str, words: str, kind: str) -> None:
    some = [int(word, 16) for word in words.split()]
    file = without_cases(op, format, "f32")
    inputs = block(*some) if op == "quantize" else np.array([some], np.uint64)
    asked = np.repeat(inputs, [1, 32], axis=1) if op == "dequantize" else inputs
    ocp = fast_answers(op, format, "f32", asked, Policy()).astype(np.uint64)
    found = kinds(file, inputs, ocp[:, :1] if op == "dequantize" else ocp)
    assert [[*KINDS[op]][number] for number in found] == [kind]


def test_float16_has_no_block_of_2_to_the_127() -> None:
    file, words = without_cases("quantize", "mxfp4_e2m1", "f16"), block(0x7BFF)
    ocp = fast_answers("quantize", "mxfp4_e2m1", "f16", words, Policy()).astype(np.uint64)
    assert [*KINDS["quantize"]][kinds(file, words, ocp)[0]] == "ordinary"


def test_hows() -> None:
    file = without_cases("quantize", "mxfp4_e2m1", "f32")
    got = np.array([[1, 2, 3], [1, 2, 3], [1, 0, 8], [1, 0, 4]], np.uint64)
    want = np.array([[2, 2, 3], [1, 2, 4], [1, 8, 0], [1, 8, 5]], np.uint64)
    assert [HOWS[n] for n in hows(file, got, want)] == [
        "scale", "elements", "sign of zero", "elements"
    ]  # fmt: skip
    encode = without_cases("encode", "int8", "f32")  # whose 80 is no zero
    codes = np.array([[0x80]], np.uint64), np.array([[0]], np.uint64)
    assert [HOWS[n] for n in hows(encode, *codes)] == ["value"]


# Reasons


def put_down(name: str, format: str, words: np.ndarray) -> dict[str, int]:
    return reasons(profile(name), without_cases("quantize", format, "f32"), words)


def test_reasons_are_the_stage_or_the_choice_that_makes_the_difference() -> None:
    infinity, tiny, rises = block(INF), block(0x00800000), block(0x3FC00000)
    assert put_down("torchao_0_18_floor", "mxfp8_e4m3", infinity) == {"torchao.floor_scale": 1}
    assert put_down("torchao_0_18_floor", "mxfp8_e4m3", tiny) == {"torchao.quotients": 1}
    assert put_down("torchao_0_18_ceil", "mxfp8_e4m3", rises) == {"scale_rule=ceil": 1}
    both = np.concatenate([infinity, infinity, tiny])
    found = put_down("torchao_0_18_floor", "mxfp8_e4m3", both)
    assert found == {"torchao.floor_scale": 2, "torchao.quotients": 1}
    assert [*found] == ["torchao.floor_scale", "torchao.quotients"]


# What is found


def test_a_profile_equals_itself_and_its_differences_are_found() -> None:
    record = examine(target("torchao_0_18_floor"), share=640)
    assert {(f["op"], f["format"]) for f in record["files"]} == {
        ("shared_scale", "e2m1"), ("quantize", "mxfp4_e2m1"), ("dequantize", "mxfp4_e2m1")
    }  # fmt: skip
    assert not any(f["residuals"] or f["silent"] for f in record["files"])
    assert unlisted(record | {"adapter": "any"}, []) == []
    quantize = next(f for f in record["files"] if f["op"] == "quantize")
    assert set(quantize["cases"]) == {"level 1", "block product", "random"}
    infinity, tiny = quantize["differences"]
    assert (infinity["kind"], infinity["how"], infinity["clause"]) == ("infinity", "scale", "N5")
    assert infinity["count"] == infinity["asked"] > 50
    assert infinity["example"] == {
        "format": "mxfp4_e2m1", "float": "f32", "in": "7f800000 00000000*31",
        "got": "fd 07 00*31", "ocp": "ff 00*32",
    }  # fmt: skip
    assert (tiny["kind"], tiny["how"], tiny["clause"]) == ("scale byte 0", "elements", "N7")
    assert tiny["example"]["in"] == "00800000 00000000*31"
    assert (tiny["example"]["got"], tiny["example"]["ocp"]) == ("00 02 00*31", "00 04 00*31")


def has_number(values: Any, word: int) -> Any:
    """Where a number is in blocks without infinities, whose kind has another name."""
    return (values.view(np.uint32) == word) & ~np.isinf(values).any(axis=1, keepdims=True)


def wrong_at(word: int, code: int) -> Any:
    """Another element code for one number."""

    def change(inputs: Any, result: Any) -> Any:
        scales, codes = result[0].copy(), result[1].copy()
        codes[has_number(inputs[0], word)] = code
        return scales, codes

    return change


@pytest.mark.sampled(3)
def test_a_residual_is_counted_and_made_simple() -> None:
    # Level 1 has blocks of FLT_MAX.
    flawed = planted("torchao_0_18_floor", "quantize", wrong_at(0x7F7FFFFF, 1))
    record = examine(flawed, share=640) | {"adapter": "flawed"}
    (quantize,) = record["files"]
    (residual,) = quantize["residuals"]
    assert residual["count"] >= 1
    assert (residual["kind"], residual["how"]) == ("amax of 2^127 and more", "elements")
    assert residual["examples"][0] == {
        "format": "mxfp4_e2m1", "float": "f32", "in": "7f7fffff 00000000*31",
        "got": "fc 01 00*31", "profile": "fc 07 00*31",
    }  # fmt: skip
    (line,) = unlisted(record, [])
    assert line.startswith("quantize mxfp4_e2m1 f32: ")
    listed = {"adapter": "flawed", "op": "quantize", "kind": residual["kind"], "why": "planted"}
    assert unlisted(record, [{"residuals": [listed]}]) == []
    assert len(unlisted(record, [{"residuals": [listed | {"adapter": "other"}]}])) == 1
    assert len(unlisted(record, [{"residuals": [listed | {"kind": "NaN"}]}])) == 1
    whole = record | {"share": 1}
    gone = [listed, listed | {"kind": "NaN", "why": "of old"}]
    assert unlisted(whole, [{"residuals": gone}]) == ["listed, but not found: of old"]


def test_codes_of_nan_and_under_a_nan_scale_are_compared_by_their_bits() -> None:
    def change(inputs: Any, result: Any) -> Any:
        codes = result[1].copy()
        codes[result[0] == 0xFF] ^= 1
        return result[0], codes

    record = examine(planted("torchao_0_18_floor", "quantize", change), share=640)
    (residual,) = record["files"][0]["residuals"]
    assert (residual["kind"], residual["how"]) == ("NaN", "elements")
    assert not [one for one in record["files"][0]["differences"] if one["kind"] == "NaN"]


def test_decoded_nan_is_one_class_and_decoded_zeros_are_two() -> None:
    file = without_cases("decode", "e4m3", "f32")
    words = np.array([[NAN], [INF], [0]], np.uint64)
    other = np.array([[NAN + 5], [NAN], [1 << 31]], np.uint64)
    assert same_bits(file, words, other).tolist() == [True, False, False]
    encode = without_cases("encode", "e4m3", "f32")
    assert not same_bits(encode, np.array([[0x7F]], np.uint64), np.array([[0xFF]], np.uint64))[0]


def refusing(inputs: Any, result: Any) -> Any:
    if has_number(inputs[0], 0x7F7FFFFF).any():
        raise ValueError(f"{len(inputs[0])} blocks are too large")
    return result


@pytest.mark.sampled(6)
def test_what_raises_alone_is_a_residual() -> None:
    record = examine(planted("torchao_0_18_floor", "quantize", refusing), share=640)
    (file,) = record["files"]
    (residual,) = file["residuals"]
    assert residual["kind"] == "amax of 2^127 and more"
    assert residual["how"].startswith("raises ValueError: N blocks are too large")
    assert "7f7fffff" in residual["examples"][0]["in"]
    right = examine(target("torchao_0_18_floor"), share=640)["files"]
    assert file["cases"] == next(f for f in right if f["op"] == "quantize")["cases"]


def test_where_both_raise_there_is_no_answer_and_no_residual() -> None:
    file, words = without_cases("dequantize", "mxfp8_e4m3", "f32"), np.zeros((2, 33), np.uint64)
    words[1, 1] = 0x7F
    nothing = np.full((2, 32), NO_WORD, np.uint64)
    ocp = fast_answers(file.op, file.format, file.float, words, Policy()).astype(np.uint64)
    tally = Tally(file)
    some = np.where([[True], [False]], ocp, nothing)
    tally.add("random", words, Answers(some, {1: "no"}), Answers(some, {1: "no, too"}), ocp)
    assert tally.cases == {"random": 64}
    assert not tally.residuals
    counts = {key: found.count for key, found in tally.differences.items()}
    assert counts == {("NaN element", "no answer"): 1, ("zero", "no answer"): 31}
    tally = Tally(file)
    tally.add("random", words, Answers(ocp), Answers(some, {1: "no"}), ocp)
    assert {key[1] for key in tally.residuals} == {"the profile raises no"}
    assert not tally.differences


def test_what_the_profile_does_not_speak_of_is_said() -> None:
    claims = {"operations": {"encode_scale": lambda values: np.zeros(len(values), np.uint8)}}
    record = examine(target("torchao_0_18_floor", **claims)) | {"adapter": "any"}
    assert record["files"][0]["silent"]
    assert not record["files"][0]["cases"]
    assert unlisted(record, []) == [
        "encode_scale e8m0 f32: 0 x all, the profile says nothing of it"
    ]
    how = {"adapter": "any", "how": "the profile says nothing of it", "why": "new"}
    assert unlisted(record, [{"residuals": [how]}]) == []


def test_a_target_must_claim_a_profile_and_have_something() -> None:
    claim = target("torchao_0_18_floor", profile=None)
    assert "must claim a PROFILE" in sentence(ValueError, lambda: examine(claim))
    nothing = target("torchao_0_18_floor", formats=frozenset())
    assert "there are vectors of" in sentence(ValueError, lambda: examine(nothing))


# What is said


def test_hex_text() -> None:
    assert hex_text(block(0x3F800000, 0x3F800000)[0], 8) == "3f800000*2 00000000*30"
    assert hex_text(np.array([7], np.uint64), 2) == "07"


def notes() -> Notes:
    return Notes((DATA / "ledger_notes.md").read_text("ascii"), {"a-bug": "It loses zeros"})


@pytest.mark.sampled(6)
def test_the_pages_say_who_does_what() -> None:
    record = examine(target("torchao_0_18_ceil"), share=640) | {"adapter": "one.CEIL"}
    listed = [{"name": "Something 1.0", "adapters": ["one.CEIL"], "reports": ["a-bug"]}]
    texts = pages(listed, {"one.CEIL": record}, notes())
    assert [*texts] == ["README.md", "one.md"]
    cases = sum(sum(file["cases"].values()) for file in record["files"])
    wanted = (DATA / "ledger_pages.md").read_text("utf-8").replace("CASES", f"{cases:,}")
    assert fits(wanted, "".join(texts.values()))
    wrong = sentence(ValueError, lambda: pages(listed, {}, notes()))
    assert wrong == "implementations.json must list each adapter once, not so ['one.CEIL']"


@pytest.mark.sampled(6)
def test_a_page_says_what_is_not_the_profiles() -> None:
    flawed = planted("torchao_0_18_floor", "quantize", wrong_at(0x7F7FFFFF, 1))
    record = examine(flawed, share=640) | {"adapter": "one"}
    known = {"adapter": "one", "kind": "amax of 2^127 and more", "why": "planted", "report": "bug"}
    listed = {"name": "S", "adapters": ["one"], "reports": []}
    texts = pages([listed | {"residuals": [known]}], {"one": record}, notes())
    (count,) = {r["count"] for file in record["files"] for r in file["residuals"]}
    wanted = (DATA / "ledger_residuals.md").read_text("utf-8").replace("COUNT", str(count))
    assert fits(wanted, "".join(texts.values()))
    other = pages([listed], {"one": record}, notes())["one.md"]
    assert f"- {count} cases of one quantize: not explained." in other.splitlines()


@pytest.mark.sampled(6)
def test_the_committed_pages_are_what_the_records_give() -> None:
    records = {name: command.read(name) for name in claiming()}
    texts = pages(command.listed(), records, command.notes())
    products = {name: command.read(name) for name in claiming_products()}
    reports = command.notes().reports
    texts["products.md"] = product_page(command.listed("products"), products, reports)
    integers = {name: command.read(name) for name in claiming_integers()}
    texts["integers.md"] = product_page(command.listed("integers"), integers, reports, INTEGERS)
    folder = ROOT / "docs" / "ledger"
    assert {path.name for path in folder.iterdir()} == {*texts}
    for name, text in texts.items():
        assert (folder / name).read_text("utf-8") == text, name
        assert len(text.splitlines()) <= (150 if name == "README.md" else 80)
        for link in re.findall(r"\]\(([^)#]+)", text):
            assert (folder / link).exists(), (name, link)
    refuse_other_drawing()
    drawn = (ROOT / "docs" / "pictures" / "ledger.svg").read_text("utf-8")
    assert drawn == command.picture(records)


@pytest.mark.sampled(3)
def test_the_ledger_as_html(tmp_path: Path) -> None:
    assert command.write_html(tmp_path) == 0
    sources = [path for name in ("ledger", "reports") for path in (ROOT / "docs" / name).iterdir()]
    found = {path.relative_to(tmp_path): path.read_text("utf-8") for path in tmp_path.rglob("*.*")}
    assert len(found) == len(sources)
    for path, text in found.items():
        for link in re.findall(r'href="([^"#]+)', text):
            assert "://" in link or (tmp_path / path.parent / link).exists(), (path, link)
        assert "](" not in text
        assert not re.search(r"<(script|link|img)|src=", text)
    some = ["ledger/index.html", "ledger/quark.html", "ledger/products.html", "reports/index.html"]
    assert problems({name: found[Path(name)] for name in some}) == []
    index = found[Path("ledger/index.html")]
    assert index.index("<svg") < index.index("<table")
    assert 'data-label="differs from ocp in"' in index


def test_every_adapter_that_claims_a_profile_is_listed_once() -> None:
    adapters = ROOT / "tools" / "adapters"
    listed = json.loads((adapters / "implementations.json").read_text("utf-8"))
    names = [name for one in listed for name in one["adapters"]]
    assert len(names) == len({*names})
    assert {*names} == {*claiming()}
    for one in listed:
        assert {*one} <= {"name", "adapters", "reports", "residuals"}
        for residual in one.get("residuals", ()):
            assert residual["adapter"] in one["adapters"]
            assert {*residual} <= {
                "adapter", "op", "format", "float", "kind", "how", "why", "report"
            }  # fmt: skip
    products = command.listed("products")
    assert sorted(name for one in products for name in one["adapters"]) == [*claiming_products()]
    integers = command.listed("integers")
    assert sorted(name for one in integers for name in one["adapters"]) == [*claiming_integers()]
    named = {name for one in listed + products + integers for name in one["reports"]}
    assert named == {path.stem for path in (ROOT / "docs" / "reports").glob("*.md")} - {"README"}


@pytest.mark.sampled(0)
def test_the_command_runs_an_adapter_and_keeps_its_result(tmp_path: Path) -> None:
    command = (sys.executable, ROOT / "tools" / "ledger", "ml_dtypes", "--quick")
    first = run(*command, "--results", tmp_path)
    assert first.returncode == 0, first.stderr
    assert "[1/1] ml_dtypes: " in first.stdout
    assert " 0 not as ml_dtypes, " in first.stdout
    record = json.loads((tmp_path / "ml_dtypes.json").read_text())
    assert record["share"] == 16
    again = run(*command, "--results", tmp_path)
    assert again.stdout.endswith("0 adapters run, 1 had results, 0 are not here or fail\n")
    wrong = run(*command[:2], "ml_dtype", "--results", tmp_path)
    assert wrong.returncode == 2
    assert "ml_dtype must be an adapter that claims a PROFILE: " in wrong.stderr
    for text in ('{"of": "4', "{}", "[]", ""):  # cut, or another file
        (tmp_path / "ml_dtypes.json").write_text(text)
        unwritten = run(*command[:2], "--write", "--results", tmp_path)
        assert unwritten.returncode == 1
        assert unwritten.stderr.startswith("every adapter must have a whole and recent result")
        assert "ml_dtypes" in unwritten.stderr


# What the code of an adapter means


OF_CODE = json.loads((DATA / "adapter_code.json").read_text("ascii"))
CODE = "\n".join(OF_CODE["code"])


@pytest.mark.parametrize(("old", "new", "same"), OF_CODE["changes"])
def test_code_means_what_it_does_alone(old: str, new: str, same: bool) -> None:
    assert old in CODE
    assert (meaning(CODE.replace(old, new)) == meaning(CODE)) is same
