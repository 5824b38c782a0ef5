"""Compiles kernels; `_keeping` caches them on disk, so only the first process pays for compiling."""

# numba ships no type information.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.registry import CPUDispatcher
from typing_extensions import override

from arena.games.kernels._keeping import KernelCache

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    import numpy as np

Function = TypeVar("Function", bound="Callable[..., Any]")
Int: TypeAlias = "int | np.int64"
"""A signed 64-bit int in a kernel."""


def kernel(function: Function) -> Function:
    """Compile a module-level function for each set of argument types, and cache the result on disk.

    The machine code includes the kernels that the function calls. numba itself would notice changes only in
    the function's own file; here, a change of any file in this folder or in the function's folder
    invalidates the cache.

    Reference counting is off, because in hot loops it costs more than the work; so kernels cannot allocate
    arrays.
    """
    return cast("Function", _Kernel(function, is_inline=False))


def inline_kernel(function: Function) -> Function:
    """Compile like `kernel`, and inline the code into each calling kernel; for short, hot functions."""
    return cast("Function", _Kernel(function, is_inline=True))


_OPTIONS = {
    "nopython": True,
    "nogil": True,
    "error_model": "numpy",
    "boundscheck": None,
    "_nrt": False,
    # The entry point for C code, which is not used.
    "no_cfunc_wrapper": True,
}
"""numba options of all kernels."""


class _Kernel(CPUDispatcher):
    """A kernel as called from Python; other kernels call its `_Part`."""

    def __init__(self, function: Callable[..., object], *, is_inline: bool) -> None:
        super().__init__(function, targetoptions=dict(_OPTIONS))
        self._cache = KernelCache(function)
        self._part = _Part(function, is_inline=is_inline)

    @override
    def compile(self, sig: Any) -> Any:
        with _nothing_collected():
            return super().compile(sig)

    @override
    def fold_argument_types(self, args: Any, kws: Any) -> Any:
        signature, folded = super().fold_argument_types(args, kws)
        # Treat a literal argument as any other int, so a call with a constant 0 needs no code of its own.
        return signature, tuple(map(types.unliteral, folded))

    @override
    def get_call_template(self, args: Any, kws: Any) -> Any:
        return self._part.get_call_template(self.fold_argument_types(args, kws)[1], {})

    @override
    def get_overload(self, sig: Any) -> Any:
        return self._part.get_overload(sig)

    @property
    @override
    def is_compiling(self) -> Any:
        # numba asks this of a kernel that calls itself.
        return super().is_compiling or self._part.is_compiling


@contextmanager
def _nothing_collected() -> Generator[None]:
    """Turn off garbage collection: compiling makes millions of objects, and collecting took a tenth of it."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _Part(CPUDispatcher):
    """A kernel as called from other kernels, whose machine code includes it; it is not cached on its own.

    It cannot be called from Python. The wrapper that converts Python objects takes longer to compile than
    most kernels: with wrappers and separate machine code, compiling the kernels of a search took twice as
    long.
    """

    def __init__(self, function: Callable[..., object], *, is_inline: bool) -> None:
        options = {**_OPTIONS, "forceinline": is_inline, "no_cpython_wrapper": True}
        super().__init__(function, targetoptions=options, pipeline_class=_PartCompiler)

    @override
    def add_overload(self, cres: Any) -> None:
        # numba identifies functions by the object that Python calls, so a placeholder stands in for it.
        known = cres._replace(entry_point=object())
        self.targetctx.insert_user_function(known.entry_point, known.fndesc, [known.library])
        self.overloads[tuple(known.signature.args)] = known


class _PartLibrary(JITCodeLibrary):
    """A code library that is only linked into other libraries, never executed directly."""

    is_inline = False

    @override
    def _optimize_final_module(self) -> None:
        # Inlined code is optimised in its callers, together with the surrounding code.
        if not self.is_inline:
            super()._optimize_final_module()

    @override
    def _finalize_final_module(self) -> None:
        self._finalized = True


class _PartCompiler(Compiler):
    """Compiles a function into a `_PartLibrary`."""

    def __init__(self, *given: Any) -> None:  # noqa: ANN401 # numba ships no type information
        typing, target, _, args, return_type, flags, local_types = given
        flags.no_compile = True
        library = _PartLibrary(target.codegen(), "part of a kernel")
        library.is_inline = flags.forceinline
        super().__init__(typing, target, library, args, return_type, flags, local_types)
