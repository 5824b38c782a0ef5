"""The on-disk cache of compiled kernels, and the test whether an entry is current."""

# numba ships no type information.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import os
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from typing_extensions import override

from arena.home import cache

if TYPE_CHECKING:
    from collections.abc import Callable

_KERNELS = Path(__file__).parent


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
            return str(Path(told, f"{self._folder.name}-{self.get_source_stamp()[:16]}"))
        if os.access(self._folder, os.W_OK):
            return self.beside
        name = f"{self._folder.name}-{sha256(bytes(self._folder)).hexdigest()[:16]}"
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


class KernelCache(FunctionCache):
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
        for file in (self._cache_file, self._beside):
            with suppress(Exception):
                data = file.load(key)
                if data is not None:
                    return self._impl.rebuild(target_context, data)
        return None

    @override
    def save_overload(self, sig: object, data: object) -> None:
        with suppress(OSError):
            if not self._cache_file.is_sound:
                self.flush()
            super().save_overload(sig, data)
