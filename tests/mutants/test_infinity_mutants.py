"""Infinities in blocks: the vectors fail every wrong treatment, whatever convention is claimed."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import VECTORS, vector_file

import mxref
from mxref.bits.floats import LAYOUTS
from mxref.blocks.quantization import quantize
from mxref.cases.random_blocks import random_blocks
from mxref.conformance import target_of, verify
from mxref.conformance.compare.compare import same_answers
from mxref.conformance.score import score
from mxref.formats.catalog import BLOCK_FORMATS
from mxref.golden import VectorFile, read_vectors
from mxref.mutants import MUTANTS
from mxref.mutants.infinity_mutants import CHANGES, spoiled
from mxref.profiles import PROFILES
from mxref.targets.profile_target import profile_target

Array = np.ndarray[Any, Any]
MODELLED = [
    (name, format)
    for name, profile in PROFILES.items()
    for format in BLOCK_FORMATS
    if profile.speaks_of("quantize", format)
]


@functools.cache
def searched(format: str, float: str) -> Array:
    """Blocks of two infinities and of numbers of the upper binades."""
    layout = LAYOUTS[float]
    blocks = random_blocks("probes", layout, BLOCK_FORMATS[format].element, 256, specials=False)
    most = np.uint64((1 << layout.exponent_bits) - 2)
    fields = most - (blocks >> np.uint64(layout.mantissa_bits)) % np.uint64(24)
    fraction = blocks & np.uint64((1 << layout.mantissa_bits) - 1)
    signs = blocks & np.uint64(layout.sign_bit)
    found = signs | fields << np.uint64(layout.mantissa_bits) | fraction
    found[np.arange(256), np.arange(256) % 32] = layout.inf_bits | layout.sign_bit
    found[np.arange(256), np.arange(256) * 7 % 31] = layout.inf_bits
    return found


def wrong_rows(name: str, format: str, change: Any, inputs: Array, asked: VectorFile) -> Array:
    """The rows in which a bug over a profile differs from the profile."""
    own = profile_target(PROFILES[name]).ask(asked, inputs)
    answered = np.ones(len(inputs), bool)
    answered[[*own.errors]] = False
    right, inputs = own.words[answered], inputs[answered]
    layout = LAYOUTS[asked.float]
    values = inputs.astype(layout.uint).view(layout.dtype)

    def blind(rows: Array) -> tuple[Array, Array]:
        blocks = quantize(rows, format, block_inf="ignore")
        return blocks.scale_codes[:, 0], blocks.codes

    pair = right[:, :1].astype(np.uint8), right[:, 1:].astype(np.uint8)
    scales, codes = spoiled(change, values, pair, format, blind)
    words = np.concatenate([scales, codes], axis=1).astype(np.uint64)
    return ~same_answers(asked, right, words).all(axis=1)


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("name", "format"), MODELLED)
def test_no_profile_is_passed_by_a_wrong_kernel(name: str, format: str) -> None:
    """What is wrong in a search of blocks with infinities is wrong in the vectors."""
    floats = PROFILES[name].floats or tuple(LAYOUTS)
    float = "f32" if "f32" in floats else floats[0]
    asked = vector_file(f"quantize/{format}.{float}")
    for title, _, change in CHANGES.values():
        found = wrong_rows(name, format, change, searched(format, float), asked).any()
        if found:
            assert wrong_rows(name, format, change, asked.input_words(), asked).any(), title


def test_a_bug_over_transformer_engine_is_wrong_in_the_vectors() -> None:
    """Not by the search alone: finite elements beside an infinity become zeros."""
    asked = vector_file("quantize/mxfp8_e4m3.f32")
    zero = CHANGES["a"][2]
    wrong = wrong_rows("transformer_engine_mxfp8", "mxfp8_e4m3", zero, asked.input_words(), asked)
    names = {asked.cases[i].id.rpartition(".")[2] for i in np.flatnonzero(wrong)}
    assert {"inf_fe_first", "inf_fe_negative", "inf_fe_several", "inf_fe_nan"} <= names
    assert all(name.startswith("inf_") for name in names)  # nothing else shows it


def reciprocal(values: Array, format: str) -> tuple[Array, Array]:
    """TransformerEngine 2.9: the reciprocal of 00 is 1, that of FE is 0."""
    policy = "ocp+scale_rule=rceil_reciprocal+block_nan=ignore+block_inf=largest_scale"
    scales = mxref.quantize(values, format, policy).scale_codes[:, 0]
    fields = np.where(scales == 0, 127, 254 - scales.astype(np.int64)) & 0x1FF
    with np.errstate(all="ignore"):
        inverse = (fields.astype(np.uint32) << np.uint32(23)).view(np.float32)
        quotients = values.astype(np.float32) * inverse[:, np.newaxis]
    return scales, mxref.encode(quotients, BLOCK_FORMATS[format].element)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("profile", [None, "transformer_engine_mxfp8"])
def test_the_reciprocal_of_fe_is_named_as_the_cause(profile: str | None) -> None:
    kernel = SimpleNamespace(quantize=reciprocal, FORMATS=["mxfp8_e4m3"], FLOATS=["f32", "bf16"])
    asked = [vector_file(f"quantize/mxfp8_e4m3.{float}") for float in kernel.FLOATS]
    own = PROFILES[profile] if profile else None
    report = verify(target_of(kernel, "kernel"), asked, profile=own)
    (row,) = report.rows
    assert [cause.name for cause in row.causes][:1] == ["C22iq"]
    assert "NVIDIA/TransformerEngine#2408" in row.causes[0].seen


@pytest.mark.sampled(4)
@pytest.mark.parametrize("format", [*BLOCK_FORMATS, "fp4_ue4m3", "nvfp4"])
def test_every_bug_is_caught_in_every_operation(format: str) -> None:
    mutants = [mutant for mutant in MUTANTS if mutant.group == "C22"]
    files = read_vectors(VECTORS, lambda stem: stem.startswith("quantize") and format in stem)
    cells = list(score(list(files), mutants))
    assert len(cells) > 5
    assert not [(cell.mutant.id, cell.file) for cell in cells if cell.fails]
