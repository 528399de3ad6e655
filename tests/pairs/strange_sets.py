"""Sets of two and three faults, drawn from all that have different stages.

`PAIRS` and `TRIPLES` are what `draw` gives with `SEED`; prove_strange.py draws them anew.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import combinations

import numpy as np
from right_kernel import MX
from strange_faults import FAULTS

SEED = 20261128
Set = tuple[str, str, str, tuple[str, ...]]

_QUANTIZE = [("quantize", MX[i % 6]) for i in range(60)]
_OTHERS = [
    ("encode", "mxfp8_e4m3"), ("encode", "mxfp6_e2m3"), ("encode", "mxfp4_e2m1"),
    ("encode", "mxfp8_e5m2"), ("dequantize", "mxfp8_e4m3"), ("dequantize", "mxfp8_e5m2"),
    ("dequantize", "mxfp6_e3m2"), ("dequantize", "mxint8"), ("quantize", "nvfp4"),
    ("quantize", "nvfp4"), ("quantize_tensor", "mxfp4_e2m1"), ("quantize_tensor", "mxfp8_e4m3"),
    ("matmul", "mxfp8_e4m3"), ("matmul", "mxfp4_e2m1"), ("matmul", "mxint8"),
]  # fmt: skip
SLOTS = {
    2: [*_QUANTIZE[:45], *_OTHERS],
    3: [*_QUANTIZE[45:56], *_OTHERS[3:5], ("quantize", "nvfp4"), ("quantize_tensor", "mxint8")],
}
_OWN = {"quantize_tensor": ("axis", "scale_matrix", "tail")}


def possible(operation: str, block_format: str, size: int) -> Iterable[tuple[str, ...]]:
    """All sets of faults of different stages; of a tensor one fault at least is its own."""
    names = [
        one.name
        for one in FAULTS.values()
        if operation in one.operations and block_format in one.formats
    ]
    for faults in combinations(names, size):
        stages = [FAULTS[name].stage for name in faults]
        own = _OWN.get(operation)
        if len(set(stages)) == size and (own is None or any(stage in own for stage in stages)):
            yield faults


def draw(
    visible: Callable[[tuple[str, ...], str, str], bool],
) -> tuple[tuple[Set, ...], tuple[Set, ...]]:
    """For each slot a set that is new and in which no fault is hidden.

    It is the first in a random order, where sets of faults that were drawn seldom go first.
    """
    rng, used = np.random.default_rng(SEED), Counter[str]()
    drawn: dict[int, list[Set]] = {2: [], 3: []}
    for size, slots in SLOTS.items():
        for number, (operation, name) in enumerate(slots, 1):
            every = list(possible(operation, name, size))
            taken = {one[3] for one in drawn[size] if one[1:3] == (operation, name)}
            order = [every[i] for i in rng.permutation(len(every))]
            for faults in sorted(order, key=lambda some: sorted(used[one] for one in some)[::-1]):
                if faults not in taken and visible(faults, name, operation):
                    break
            else:
                raise ValueError(f"no set is left for {operation} of {name}")
            used.update(faults)
            drawn[size].append((f"{'PT'[size - 2]}{number:02}", operation, name, faults))
    return tuple(drawn[2]), tuple(drawn[3])


PAIRS: tuple[Set, ...] = (
    ("P01", "quantize", "mxfp8_e5m2", ("negative_lane_0", "code_runs_on")),
    ("P02", "quantize", "mxfp8_e4m3", ("logarithm_toward_zero", "subnormal_cut")),
    ("P03", "quantize", "mxfp6_e3m2", ("odd_lanes_in_float16", "clamp_drops_sign")),
    ("P04", "quantize", "mxfp6_e2m3", ("reciprocal_in_float16", "carry_lost")),
    ("P05", "quantize", "mxfp4_e2m1", ("epsilon", "nan_in_first_of_four")),
    ("P06", "quantize", "mxint8", ("negative_infinity", "never_negative_zero")),
    ("P07", "quantize", "mxfp8_e5m2", ("odd_of_last_quarter", "sign_by_comparison")),
    ("P08", "quantize", "mxfp8_e4m3", ("emax_of_sibling", "half_up")),
    ("P09", "quantize", "mxfp6_e3m2", ("two_blocks", "top_exponent_reserved")),
    ("P10", "quantize", "mxfp6_e2m3", ("exponent_rounded", "sign_of_neighbour")),
    ("P11", "quantize", "mxfp4_e2m1", ("last_lane_next_scale", "scales_exchanged")),
    ("P12", "quantize", "mxint8", ("max_before_abs", "middle_quarters")),
    ("P13", "quantize", "mxfp8_e5m2", ("wrong_in_a_range", "three_bit_shifter")),
    ("P14", "quantize", "mxfp8_e4m3", ("first_half_warp", "strictly_above_power")),
    ("P15", "quantize", "mxfp6_e3m2", ("signed_byte", "short_sticky")),
    ("P16", "quantize", "mxfp6_e2m3", ("huge_is_infinite", "quotient_cut_to_bfloat16")),
    ("P17", "quantize", "mxfp4_e2m1", ("tiny_block", "carry_lost")),
    ("P18", "quantize", "mxint8", ("tiny_block", "code_runs_on")),
    ("P19", "quantize", "mxfp8_e5m2", ("subnormal_cut", "sign_of_neighbour")),
    ("P20", "quantize", "mxfp8_e4m3", ("negative_lane_0", "half_up")),
    ("P21", "quantize", "mxfp6_e3m2", ("reciprocal_in_float16", "short_sticky")),
    ("P22", "quantize", "mxfp6_e2m3", ("first_half_warp", "emax_of_sibling")),
    ("P23", "quantize", "mxfp4_e2m1", ("huge_is_infinite", "clamp_drops_sign")),
    ("P24", "quantize", "mxint8", ("two_blocks", "middle_quarters")),
    ("P25", "quantize", "mxfp8_e5m2", ("signed_byte", "never_negative_zero")),
    ("P26", "quantize", "mxfp8_e4m3", ("nan_in_first_of_four", "three_bit_shifter")),
    ("P27", "quantize", "mxfp6_e3m2", ("epsilon", "wrong_in_a_range")),
    ("P28", "quantize", "mxfp6_e2m3", ("exponent_rounded", "odd_lanes_in_float16")),
    ("P29", "quantize", "mxfp4_e2m1", ("max_before_abs", "last_lane_next_scale")),
    ("P30", "quantize", "mxint8", ("odd_of_last_quarter", "scales_exchanged")),
    ("P31", "quantize", "mxfp8_e5m2", ("negative_infinity", "quotient_cut_to_bfloat16")),
    ("P32", "quantize", "mxfp8_e4m3", ("strictly_above_power", "top_exponent_reserved")),
    ("P33", "quantize", "mxfp6_e3m2", ("logarithm_toward_zero", "sign_by_comparison")),
    ("P34", "quantize", "mxfp6_e2m3", ("reciprocal_in_float16", "middle_quarters")),
    ("P35", "quantize", "mxfp4_e2m1", ("huge_is_infinite", "subnormal_cut")),
    ("P36", "quantize", "mxint8", ("max_before_abs", "strictly_above_power")),
    ("P37", "quantize", "mxfp8_e5m2", ("three_bit_shifter", "sign_by_comparison")),
    ("P38", "quantize", "mxfp8_e4m3", ("two_blocks", "wrong_in_a_range")),
    ("P39", "quantize", "mxfp6_e3m2", ("top_exponent_reserved", "scales_exchanged")),
    ("P40", "quantize", "mxfp6_e2m3", ("tiny_block", "short_sticky")),
    ("P41", "quantize", "mxfp4_e2m1", ("negative_lane_0", "code_runs_on")),
    ("P42", "quantize", "mxint8", ("signed_byte", "negative_infinity")),
    ("P43", "quantize", "mxfp8_e5m2", ("epsilon", "nan_in_first_of_four")),
    ("P44", "quantize", "mxfp8_e4m3", ("clamp_drops_sign", "never_negative_zero")),
    ("P45", "quantize", "mxfp6_e3m2", ("first_half_warp", "half_up")),
    ("P46", "encode", "mxfp8_e4m3", ("clamp_swallows_nan", "carry_lost")),
    ("P47", "encode", "mxfp6_e2m3", ("cut_on_the_way", "half_up")),
    ("P48", "encode", "mxfp4_e2m1", ("clamp_swallows_nan", "never_negative_zero")),
    ("P49", "encode", "mxfp8_e5m2", ("cut_on_the_way", "clamp_drops_sign")),
    ("P50", "dequantize", "mxfp8_e4m3", ("top_exponent_as_numbers", "second_half_next_scale")),
    ("P51", "dequantize", "mxfp8_e5m2", ("scale_00_doubled", "products_flushed")),
    ("P52", "dequantize", "mxfp6_e3m2", ("subnormal_with_one", "output_by_float16")),
    ("P53", "dequantize", "mxint8", ("ones_complement", "pairs_exchanged")),
    ("P54", "quantize", "nvfp4", ("tensor_scale_in_bfloat16", "block_scale_cut")),
    ("P55", "quantize", "nvfp4", ("tensor_scale_forgotten", "block_scale_normal")),
    ("P56", "quantize_tensor", "mxfp4_e2m1", ("scales_by_columns", "tail_one_short")),
    ("P57", "quantize_tensor", "mxfp8_e4m3", ("square_not_turned", "tail_repeated")),
    ("P58", "matmul", "mxfp8_e4m3", ("scale_in_float16", "sum_in_bfloat16")),
    ("P59", "matmul", "mxfp4_e2m1", ("scales_of_first_row", "scale_product_clamped")),
    ("P60", "matmul", "mxint8", ("scales_of_first_row", "odd_block_lost")),
)
TRIPLES: tuple[Set, ...] = (
    (
        "T01",
        "quantize",
        "mxfp6_e2m3",
        ("emax_of_sibling", "last_lane_next_scale", "sign_of_neighbour"),
    ),
    (
        "T02",
        "quantize",
        "mxfp4_e2m1",
        ("odd_of_last_quarter", "exponent_rounded", "quotient_cut_to_bfloat16"),
    ),
    ("T03", "quantize", "mxint8", ("logarithm_toward_zero", "odd_lanes_in_float16", "carry_lost")),
    (
        "T04",
        "quantize",
        "mxfp8_e5m2",
        ("odd_of_last_quarter", "emax_of_sibling", "middle_quarters"),
    ),
    (
        "T05",
        "quantize",
        "mxfp8_e4m3",
        ("first_half_warp", "nan_in_first_of_four", "sign_of_neighbour"),
    ),
    (
        "T06",
        "quantize",
        "mxfp6_e3m2",
        ("tiny_block", "quotient_cut_to_bfloat16", "scales_exchanged"),
    ),
    (
        "T07",
        "quantize",
        "mxfp6_e2m3",
        ("exponent_rounded", "subnormal_cut", "top_exponent_reserved"),
    ),
    (
        "T08",
        "quantize",
        "mxfp4_e2m1",
        ("strictly_above_power", "last_lane_next_scale", "code_runs_on"),
    ),
    ("T09", "quantize", "mxint8", ("epsilon", "signed_byte", "odd_lanes_in_float16")),
    ("T10", "quantize", "mxfp8_e5m2", ("two_blocks", "short_sticky", "sign_by_comparison")),
    (
        "T11",
        "quantize",
        "mxfp8_e4m3",
        ("negative_lane_0", "huge_is_infinite", "reciprocal_in_float16"),
    ),
    ("T12", "encode", "mxfp8_e5m2", ("cut_on_the_way", "carry_lost", "sign_by_comparison")),
    (
        "T13",
        "dequantize",
        "mxfp8_e4m3",
        ("scale_00_doubled", "top_exponent_as_numbers", "pairs_exchanged"),
    ),
    ("T14", "quantize", "nvfp4", ("max_before_abs", "tensor_scale_in_bfloat16", "block_scale_cut")),
    (
        "T15",
        "quantize_tensor",
        "mxint8",
        ("square_not_turned", "scales_by_columns", "tail_one_short"),
    ),
)
