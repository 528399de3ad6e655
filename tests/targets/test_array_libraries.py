"""Arrays of other libraries, by stand-ins for them; torch itself is put to the test in peers."""

from __future__ import annotations

import functools
import re
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers import run, sentence, vector_file
from json_tables import cases
from right_calls import RIGHT_CALLS

import mxref
from mxref.conformance import TargetError, target_of, verify
from mxref.formats.catalog import E4M3
from mxref.operands.returned import AnswerError, array_of, code_words, float_words
from mxref.targets.array_libraries import at_offset, host_array, library_of
from mxref.targets.calls import strided

BF16 = np.dtype(ml_dtypes.bfloat16)
HOST, GPU = (1, 0), (2, 3)


class OnHost:
    """DLPack and nothing else."""

    device = HOST

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


class OnGpu(OnHost):
    """Memory that nobody else can read, but that is copied to the host for who asks."""

    device = GPU

    def __dlpack__(self, *, dl_device: tuple[int, int] | None = None, **options: Any) -> Any:
        if dl_device != HOST:
            raise BufferError("the data stay on the GPU")
        return self.values.copy().__dlpack__()


class OldGpu(OnHost):
    """The same of a library that does not yet know `dl_device`."""

    device = GPU

    def __dlpack__(self) -> Any:
        raise BufferError("the data stay on the GPU")


class Got(OldGpu):
    """CuPy's way: no implicit copy, but `get`."""

    def __array__(self, *_: Any) -> Any:
        raise TypeError("implicit conversion to a NumPy array is not allowed")

    def get(self) -> np.ndarray:
        return self.values.copy()


class Numpys(Got):
    """JAX's way: a dtype of NumPy's or ml_dtypes', and an array for who asks."""

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.values.dtype

    def __array__(self, *_: Any) -> np.ndarray:
        return self.values.copy()

    get = None


@pytest.mark.parametrize("kind", [OnHost, OnGpu, Got, Numpys])
@pytest.mark.parametrize("order", range(4))
def test_arrays_of_any_library(kind: Callable[[np.ndarray], Any], order: int) -> None:
    values = np.arange(12, dtype=np.float32).reshape(3, 4) - 5
    values = values if order == 3 else strided(values, order, 99)
    found = host_array(kind(values))
    assert type(found) is np.ndarray
    assert (found.dtype, found.tolist()) == (np.float32, values.tolist())


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e8m0fnu"])
def test_dtypes_of_ml_dtypes(name: str) -> None:
    values = np.arange(256).astype(np.uint8).view(getattr(ml_dtypes, name))
    found = host_array(Numpys(values))
    assert (found.dtype, found.tobytes()) == (values.dtype, values.tobytes())


def test_what_cannot_be_copied_is_one_sentence() -> None:
    text = sentence(TypeError, lambda: host_array(OldGpu(np.zeros(2))))
    assert re.match(r"a \w+\.OldGpu cannot be copied to the host: ", text)
    assert "dl_device" in text
    with pytest.raises(AnswerError, match="cannot be copied to the host"):
        array_of(OldGpu(np.zeros(2)))


# A library with dtypes of its own, as torch is: `view` is the way to the bits.


class OwnDtype:
    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return f"ownlib.{self.name}"


class Own(OnHost):
    def __init__(self, values: np.ndarray, name: str) -> None:
        super().__init__(values)
        self.dtype = OwnDtype(name)

    def __dlpack__(self, **options: Any) -> Any:
        if self.values.dtype == BF16 or "float4" in str(self.dtype):
            raise BufferError("no such type in DLPack")
        return super().__dlpack__(**options)

    def view(self, dtype: str) -> Own:
        return Own(self.values.view(dtype), dtype)


@pytest.fixture
def ownlib(monkeypatch: pytest.MonkeyPatch) -> None:
    library: Any = ModuleType("ownlib")
    library.int8, library.uint8, library.int16 = "int8", "uint8", "int16"
    monkeypatch.setitem(sys.modules, "ownlib", library)
    monkeypatch.setattr(OwnDtype, "__module__", "ownlib")


@pytest.mark.usefixtures("ownlib")
def test_dtypes_that_dlpack_has_not() -> None:
    bits = np.arange(0, 1 << 16, 7, dtype=np.uint16)
    found = host_array(Own(bits.view(BF16)[::-1], "bfloat16"))
    assert (found.dtype, found.view(np.uint16).tolist()) == (BF16, bits[::-1].tolist())
    codes = np.arange(256, dtype=np.uint8)
    found = host_array(Own(codes, "float8_e4m3fn"))
    assert (found.dtype, found.tobytes()) == (ml_dtypes.float8_e4m3fn, codes.tobytes())
    found = host_array(Own(codes, "float4_e2m1fn_x2"))
    assert (found.dtype, found.tobytes()) == (np.uint8, codes.tobytes())


