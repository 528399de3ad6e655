"""Words of dot products and of linear layers."""

from __future__ import annotations

import pytest

from mxref.operations.layers import layer_of, layer_sizes
from mxref.operations.product_words import operands, pair_formats


@pytest.mark.parametrize("k", [1, 2, 31, 32, 33, 63, 64, 65, 96, 1024])
def test_the_number_of_words_tells_the_length(k: int) -> None:
    blocks = -(-k // 32)
    words = range(2 * (k + blocks))
    a, b = operands(words)
    assert (len(a.scales), len(a.codes), len(b.scales), len(b.codes)) == (blocks, k, blocks, k)
    assert [*a.words, *b.words] == [*words]


@pytest.mark.parametrize("count", [0, 2, 3, 5, 68])
def test_other_numbers_of_words_are_refused(count: int) -> None:
    with pytest.raises(ValueError, match=r"^a dot product must have two operands of equal length"):
        operands(range(count))


def test_other_pairs_are_refused() -> None:
    assert [fmt.name for fmt in pair_formats("mxint8-mxfp4_e2m1")] == ["mxint8", "mxfp4_e2m1"]
    for name in ("mxint8", "mxint8-e2m1", "mxint8-mxint8-mxint8"):
        with pytest.raises(ValueError, match=r"^format must be two MX formats"):
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
