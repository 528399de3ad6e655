"""The sides of other libraries, and what is said of their results."""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench_helpers import SHAPE, peer, rows_beside, take_no_time
from benchmark.jobs import DATA, Job, Side, bits_of_array, own, values_of
from benchmark.peers import PEERS
from benchmark.rows import beside, cells, report

import mxref

no_time = pytest.fixture(take_no_time)


@pytest.mark.usefixtures("no_time")
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("name", ["ml_dtypes", "gfloat", "gguf"])
def test_a_peer_does_what_mxref_does_or_what_its_profile_does(name: str, data: str) -> None:
    found = rows_beside(name, data)
    for row in found:
        assert row.timing is not None, row.note
        if row.differing:
            assert row.note == f"as profile {PEERS[name].profiles[0]}", row
    if data == "normal" and name == "ml_dtypes":
        assert not any(row.differing for row in found)


def test_a_peer_measures_its_own_formats_only() -> None:
    job = Job("quantize", "mxfp4_e2m1", SHAPE)
    assert PEERS["gguf"].measures(job)
    for change in (
        {"float": "bf16"},
        {"format": "mxint8"},
        {"choices": {"rounding": "to_odd"}},
        {"choices": {"scale_rule": "even"}},
    ):
        assert not PEERS["gguf"].measures(dataclasses.replace(job, **change)), change  # type: ignore[arg-type]
    assert PEERS["torchao"].measures(dataclasses.replace(job, choices={"scale_rule": "even"}))


@pytest.mark.usefixtures("no_time")
def test_other_codes_are_counted() -> None:
    def wrong(job: Job) -> Side:
        def call() -> Any:
            codes = mxref.encode(values_of(job), job.format).copy()
            codes[1, [3, 7]] ^= 1
            return codes

        return Side(call, bits_of_array)

    row = beside(Job("encode", "e4m3", SHAPE), peer(wrong), 0)
    assert (row.differing, row.note) == (2, "")
    assert cells(row)[-1] == "2 differ"
    assert report([row])["rows"][0]["differing"] == 2


@pytest.mark.usefixtures("no_time")
def test_other_codes_may_be_those_of_the_profile() -> None:
    def as_gguf(job: Job) -> Side:
        return own(job, mxref.profile("gguf_mxfp4"))

    job = Job("quantize", "mxfp4_e2m1", SHAPE)
    row = beside(job, peer(as_gguf, profiles=("gguf_mxfp4",)), 0)
    assert row.differing is not None
    assert row.differing > 0
    assert cells(row)[-1] == f"{row.differing} differ, as profile gguf_mxfp4"
    row = beside(job, peer(as_gguf, profiles=("torchao_0_18_{rule}",)), 0)
    assert (row.differing, row.note) == (row.differing, "")


@pytest.mark.usefixtures("no_time")
def test_numbers_may_be_all_that_there_is() -> None:
    def numbers(change: int) -> Callable[[Job], Side]:
        def side(job: Job) -> Side:
            def values(blocks: Any) -> Any:
                found = blocks.dequantize().view(np.uint32)
                at = int(np.flatnonzero(found == 0)[0])
                found.reshape(-1)[at] ^= change
                return found.reshape(-1)

            return Side(lambda: mxref.quantize(values_of(job), job.format), None, values)

        return side

    job = Job("quantize", "mxint8", SHAPE)
    ours = peer(numbers(0), profiles=("torch", "ocp"))
    assert beside(job, ours, 0).differing == 0
    row = beside(job, dataclasses.replace(ours, side=numbers(1 << 31)), 0)
    assert (row.differing, row.note) == (1, "as profile ocp, but for signs of zeros")
    assert beside(job, dataclasses.replace(ours, side=numbers(1)), 0).note == ""


@pytest.mark.usefixtures("no_time")
def test_a_peer_that_fails_leaves_a_row() -> None:
    def broken(job: Job) -> Side:
        raise RuntimeError("no such\nkernel")

    job = Job("encode", "e4m3", SHAPE)
    row = beside(job, peer(broken), 0)
    assert row.timing is None
    assert cells(row)[4:] == ("other", *"------", "fails: RuntimeError: no such kernel")
    assert report([row])["rows"][0]["note"] == "fails: RuntimeError: no such kernel"

    def short(job: Job) -> Side:
        return Side(lambda: np.zeros(3, np.uint8), bits_of_array)

    assert beside(job, peer(short), 0).note == "fails: ValueError: 3 codes instead of 4096"


def test_what_is_absent_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert peer(own, module="no_such_library").absent == "pip install other==1.0"
    there = peer(own, checkout="MXREF_OTHER", needs="example.org/other at 1234")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    assert there.absent == "MXREF_OTHER must name a checkout of example.org/other at 1234"
    monkeypatch.setenv("MXREF_OTHER", str(tmp_path))
    assert (there.absent, there.version) == ("", "a checkout")
