"""The slow twin's linear layer, by hand."""

from __future__ import annotations

from mxref.exact.linear import linear


def test_the_bias_is_rounded_and_added_to_each_row() -> None:
    """3 and 6 plus 1 and -0.5; -2**-30 is -0 as a float16, and stays so with a bias of -0."""
    one, two, three = 0x3F800000, 0x40000000, 0x40400000
    y = linear([[one], [two]], [[three], [three]], "f32", "e2m1", bias=[one, 0xBF000000])
    assert y == [[0x40800000, 0x40200000], [0x40E00000, 0x40B00000]]
    tiny = linear([[0xB0800000]], [[one], [one]], "f32", "e2m1", "f16", bias=[1 << 31, 0])
    assert tiny == [[1 << 15, 0]]


def test_blocks_of_weights_along_either_axis() -> None:
    """1 * 64 + 2 * 1: beside 64, under the scale 2**4, 1 becomes 0; it has a scale of its own."""
    for weight_axis, want in (("in", 0x42800000), ("out", 0x42840000)):
        x, w = [[0x3F800000, 0x40000000]], [[0x42800000, 0x3F800000]]
        assert linear(x, w, "f32", "e2m1", weight_axis=weight_axis) == [[want]]