@pytest.mark.usefixtures("ownlib")
def test_answers_in_such_dtypes() -> None:
    codes = np.arange(256, dtype=np.uint8)
    words = code_words(Own(codes, "float8_e4m3fn"), (256,), E4M3)
    assert words.tolist() == codes.tolist()
    with pytest.raises(AnswerError, match="codes must come back as integers, got float8_e5m2"):
        code_words(Own(codes, "float8_e5m2"), (256,), E4M3)
    with pytest.raises(AnswerError, match="got float64"):  # E1M2 has no dtype of its own
        code_words(np.zeros(2), (2,), mxref.formats.code_format("e1m2"))
    layout = mxref.bits.floats.LAYOUTS["bf16"]
    words = float_words(Own(codes.view(BF16), "bfloat16"), (128,), layout)
    assert words.tolist() == codes.view(np.uint16).tolist()
    e2m1 = mxref.formats.ELEMENT_FORMATS["e2m1"]
    with pytest.raises(AnswerError, match=r"\(8,\), got \(4,\): one code to a byte, unpack it"):
        code_words(Own(codes[:4], "float4_e2m1fn_x2"), (8,), e2m1)


# What a target is given.


class Cupy(Got):
    """What the stand-in for CuPy makes, which functions must be given."""

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.values.dtype

    def __getitem__(self, key: slice) -> Cupy:
        return Cupy(self.values[key])

    def reshape(self, shape: tuple[int, ...], order: Any = "C") -> Cupy:
        return Cupy(self.values.reshape(shape, order=order))

    def set(self, values: np.ndarray) -> None:
        flags = self.values.flags
        assert flags.c_contiguous or flags.f_contiguous
        assert (values.dtype, values.shape) == (self.values.dtype, self.values.shape)
        self.values[...] = values


def device_empty(size: int, dtype: np.dtype[Any]) -> Cupy:
    """Memory as a device allocates it."""
    return Cupy(at_offset(np.empty(size, dtype), 0))


def device_copy(values: np.ndarray) -> Cupy:
    """A copy whose strides are NumPy's only if it is contiguous."""
    placed = device_empty(values.size, values.dtype)
    is_fortran = values.flags.f_contiguous and not values.flags.c_contiguous
    placed = placed.reshape(values.shape, "F" if is_fortran else "C")
    placed.set(values)
    return placed


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    library: Any = ModuleType("cupy")
    library.asarray, library.empty = device_copy, device_empty
    monkeypatch.setitem(sys.modules, "cupy", library)


