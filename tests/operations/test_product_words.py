"""Words of dot products and of linear layers."""

from __future__ import annotations

import pytest

from mxref.operations.layers import layer_of, layer_sizes
from mxref.operations.product_words import operands, pair_formats

E4M3 = "mxfp8_e4m3-mxfp8_e4m3"


@pytest.mark.parametrize("pair", [E4M3, "fp4_e8m0-fp4_e8m0", "nvfp4-nvfp4", "fp4_ue4m3-nvfp4"])
@pytest.mark.parametrize("k", [1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 96, 1024])
def test_the_number_of_words_tells_the_length(k: int, pair: str) -> None:
    blocks = -(-k // (32 if pair == E4M3 else 16))
    tensors = [name == "nvfp4" for name in pair.split("-")]
    words = range(2 * (k + blocks) + sum(tensors))
    a, b = operands(words, pair)
    assert (len(a.scales), len(a.codes), len(b.scales), len(b.codes)) == (blocks, k, blocks, k)
    assert [a.tensor is not None, b.tensor is not None] == tensors
    assert [*a.words, *b.words] == [*words]


@pytest.mark.parametrize("count", [0, 2, 3, 5, 68])
def test_other_numbers_of_words_are_refused(count: int) -> None:
    with pytest.raises(ValueError, match=r"^a dot product must have two operands of equal length"):
        operands(range(count), E4M3)


@pytest.mark.parametrize("count", [0, 2, 3, 4, 5, 7, 38])
def test_other_numbers_of_words_with_scales_of_tensors_are_refused(count: int) -> None:
    with pytest.raises(ValueError, match=r"a scale for every 16 elements, got "):
        operands(range(count), "nvfp4-nvfp4")


def test_other_pairs_are_refused() -> None:
    assert [fmt.name for fmt in pair_formats("mxint8-mxfp4_e2m1")] == ["mxint8", "mxfp4_e2m1"]
    assert [fmt.name for fmt in pair_formats("nvfp4-fp4_e8m0")] == ["nvfp4", "fp4_e8m0"]
    others = ("mxint8-nvfp4", "nvfp4_16x16-nvfp4_16x16")
    for name in ("mxint8", "mxint8-e2m1", "mxint8-mxint8-mxint8", *others):
        with pytest.raises(ValueError, match=r"^format must be two formats of blocks of one size"):
            pair_formats(name)


def test_layers() -> None:
    words = (2, 1, 3, 2, 1, *range(6), *range(10, 16), 20, 21)
    assert layer_sizes("linear", words) == (len(words), 4)
    layer = layer_of("linear", words)
    assert layer.x.shape == (2, 1, 3)
    assert layer.w.tolist() == [[10, 11, 12], [13, 14, 15]]
    assert layer.more is not None
    assert layer.more.tolist() == [20, 21]
    words = (2, 1, 3, 2, *range(6), *range(10, 16), 20, 21, 22, 23)
    assert layer_sizes("linear_gradients", words) == (len(words), 14)
    layer = layer_of("linear_gradients", words)
    assert layer.more is not None
    assert layer.more.tolist() == [[[20, 21]], [[22, 23]]]
    with pytest.raises(ValueError, match=r"^linear must have more words in than 4"):
        layer_sizes("linear", (1, 1, 1, 1))
