"""Calls on another stream, by a stand-in for torch whose streams run when they are waited for."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import vector_file
from numpy.typing import NDArray

import mxref
from mxref.conformance import Extent, Report, check, target_of
from mxref.targets import array_libraries


class Tensor(np.ndarray):
    """An array whose copy waits for the current stream."""

    def copy_(self, other: NDArray[Any]) -> None:
        DEVICE.start(lambda: np.copyto(self, other))


class Stream:
    """What is to be done, in order; it is done at `synchronize`."""

    def __init__(self, device: str) -> None:
        self.work: list[Callable[[], Any]] = []

    def synchronize(self) -> None:
        while self.work:
            self.work.pop(0)()


class Device:
    """A device, the current stream, and how often another than the default one was current."""

    def __init__(self) -> None:
        self.current: Stream | None = None
        self.count = 0

    def start(self, work: Callable[[], Any]) -> None:
        """Starts work on the current stream: at once on the default one."""
        if self.current is None:
            work()
        else:
            self.current.work.append(work)

    @contextlib.contextmanager
    def stream(self, stream: Stream) -> Iterator[None]:
        self.current, self.count = stream, self.count + 1
        try:
            yield
        finally:
            self.current = None


DEVICE = Device()


@pytest.fixture(autouse=True)
def torch(monkeypatch: pytest.MonkeyPatch) -> None:
    library: Any = ModuleType("torch")
    library.Tensor = Tensor
    library.zeros_like = np.zeros_like
    library.device = lambda name: SimpleNamespace(type=name.partition(":")[0])
    library.cuda = SimpleNamespace(
        Stream=Stream, stream=DEVICE.stream, synchronize=lambda _: None, _sleep=lambda _: None
    )
    monkeypatch.setitem(sys.modules, "torch", library)
    makers = {
        **array_libraries._MAKERS,
        "torch": lambda _: (lambda one: np.array(one).view(Tensor), lambda dtype: dtype),
    }
    monkeypatch.setattr(array_libraries, "_MAKERS", makers)
    DEVICE.count = 0


def kernel(*, default_stream: bool) -> Callable[..., Any]:
    """A right kernel that is started on the caller's stream, or always on the default one."""

    def encode(values: NDArray[Any], format: str) -> NDArray[Any]:
        codes = np.zeros(values.shape, np.uint8)

        def work() -> None:
            codes[...] = mxref.encode(np.asarray(values), format)

        if default_stream:
            work()
        else:
            DEVICE.start(work)
        return codes

    return encode


def report(encode: Callable[..., Any], device: str) -> Report:
    claims = {"FORMATS": ["e4m3"], "FLOATS": ["f32"], "ARRAYS": "torch", "DEVICE": device}
    target = target_of(SimpleNamespace(encode=encode, **claims), "streams")
    return check(target, [vector_file("encode/e4m3.f32")], extent=Extent(elements=1000))


def test_a_kernel_on_the_callers_stream_passes() -> None:
    found = report(kernel(default_stream=False), "cuda:0")
    assert found.passed
    assert DEVICE.count


def test_a_kernel_on_the_default_stream_does_not_wait_for_its_arguments() -> None:
    found = report(kernel(default_stream=True), "cuda")
    assert not found.passed
    texts = [(use.kind, use.text.partition(":")[0]) for use in found.uses]
    assert texts == [("stream", "wrong only in calls on another stream than the default one")]


def test_other_devices_have_no_streams() -> None:
    assert report(kernel(default_stream=True), "cpu").passed
    assert not DEVICE.count