@pytest.fixture
def jax(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """As JAX is by default: float64 becomes float32."""
    library: Any = ModuleType("jax")
    seen = SimpleNamespace(devices=[])

    def device_put(values: np.ndarray, device: str | None) -> Numpys:
        seen.devices.append(device)
        return Numpys(values.astype(np.float32) if values.dtype == np.float64 else values)

    library.device_put = device_put
    library.devices = lambda kind: {"tpu": ["tpu:0", "tpu:1"]}[kind]
    monkeypatch.setitem(sys.modules, "jax", library)
    return seen


#: A file of each kind of call.
FILES = (
    *("encode/e4m3.bf16", "decode/e2m1.f32", "encode_stochastic/e2m1.f32", "quantize/nvfp4.f32"),
    *("dequantize/nvfp4.f32", "dequantize/mxfp4_e2m1.bf16", "pack/e2m1.bytes"),
    *("unpack_scales/e8m0.tiles_128x4", "quantize_tensor/mxfp4_e2m1.f32"),
)
POLICIES = {
    "encode_stochastic": "ocp+rounding=stochastic_a",
    "unpack_scales": "ocp+scale_layout=tiles_128x4",
}


def taking(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy's arrays that is given CuPy's, each of which it may write to."""

    def call(*arguments: Any) -> Any:
        assert not any(isinstance(one, np.ndarray | np.generic) for one in arguments)
        arrays = [one for one in arguments if isinstance(one, Cupy)]
        assert arrays
        assert all(one.values.flags.writeable for one in arrays)
        found = function(*(one.values if isinstance(one, Cupy) else one for one in arguments))
        if isinstance(found, mxref.Blocks):
            return Cupy(found.scale_codes), Cupy(found.codes)
        return Cupy(found)

    return call


@pytest.mark.usefixtures("cupy")
@pytest.mark.parametrize("name", FILES)
def test_a_target_is_given_the_arrays_that_it_asks_for(name: str) -> None:
    file = vector_file(name)
    claims = {"ARRAYS": "cupy", "FORMATS": [file.format]}
    module = SimpleNamespace(**{file.op: taking(RIGHT_CALLS[file.op])}, **claims)
    policy = mxref.Policy.parse(POLICIES.get(file.op, "ocp"))
    report = verify(target_of(module, "taking"), [file], policy)
    assert (report.failures, report.verdict.split()[0]) == ([], "conforms")
    assert report.compared > 0


@pytest.mark.usefixtures("cupy")
def test_arrays_of_a_library_do_not_hide_a_bug() -> None:
    away = taking(functools.partial(mxref.encode, rounding="ties_to_away"))
    module = SimpleNamespace(encode=away, ARRAYS="cupy")
    report = verify(target_of(module, "away"), [vector_file("encode/e4m3.bf16")])
    lacks = "lacks rounding=ties_to_even (required); gives ties_to_away everywhere"
    assert (report.verdict, report.passed) == (lacks, False)


def test_float_types_that_a_library_lacks_are_not_covered(jax: SimpleNamespace) -> None:
    given: list[Any] = []

    def encode(values: Any, format: str) -> Numpys:
        given.append(values.dtype)
        return Numpys(mxref.encode(values.values, format))

    module = SimpleNamespace(encode=encode, ARRAYS="jax", DEVICE="tpu")
    target = target_of(module, "jaxish")
    why = "jax makes float32 of float64: set jax_enable_x64 in the target"
    assert target.lacks == {"f64": why}
    report = verify(target, [vector_file("encode/e2m1.f64"), vector_file("encode/e2m1.bf16")])
    assert (report.passed, report.not_covered) == (True, ("encode e2m1 (f64)", f"f64: {why}"))
    assert (set(given), set(jax.devices)) == ({BF16}, {"tpu:0"})
    # Who claims other float types alone lacks nothing.
    module.FLOATS = ["f32"]
    assert target_of(module, "jaxish").lacks == {}
    # Nothing left to compare is a failure.
    module.FLOATS = ["f64"]
    report = verify(target_of(module, "jaxish"), [vector_file("encode/e2m1.f64")])
    assert (report.passed, report.verdict) == (False, "nothing compared")


@pytest.mark.usefixtures("cupy")
def test_the_setting_of_jax_is_named_of_jax_alone() -> None:
    library: Any = sys.modules["cupy"]
    library.asarray = lambda values: device_copy(
        values.astype(np.float32) if values.dtype == np.float64 else values
    )
    assert library_of("cupy").lacks == {"f64": "cupy makes float32 of float64"}


@pytest.mark.usefixtures("jax")
@pytest.mark.parametrize(("claims", "text"), cases(__file__, "what a target cannot ask for"))
def test_what_a_target_cannot_ask_for(
    claims: dict[str, Any], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    module = SimpleNamespace(encode=mxref.encode, **claims)
    found = sentence(TargetError, lambda: target_of(module, "it"))
    assert found.startswith(f"target it: {text}")
    assert "\n" not in found


@pytest.mark.usefixtures("cupy")
@pytest.mark.parametrize("dtype", [np.uint8, np.float16, BF16, np.float32, np.float64])
@pytest.mark.parametrize("offset", [0, 1, 3, 5])
def test_a_start_that_is_not_aligned_stays_so_on_a_device(dtype: Any, offset: int) -> None:
    values = at_offset(np.arange(12).astype(dtype).reshape(3, 4), offset)
    size = values.itemsize
    assert values.ctypes.data % 64 == offset * size
    for array in (values, values.T, values[:, ::2], values[1:], values[:0]):
        found = library_of("cupy").array(array).values
        assert found.tolist() == array.tolist()
        assert found.dtype == array.dtype
        assert found.flags.f_contiguous == array.flags.f_contiguous or not array.flags.forc
        if array.size:
            assert found.ctypes.data % 16 == array.ctypes.data % 16


@pytest.mark.usefixtures("cupy")
def test_an_array_that_is_given_twice_is_one_array() -> None:
    values = np.arange(3)
    a, b, c = library_of("cupy").taking(lambda *given: given)(values, values, values.copy())
    assert (a is b, a is c) == (True, False)


@pytest.mark.usefixtures("jax")
def test_jax_chooses_its_own_memory() -> None:
    values = at_offset(np.arange(5, dtype=np.float32), 3)
    assert library_of("jax").array(values).values.tolist() == values.tolist()


def test_numpy_targets_are_called_as_they_are() -> None:
    values = np.arange(3)
    module = SimpleNamespace(encode=lambda *arguments: arguments)
    given = target_of(module, "it").operations["encode"](values, "e4m3")
    assert given[0] is values
    assert given[1:] == ("e4m3",)
    assert library_of("numpy").lacks == {}


def test_no_library_is_imported_unasked(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text("from mxref import encode\n")
    code = """
        import sys
        from mxref.conformance import load_target
        load_target("kernel.py")
        print(sorted({"torch", "cupy", "jax"} & set(sys.modules)))
    """
    done = run(sys.executable, "-c", textwrap.dedent(code), cwd=tmp_path, check=True)
    assert done.stdout == "[]\n"
