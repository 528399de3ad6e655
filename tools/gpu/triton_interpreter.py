"""Triton's interpreter, without work that it does again in each call, or whose result it drops."""

from __future__ import annotations

from typing import Any

__all__ = ["made_once"]


def made_once() -> None:
    """Have kernels patch `triton.language` once, and each type and its sizes be made once.

    Neither are sums looked at for an overflow, of which nothing is said outside of debugging.
    """
    from triton.runtime import interpreter

    builder = interpreter.interpreter_builder
    if not builder.options.debug:
        builder.options = type(builder.options)(sanitize_overflow=False)
    _patched_once(interpreter)
    _types_once(interpreter)


def _patched_once(interpreter: Any) -> None:
    """Each patch after the first puts the same functions in the same places: it is not undone."""
    patch, modules = interpreter._patch_lang, {id(interpreter.tl), id(interpreter.tl.core)}
    patched: set[int] = set()

    def patch_new(fn: Any) -> Any:
        seen = modules.intersection(map(id, fn.__globals__.values()))
        if not seen <= patched:
            patched.update(seen)
            patch(fn)
        return nothing

    nothing = interpreter._LangPatchScope()  # what is to be undone at a kernel's end
    interpreter._patch_lang = patch_new


def _types_once(interpreter: Any) -> None:
    """One object for a type of blocks, with what all tensors of it share."""
    tensor, block = interpreter.tl.tensor, interpreter.tl.block_type
    semantic = type(interpreter.interpreter_semantic)
    of_tensor, of_block, dtype_of = tensor.__init__, block.__init__, interpreter._get_np_dtype
    broadcast, cast = semantic.broadcast_impl_value, semantic.cast
    blocks: dict[tuple[Any, ...], Any] = {}
    dtypes: dict[str, Any] = {}

    def new_block(cls: Any, element: Any, shape: Any) -> Any:
        key = id(element), *(getattr(one, "value", one) for one in shape)
        return blocks.get(key) or blocks.setdefault(key, object.__new__(cls))

    def make_block(self: Any, element: Any, shape: Any) -> None:
        if "name" not in vars(self):  # which is set last
            of_block(self, element, shape)

    def make_tensor(self: Any, handle: Any, type: Any) -> None:
        if "of_tensors" not in vars(type):
            of_tensor(self, None, type)
            type.of_tensors = {**vars(self)}
        vars(self).update(type.of_tensors)
        self.handle = handle

    def of_shapes(self: Any, left: Any, right: Any) -> Any:
        a, b = left.type, right.type
        if a is b or (a.is_block() and b.is_block() and a.shape.values == b.shape.values):
            return left, right
        return broadcast(self, left, right)

    def of_dtype(type: Any) -> Any:
        name = type.scalar.name
        if name not in dtypes:
            dtypes[name] = dtype_of(type)
        return dtypes[name]

    def to_type(self: Any, input: Any, type: Any, *how: Any) -> Any:
        return input if input.dtype is type or input.type is type else cast(self, input, type, *how)

    block.__new__, block.__init__, tensor.__init__ = new_block, make_block, make_tensor
    semantic.broadcast_impl_value, semantic.cast = of_shapes, to_type
    interpreter._get_np_dtype = of_dtype
