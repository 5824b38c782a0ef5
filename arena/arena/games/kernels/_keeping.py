"""How compiled kernels are kept on disk, and when they are current."""

# numba has no types of its own.
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


class _Place:
    """Where the code of one function is kept, and what tells whether it is current, as numba asks for it."""

    def __init__(self, source: str) -> None:
        self._folder = Path(source).parent

    @classmethod
    def from_function(cls, _function: Callable[..., object], source: str) -> _Place:
        return cls(source)

    @property
    def beside(self) -> str:
        """The folder beside the source, which a sandboxed bot may read but not write."""
        return str(self._folder / "__pycache__")

    def get_cache_path(self) -> str:
        """Give the folder to write to: where numba is told, beside the source, or in the arena's cache."""
        told = os.environ.get("NUMBA_CACHE_DIR")
        if not told and os.access(self._folder, os.W_OK):
            return self.beside
        name = f"{self._folder.name}-{sha256(bytes(self._folder)).hexdigest()[:16]}"
        return str(Path(told or cache() / "kernels", name))

    def ensure_cache_path(self) -> None:
        """Make that folder."""
        Path(self.get_cache_path()).mkdir(parents=True, exist_ok=True)

    def get_source_stamp(self) -> str:
        """Digest all sources that the function can be made of."""
        return _stamp(self._folder)

    def get_disambiguator(self) -> str:
        """Tell functions of one name apart: there are none at module level."""
        return "kernel"


@lru_cache
def _stamp(folder: Path) -> str:
    digest = sha256()
    for path in (*sorted(_KERNELS.glob("*.py")), *sorted(folder.glob("*.py"))):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


class _File(IndexDataCacheFile):
    """The code of one function in one folder."""

    def __init__(self, folder: str, name: str, stamp: str) -> None:
        super().__init__(folder, name, stamp)
        # The version is compared before the rest is read: what old code knew by name may be gone.
        self._version = f"{numba.__version__} {stamp}"

    @property
    def is_sound(self) -> bool:
        """Whether its index can be read, or is not there."""
        # What a file that was cut off raises is anybody's guess.
        with suppress(Exception):
            self._load_index()
            return True
        return False


class _Kept(CompileResultCacheImpl):
    _locator_classes = (_Place,)


class KernelCache(FunctionCache):
    """Reads beside the source too, where it may not write; never fails, for the function can be compiled."""

    _impl_class = _Kept

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__(function)
        place = _Place(function.__code__.co_filename)
        self._cache_file, self._beside = (
            _File(folder, self._impl.filename_base, place.get_source_stamp())
            for folder in (place.get_cache_path(), place.beside)
        )

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
