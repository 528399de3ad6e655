"""Level 2: families complete, digests right, the same however they are computed.

Expected answers come from `mxref.exact`, from integer arithmetic written here and from ml_dtypes;
digests are made here from bytes in the order that the contract says.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers import VECTORS
from shares import Share
from tables import rows

from mxref import exact
from mxref.cases.product import product_blocks, reachable, scale_range
from mxref.cli import main
from mxref.formats.catalog import BLOCK_FORMATS
from mxref.golden import level2, store
from mxref.golden.level2 import DisagreementError, Family, compute, compute_all, families, select
from mxref.operations.elements import Encode
from mxref.policy.policy import Policy

KEYS = ["name", "op", "format", "float", "policy", "inputs", "cases", "sha256"]


def family(name: str) -> Family:
    return next(one for one in families() if one.name == name)


def words_of(name: str) -> np.ndarray[Any, Any]:
    return np.concatenate(list(family(name).chunks()))


# --- what there is --------------------------------------------------------------------------------


def test_families_are_the_products_that_the_contract_names() -> None:
    names = [one.name for one in families()]
    assert len(set(names)) == len(names)
    found = Counter(name.partition(".")[0] for name in names)
    assert found == {op: int(count) for op, count in rows("golden", "families", "count")}


def test_integers_are_every_code_and_midpoint() -> None:
    words = words_of("dequantize_affine.uint8.f32.default")
    assert words[:, 3].tolist() == list(range(256))
    assert (words[:, 4:] == np.arange(256)).all()
    for name, first in (("dequantize_affine.int16.f32", 4), ("rescale.int16-int8.bytes", 5)):
        for chunk in family(f"{name}.default").chunks():
            assert np.unique(chunk[:, first:]).size == 1 << 16
    for chunk in family("quantize_affine.int16.f32.nan=zero").chunks():
        scale, x = (
            part.view(np.float32).astype(np.float64) for part in (chunk[0, 2:3], chunk[:, 4:])
        )
        middles = x.reshape(-1)[1 : 3 * ((1 << 16) + 1) : 3] / scale
        assert np.allclose(middles, np.arange(-32769, 32768) + 0.5, rtol=2**-23)


def test_codes_to_be_packed() -> None:
    every = words_of("pack.e2m1.bytes.ocp").tolist()
    assert {tuple(row) for row in every} == {*itertools.product(range(16), repeat=4)}
    places = list(family("pack.e3m2.bytes.ocp").chunks())
    for quads, (a, b) in zip(places, itertools.combinations(range(4), 2), strict=True):
        pairs = {(row[a], row[b]) for row in quads.tolist()}
        assert pairs == {*itertools.product(range(64), repeat=2)}


@pytest.mark.parametrize(("name", "count"), rows("golden", "families", "patterns"))
def test_scalar_families_hold_every_pattern_in_order(name: str, count: str) -> None:
    assert words_of(name).tolist() == [[bits] for bits in range(int(count))]


@pytest.mark.parametrize("block", BLOCK_FORMATS)
def test_every_scale_times_every_code_is_dequantized(block: str) -> None:
    words = words_of(f"dequantize.{block}.f32.ocp")
    pairs = np.unique(words[:, :1].astype(np.int64) << 8 | words[:, 1:])
    codes = BLOCK_FORMATS[block].element.code_count
    assert pairs.tolist() == [s << 8 | code for s in range(256) for code in range(codes)]


def test_what_verify_asks_by_default_is_small_and_of_level_2() -> None:
    """At most 1.5 million words, and each family stands in the manifest."""
    defaults = level2.default_families()
    assert {one.name for one in defaults} <= {one.name for one in families()}
    assert {(one.op, one.float) for one in defaults} == {
        *(("dequantize", float) for float in ("f32", "bf16", "f16", "f64")),
        ("quantize", "f16"),
        ("quantize", "f64"),
    }
    assert len(defaults) == 6 * 4 + 6 * 2
    words = sum(np.prod(chunk.shape) for one in defaults for chunk in one.chunks())
    assert 1_000_000 < words < 1_500_000


# --- every scale with every key -------------------------------------------------------------------


def keys_under(blocks: np.ndarray[Any, Any], k: int) -> tuple[np.ndarray[Any, Any], ...]:
    """Sign and odd-rounded 7-fraction-bit key of each float32 / 2**k; which are exact float64."""
    # float64 holds every quotient, and as a normal number; so its own pattern is rounded to odd.
    quotients = np.ldexp(blocks.view(np.float32).astype(np.float64), -k)
    bits = quotients.view(np.uint64)
    magnitude = bits & np.uint64((1 << 63) - 1)
    cut = np.uint64((1 << 45) - 1)
    key = (magnitude | ((magnitude & cut) + cut)) >> np.uint64(45)
    return bits >> np.uint64(63), key


#: Numbers as integers in units of 2**-UNIT, far below every float32 over every scale's key.
UNIT = 300


def expected_keys(k: int, largest: int) -> set[int]:
    """Keys, as top bits of float64, that a float32 up to `largest` has when divided by 2**k.

    Of quotients from 2**-126 on; found from numbers: a key with its last bit clear is the
    number itself, one with its last bit set any number between its neighbours.
    """
    found = set()
    for power in range(-126, 9):
        spacing = 1 << UNIT + max(-149, power + k - 23)
        step = UNIT + power + k - 7
        for fraction in range(128):
            value = 128 + fraction << step
            if fraction % 2 == 0:
                reached = value % spacing == 0 and value <= largest
            else:  # the first float32 above the lower end, if it is below the upper one
                first = ((127 + fraction << step) // spacing + 1) * spacing
                reached = first < 129 + fraction << step and first <= largest
            if reached:
                found.add((1023 + power) << 7 | fraction)
    return found


@pytest.mark.sampled(6)
def test_the_block_product_pairs_every_scale_with_every_key(share: Share) -> None:
    """Counted on MXFP4: largest amax and keys from exact numbers, quotients by float64."""
    codes = []
    everything = product_blocks("mxfp4_e2m1", Policy())
    for blocks, (code, _, _) in zip(everything, scale_range_of_e2m1(), strict=True):
        codes.append(code)
        if not share.takes(code, 28) and code not in (0, 1, 127, 252):
            continue
        k = code - 127
        # The scale from the largest element: floor(log2 amax) - 2, clamped to -127.
        amax = np.abs(blocks.view(np.float32)).max(axis=1)
        assert set((np.frexp(amax.astype(np.float64))[1] - 3).clip(-127).tolist()) == {k}
        # The float32 below 2**(k + 3).
        largest = (1 << UNIT + k + 3) - (1 << UNIT + max(-149, k + 3 - 24))
        sign, key = keys_under(blocks, k)
        expected = expected_keys(k, largest)
        for side in (0, 1):
            found = set(np.unique(key[sign == side]).tolist())
            assert {one for one in found if one >= (1023 - 126) << 7} == expected, code
            assert 0 in found, code  # the zero of each sign
    # Every scale code that float32 reaches under FLOOR: largest exponent 127, less 2.
    assert codes == list(range(253))


@pytest.mark.parametrize("largest", [0x40B504F3, 0x40B58000, 0x40B57FFF, 0x40B40001, 0x40C00000])
def test_a_limit_within_a_key_is_kept(largest: int) -> None:
    """Limits such as the square root of two lie between the ends of an odd key's interval."""
    patterns = reachable(BLOCK_FORMATS["mxfp4_e2m1"].element, 127, largest)
    assert int((patterns & np.uint32(0x7FFFFFFF)).max()) <= largest
    number = (largest & 0x7FFFFF | 0x800000) << (largest >> 23) - 127 - 23 + UNIT
    sign, key = keys_under(patterns, 0)
    for side in (0, 1):
        found = key[sign == side].tolist()
        assert len(set(found)) == len(found)
        assert {one for one in found if one >= (1023 - 126) << 7} == expected_keys(0, number)


