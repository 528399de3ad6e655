"""Questions about linear layers: which operands they quantize along which axis, and how.

One operand has a single 1 in each row or column that is read, so that every output is one number of
the other operand as it was quantized: no order of additions changes it.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F16, FloatLayout
from mxref.conformance.identification.pools import Maker, Pool, Words
from mxref.conformance.identification.setting import OF_LAYERS, Setting
from mxref.formats.catalog import block_format
from mxref.operands.splitmix import splitmix64
from mxref.operands.word_rows import NO_WORD, padded, stripped
from mxref.operations.registry import LAYER_OPERATIONS
from mxref.policy.choices import Activations, BackwardOperands, WeightAxis
from mxref.policy.policy import Policy

__all__ = ["layer_pools", "layer_predictions", "products_alone"]

Array = NDArray[np.float64]
#: Rows of the sequences of gradients, of which two take more than a block, and one in each.
_ROWS, _FIRST, _SECOND = 20, 0, 25
#: Blocks of different largest numbers, the numbers of each that are not zero, and their lanes.
_BLOCKS, _FILLED, _SIZE = 32, 4, 32


def layer_pools(setting: Setting) -> tuple[Maker, ...]:
    """Operands and axes first, then scales and rounding of an operand that is quantized."""
    layout, own = setting.layout, tuple(one for one in setting.choices if one in OF_LAYERS)
    is_forward = "weight_axis" in own
    operands = (_linear_operands if is_forward else _gradient_operands)(setting)
    first = Pool("operands", own, padded(operands), range(len(operands)))

    def scales(found: Policy) -> Pool:
        numbers = _numbers(setting)
        words = _linear_scales if is_forward else _gradient_scales
        rest = [name for name in setting.choices if name not in own]
        return Pool("scales", tuple(rest), padded([words(numbers, found, layout)]), [0])

    return (lambda _: first), scales


def layer_predictions(setting: Setting, words: Words, policy: Policy) -> Words:
    """The answers of a policy, one a row; they are kept, as they are asked for again."""
    names = setting.op, setting.format, setting.float
    return padded([_answer(*names, stripped(row), str(policy)) for row in words])


@functools.lru_cache(maxsize=1 << 12)
def _answer(op: str, format: str, float: str, words: tuple[int, ...], policy: str) -> Words:
    from mxref.operations.layers import fast_layer

    return fast_layer(op, format, float, words, policy)


def products_alone(setting: Setting, answers: Words, words: Words) -> Words:
    """Answers without results that are sums of many numbers in any order, as that of the bias."""
    from mxref.operations.layers import layer_parts

    found, products = answers.copy(), LAYER_OPERATIONS[setting.op].products
    for answer, asked in zip(found, words, strict=True):
        sizes = [size for _, size in layer_parts(setting.op, stripped(asked))]
        answer[sum(sizes[:products]) : sum(sizes)] = np.uint64(NO_WORD)
    return found


def _linear_operands(setting: Setting) -> list[tuple[int, ...]]:
    large, small = _far_apart(setting)
    x = np.zeros((1, _SIZE))
    x[0, :2] = 1 + 2.0**-7, 0.5
    weight = np.full((_SIZE, _SIZE), small)
    weight[0, 0] = large
    both = [(x, np.eye(_SIZE)), (np.eye(_SIZE)[:2], weight)]
    return [_linear(*pair, setting.layout) for pair in both]


def _gradient_operands(setting: Setting) -> list[tuple[int, ...]]:
    large, small = _far_apart(setting)
    one_hot = np.zeros((2 * _ROWS, 2))
    one_hot[_SECOND, 0] = one_hot[_FIRST, 1] = 1
    x, w = np.full((2 * _ROWS, 2), small), np.full((2, 2), small)
    x[0, 0] = w[0, 0] = large
    both = [(x, w, one_hot), (one_hot, np.eye(2), x)]
    return [_gradients(*three, 2, setting.layout) for three in both]


def _far_apart(setting: Setting) -> tuple[float, float]:
    """Two numbers of which a block with the larger one changes the smaller one."""
    reach = 15 if setting.layout == F16 and setting.format == "mxfp8_e5m2" else 12
    reach = reach if setting.layout == F16 else 24
    return 2.0**reach, 1.25 * 2.0**-reach


def _numbers(setting: Setting) -> Array:
    """Blocks of different largest numbers; one number of each is ordinary, two are subnormal.

    Subnormal elements, and those that saturate, tell scales apart. The largest number is in another
    lane of each block, and negative in every other one.
    """
    layout, fmt = setting.layout, block_format(setting.format).element
    words = splitmix64(1, _BLOCKS * _FILLED).reshape(_BLOCKS, _FILLED)
    bits = (words & np.uint64(0x7F)).astype(np.float64) / 128 + 1
    step = (words >> np.uint64(32)).astype(np.int64) % (fmt.mantissa_bits + 2)
    powers = step + np.array([0, 1, *[fmt.emax - fmt.emin] * 2])
    numbers = np.zeros((_BLOCKS, _SIZE))
    numbers[:, :_FILLED] = np.ldexp(bits, -powers) * np.where(words >> np.uint64(63), -1.0, 1.0)
    numbers[:, 0] = 1 + np.arange(_BLOCKS) / _BLOCKS
    numbers[-1, 0] = 2 - 2.0**-7
    if layout.mantissa_bits > F16.mantissa_bits:  # rules that take a logarithm in float32
        numbers[-2, 0] = 2 - 2.0**-23
    numbers[1::2, 0] *= -1
    lanes = (np.arange(_SIZE) - np.arange(_BLOCKS)[:, np.newaxis]) % _SIZE
    placed: Array = np.take_along_axis(numbers, lanes, 1)
    return placed * 2.0**14 if layout == F16 else placed


def _linear_scales(numbers: Array, found: Policy, layout: FloatLayout) -> tuple[int, ...]:
    products = found.products
    if products.activations is Activations.QUANTIZED:
        return _linear(numbers, np.eye(_SIZE), layout)
    if products.weight_axis is WeightAxis.IN:
        return _linear(np.eye(_SIZE), numbers, layout)
    return _linear(np.eye(_BLOCKS), numbers.T, layout)


def _gradient_scales(numbers: Array, found: Policy, layout: FloatLayout) -> tuple[int, ...]:
    reused = found.products.backward_operands is BackwardOperands.REUSED
    w = numbers if reused else numbers.T
    return _gradients(np.zeros((len(w), w.shape[1])), w, np.eye(len(w)), 1, layout)


def _linear(x: Array, w: Array, layout: FloatLayout) -> tuple[int, ...]:
    return (1, *x.shape, len(w), 0, *_bits(x, layout), *_bits(w, layout))


def _gradients(
    x: Array, w: Array, g: Array, sequences: int, layout: FloatLayout
) -> tuple[int, ...]:
    first = sequences, len(x) // sequences, x.shape[1], len(w)
    return (*first, *(word for part in (x, w, g) for word in _bits(part, layout)))


def _bits(array: Array, layout: FloatLayout) -> list[int]:
    bits: list[int] = array.astype(layout.dtype).view(layout.uint).reshape(-1).tolist()
    return bits
