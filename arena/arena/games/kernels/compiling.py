"""How kernels are compiled; `_keeping` keeps them on disk, so that only the first process pays for it."""

# numba has no types of its own.
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
"""A signed int of 64 bits in a kernel."""


def kernel(function: Function) -> Function:
    """Compile `function`, of module level, for the types it is called with; keep the result on disk.

    Machine code contains the kernels that it calls. numba looks for changes in the function's own file only;
    here a change of any file in this folder or in the function's makes it compile again.

    References are not counted, which in hot loops cost more than the work; so a kernel cannot make arrays.
    """
    return cast("Function", _Kernel(function, is_inline=False))


def inline_kernel(function: Function) -> Function:
    """Do as `kernel` does, and put the code into each kernel that calls it: for what is short and hot."""
    return cast("Function", _Kernel(function, is_inline=True))


_OPTIONS = {
    "nopython": True,
    "nogil": True,
    "error_model": "numpy",
    "boundscheck": None,
    "_nrt": False,
    # The way in for code in C; nobody asks for it.
    "no_cfunc_wrapper": True,
}
"""How all kernels are compiled."""


class _Kernel(CPUDispatcher):
    """A kernel as Python calls it; kernels call another edition of it."""

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
        # A constant is an int like any other: no code of its own for the call with a 0.
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
        # Asked of a kernel that calls itself.
        return super().is_compiling or self._part.is_compiling


@contextmanager
def _nothing_collected() -> Generator[None]:
    """Look for no garbage: compiling makes objects by the million, and a tenth of its time went there."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _Part(CPUDispatcher):
    """A kernel as kernels call it: in their machine code, so it needs no place on disk nor in memory.

    Neither can Python call it. The way in, which makes numbers of objects, takes longer to compile than most
    kernels: with it, and with machine code of their own, those of a search took twice as long.
    """

    def __init__(self, function: Callable[..., object], *, is_inline: bool) -> None:
        options = {**_OPTIONS, "forceinline": is_inline, "no_cpython_wrapper": True}
        super().__init__(function, targetoptions=options, pipeline_class=_PartCompiler)

    @override
    def add_overload(self, cres: Any) -> None:
        # numba knows functions by the object that Python calls; there is none here.
        known = cres._replace(entry_point=object())
        self.targetctx.insert_user_function(known.entry_point, known.fndesc, [known.library])
        self.overloads[tuple(known.signature.args)] = known


class _PartLibrary(JITCodeLibrary):
    """Code for other code to be made of, which is never run from here."""

    is_inline = False

    @override
    def _optimize_final_module(self) -> None:
        # What goes in line is made quick there, with all that is around it.
        if not self.is_inline:
            super()._optimize_final_module()

    @override
    def _finalize_final_module(self) -> None:
        self._finalized = True


class _PartCompiler(Compiler):
    """Compiles into such code."""

    def __init__(self, *given: Any) -> None:  # noqa: ANN401 # numba has no types of its own
        typing, target, _, args, return_type, flags, local_types = given
        flags.no_compile = True
        library = _PartLibrary(target.codegen(), "part of a kernel")
        library.is_inline = flags.forceinline
        super().__init__(typing, target, library, args, return_type, flags, local_types)