def scale_range_of_e2m1() -> Iterator[tuple[int, int, int]]:
    """Scale codes with their first and last amax pattern, from exponent fields alone."""
    for code in range(253):
        # floor(log2 amax) = code - 127 + 2; scale 00 takes everything below, too.
        field = code + 2
        yield code, 1 if code == 0 else field << 23, (field + 1 << 23) - 1


def test_ranges_of_amax_are_those_of_exponent_fields() -> None:
    fmt = BLOCK_FORMATS["mxfp4_e2m1"].element
    assert scale_range(fmt, Policy()) == tuple(scale_range_of_e2m1())


@pytest.mark.parametrize("rule", ["floor", "rceil", "even"])
@pytest.mark.parametrize("block", BLOCK_FORMATS)
def test_ranges_of_amax_hold_every_pattern_once(block: str, rule: str) -> None:
    fmt = BLOCK_FORMATS[block].element
    ranges = scale_range(fmt, Policy().replace(scale_rule=rule))
    firsts, lasts = [r[1] for r in ranges], [r[2] for r in ranges]
    assert firsts == [1, *(last + 1 for last in lasts[:-1])]
    assert lasts[-1] == 0x7F7FFFFF
    assert [r[0] for r in ranges] == list(range(len(ranges)))
    for code, first, last in ranges[:: 1 + len(ranges) // 20]:
        assert exact.shared_scale(first, "f32", fmt.name, rule) == code
        assert exact.shared_scale(last, "f32", fmt.name, rule) == code


def test_neighbours_and_the_place_of_the_largest_vary() -> None:
    blocks = next(product_blocks("mxfp8_e4m3", Policy()))
    magnitude = blocks & np.uint32(0x7FFFFFFF)
    assert set(magnitude.argmax(axis=1).tolist()) == set(range(32))
    assert len(np.unique(blocks, axis=0)) == len(blocks)
    # Keys in rows are in no order: neighbours rise about as often as they fall.
    rises = (np.diff(magnitude.astype(np.int64), axis=1) > 0).mean()
    assert 0.3 < rises < 0.7


# --- digests --------------------------------------------------------------------------------------


def test_a_digest_is_of_the_codes_as_bytes_in_order() -> None:
    """Against ml_dtypes, which rounds bfloat16 to nearest even and does not saturate to E5M2."""
    name = "encode.e5m2.bf16.ocp+overflow=nonsaturating"
    values = np.arange(1 << 16, dtype=np.uint16).view(ml_dtypes.bfloat16)
    with np.errstate(invalid="ignore"):
        codes = values.astype(np.float32).astype(ml_dtypes.float8_e5m2).view(np.uint8)
    codes = np.where(np.isnan(values.astype(np.float32)), 0x7F, codes).astype(np.uint8)
    assert compute(family(name)).sha256 == hashlib.sha256(codes.tobytes()).hexdigest()


def test_a_digest_of_floats_is_little_endian() -> None:
    data = b"".join(
        exact.dequantize(scale, code % 16, "e2m1", "bf16").to_bytes(2, "little")
        for scale in range(256)
        for code in [*range(16), *[15] * 16]
    )
    one = compute(family("dequantize.mxfp4_e2m1.bf16.ocp"))
    assert (one.cases, one.sha256) == (256, hashlib.sha256(data).hexdigest())


def test_a_digest_of_blocks_has_the_scale_code_first() -> None:
    blocks = np.array([[0x3F800000] * 32, [0x40400000] * 32], np.uint32)  # 1 and 3
    one = Family("quantize", "mxfp4_e2m1", "f32", "ocp", "", lambda: iter([blocks]))
    # 1 is 4 (code 6) under 2**-2; 3 is 6 (code 7) under 2**-1.
    data = bytes([125] + [6] * 32 + [126] + [7] * 32)
    assert compute(one, complete=True).sha256 == hashlib.sha256(data).hexdigest()


def chunked(one: Family, size: int) -> Family:
    """The same inputs in parts of another size."""

    words = np.concatenate(list(one.chunks()))
    parts = [words[start : start + size] for start in range(0, len(words), size)]
    return dataclasses.replace(one, chunks=lambda: iter(parts))


@pytest.mark.parametrize(
    "name", ["encode.e4m3.f16.ocp+rounding=to_odd", "dequantize.mxfp6_e3m2.bf16.ocp"]
)
def test_digests_do_not_depend_on_chunks(name: str) -> None:
    one = family(name)
    whole = compute(one)
    for size, complete in ((1000, False), (1 << 16, False), (77, True)):
        other = compute(chunked(one, size), complete=complete)
        assert (other.cases, other.sha256) == (whole.cases, whole.sha256)


def test_every_seventh_answer_is_compared_or_all(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []
    monkeypatch.setattr(level2, "compare", lambda *args: compared.extend(args[4].ravel().tolist()))
    one = chunked(family("encode_scale.e8m0.f16.ocp"), 1001)
    assert compute(one).checked == (1 << 16) // 7 + 1
    assert compared == list(range(0, 1 << 16, 7))
    assert compute(one, complete=True).checked == 1 << 16


@pytest.mark.sampled(6)
def test_two_workers_find_what_one_finds() -> None:
    some = [*select("dequantize.mxfp4"), *select("encode.e2m1.f16")[:2]]
    assert [*compute_all(some, jobs=2)] == [*compute_all(some, jobs=1)]


def recorded() -> dict[str, dict[str, Any]]:
    entries = json.loads((VECTORS / "manifest.json").read_text("ascii"))["level2"]
    return {entry["name"]: entry for entry in entries}


def test_the_manifest_has_every_family() -> None:
    entries = list(recorded().values())
    assert [entry["name"] for entry in entries] == [one.name for one in families()]
    for entry, one in zip(entries, families(), strict=True):
        shape = (entry["op"], entry["format"], entry["float"], entry["policy"], entry["inputs"])
        assert shape == (one.op, one.format, one.float, one.policy, one.inputs)
        assert list(entry) == KEYS


# That all families are as recorded is what `.ci/run` shows: it checks level 2 completely.


# --- a wrong reference is found -------------------------------------------------------------------


@pytest.mark.sampled(3)
def test_a_difference_between_the_references_is_printed_as_a_case(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = Encode.fast

    def wrong(*arguments: Any) -> Any:
        answers = right(*arguments)
        answers[0x4500] ^= 1  # float16 5.0
        return answers

    monkeypatch.setattr(Encode, "fast", wrong)
    text = r"disagree on encode e2m1 f16 under ocp: in 4500, slow 06, fast 07$"
    with pytest.raises(DisagreementError, match=text):
        compute(family("encode.e2m1.f16.ocp"), complete=True)
    # It is not one of every seventh, but the digest is another.
    other = compute(family("encode.e2m1.f16.ocp"))
    assert other.sha256 != recorded()["encode.e2m1.f16.ocp"]["sha256"]


# --- the command ----------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    version = json.loads((VECTORS / "manifest.json").read_bytes())["mxref_vectors"]
    files = [{"file": "a.txt", "sha256": "0", "cases": 1}]
    manifest = {"mxref_vectors": version, "spec": "OCP MX v1.0", "files": files}
    (tmp_path / "manifest.json").write_bytes(store.manifest_bytes(manifest))
    return tmp_path


@pytest.mark.sampled(6)
def test_regen_level_2_writes_and_checks_digests(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def regen(*words: str) -> int:
        return main(["regen", "--jobs", "1", "--level", "2", "--out", str(folder), *words])

    four = ("--only", "dequantize.mxfp4_e2m1.")
    assert regen(*four, "--check") == 1
    assert capsys.readouterr().out.endswith("4 differ from the manifest\n")
    assert regen(*four) == 0
    assert capsys.readouterr().out.endswith(f"the manifest of {folder} has changed\n")
    known = recorded()
    names = [f"dequantize.mxfp4_e2m1.{float}.ocp" for float in ("f32", "f16", "bf16", "f64")]
    entries = store.read_level2(folder)
    assert entries == [known[name] for name in names]
    assert regen(*four, "--check") == 0
    # One more family keeps the others.
    assert regen("--only", "encode_scale.e8m0.f16.ocp") == 0
    assert {entry["name"] for entry in store.read_level2(folder)} > {*names}
    entries[1]["sha256"] = "0" * 64
    store.write_level2(folder, entries)
    capsys.readouterr()
    assert regen(*four, "--check", "--complete") == 1
    wrong = f"{names[1]} is not what the manifest of {folder} says\n"
    assert wrong in capsys.readouterr().out


def test_writing_level_1_keeps_level_2(folder: Path) -> None:
    store.write_level2(folder, [{"name": "n", "sha256": "1"}])
    manifest = json.loads((folder / "manifest.json").read_bytes())
    manifest.pop("level2")
    manifest["files"][0]["sha256"] = "2"
    texts = {"a.txt": b"2\n", "manifest.json": store.manifest_bytes(manifest)}
    assert store.write(folder, texts) == 2
    assert store.read_level2(folder) == [{"name": "n", "sha256": "1"}]
    assert store.check(folder, texts) == []
    assert store.write(folder, texts) == 0
