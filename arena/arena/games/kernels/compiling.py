"""Compiles kernels and caches them on disk, so only the first process pays for compiling."""

# numba ships no type information.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import gc
import os
from contextlib import contextmanager, suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from typing_extensions import override

from arena.games.kernels.numba_parts import (
    Compiler,
    CompileResultCacheImpl,
    CPUDispatcher,
    FunctionCache,
    IndexDataCacheFile,
    JITCodeLibrary,
    numba,
    types,
)
from arena.home import cache

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
    # Other threads of a bot or a worker go on while a kernel searches.
    "nogil": True,
    # Division by zero yields inf or nan, as in NumPy, without a branch that raises.
    "error_model": "numpy",
    # Indices are not checked; the environment variable NUMBA_BOUNDSCHECK=1 turns the checks on for debugging.
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
        self._cache = _KernelCache(function)
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
    # The switch belongs to the process. Of two threads that compile at once, the one that found it on turns
    # it on again, so it never stays off.
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


_KERNELS = Path(__file__).parent
_DIGITS = 16
"""Hex digits of a SHA-256 digest in the name of a folder: 64 bits, so no two sources share one by chance."""


class _CacheLocator:
    """The cache location of one function and the stamp of its sources, with the interface numba expects."""

    def __init__(self, source: str) -> None:
        self._folder = Path(source).parent

    @classmethod
    def from_function(cls, _function: Callable[..., object], source: str) -> _CacheLocator:
        return cls(source)

    @property
    def beside(self) -> str:
        """The folder beside the source; a sandboxed bot can read but not write it."""
        return str(self._folder / "__pycache__")

    def get_cache_path(self) -> str:
        """Return the folder to write to: NUMBA_CACHE_DIR, else beside the source, else the arena's cache.

        A subfolder of NUMBA_CACHE_DIR is named after the sources, not after their place: a bot in a container
        and one outside of it use the same code.
        """
        if told := os.environ.get("NUMBA_CACHE_DIR"):
            return str(Path(told, f"{self._folder.name}-{self.get_source_stamp()[:_DIGITS]}"))
        if os.access(self._folder, os.W_OK):
            return self.beside
        name = f"{self._folder.name}-{sha256(bytes(self._folder)).hexdigest()[:_DIGITS]}"
        return str(cache() / "kernels" / name)

    def ensure_cache_path(self) -> None:
        """Create the folder to write to."""
        Path(self.get_cache_path()).mkdir(parents=True, exist_ok=True)

    def get_source_stamp(self) -> str:
        """Return a digest of all sources that can end up in the function's machine code."""
        return _stamp(self._folder)

    def get_disambiguator(self) -> str:
        """Return a constant; numba uses it to separate functions of equal name, which modules do not have."""
        return "kernel"


@lru_cache
def _stamp(folder: Path) -> str:
    digest = sha256()
    for path in (*sorted(_KERNELS.glob("*.py")), *sorted(folder.glob("*.py"))):
        # Python source contains no NUL, so no byte can move between a name and a content without changing the
        # digest. Sorted, because the order of a folder's files is not defined.
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


class _File(IndexDataCacheFile):
    """The cached code of one function in one folder."""

    def __init__(self, folder: str, name: str, stamp: str) -> None:
        super().__init__(folder, name, stamp)
        # numba compares the version before it unpickles the rest, which may refer to names that are gone.
        self._version = f"{numba.__version__} {stamp}"

    @property
    def is_sound(self) -> bool:
        """Whether its index is readable or absent."""
        # Unpickling a truncated file can raise any exception.
        with suppress(Exception):
            self._load_index()
            return True
        return False


class _KernelResultCache(CompileResultCacheImpl):
    _locator_classes = (_CacheLocator,)


class _KernelCache(FunctionCache):
    """A cache that also reads entries from the folder beside the source, even if it cannot write there.

    It never raises, because a function that cannot be loaded is compiled.
    """

    _impl_class = _KernelResultCache

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__(function)
        place = _CacheLocator(function.__code__.co_filename)
        self._cache_file, self._beside = (
            _File(folder, self._impl.filename_base, place.get_source_stamp())
            for folder in (place.get_cache_path(), place.beside)
        )

    @override
    def load_overload(self, sig: object, target_context: Any) -> object:
        """Return the cached code for a signature; None if there is none, or if it cannot be loaded.

        numba would first initialise its whole compiler, which imports `scipy.linalg` and cffi and took a
        third of the start of a bot. Machine code needs none of it, and compiling initialises it anyway.
        """
        return self._load_overload(sig, target_context)

    @override
    def _load_overload(self, sig: object, target_context: Any) -> object:
        key = self._index_key(sig, target_context.codegen())
        # The stamp is part of each file, so code of other sources is not found, wherever it is.
        for file in (self._cache_file, self._beside):
            with suppress(Exception):
                data = file.load(key)
                if data is not None:
                    return self._impl.rebuild(target_context, data)
        return None

    @override
    def save_overload(self, sig: object, data: object) -> None:
        with suppress(OSError):
            # A damaged index, as after a power cut, would make numba raise at every save, so it is emptied
            # first.
            if not self._cache_file.is_sound:
                self.flush()
            super().save_overload(sig, data)
