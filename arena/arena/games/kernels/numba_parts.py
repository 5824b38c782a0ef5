"""The parts of numba that kernels use, imported without libraries that they do not need.

While it is imported, numba looks for libraries that it uses only if they are installed: `coverage`, to report
which lines it compiled, SciPy, to check its version, and PyYAML, for its configuration file. Where they are
installed, importing them takes an eighth of the CPU of the start of a bot with kernels.
"""

# numba ships no type information.
# pyright: reportMissingTypeStubs=false, reportUnknownVariableType=false

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Generator

_CONFIGURATION: Final = Path(".numba_config.yaml")
"""numba's configuration file, in the current folder; numba warns about one that it cannot read."""
_UNUSED: Final = frozenset({"coverage", "scipy"})


class _Absent:
    """A finder that reports some libraries as not installed, in the thread that created it."""

    def __init__(self) -> None:
        self._names = _UNUSED if _CONFIGURATION.exists() else _UNUSED | {"yaml"}
        self._thread = threading.get_ident()

    def find_spec(self, name: str, *_: object) -> None:
        """Refuse to find one of the libraries; leave all others to the next finders.

        Raises:
            ModuleNotFoundError: the library is to seem absent.
        """
        # Another thread may import one of them for itself meanwhile.
        if name in self._names and threading.get_ident() == self._thread:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@contextmanager
def _alone() -> Generator[None]:
    """Hide the libraries, except those that are imported already, for example by `pytest --cov`."""
    absent = _Absent()
    sys.meta_path.insert(0, absent)
    try:
        yield
    finally:
        sys.meta_path.remove(absent)


with _alone():
    import numba as numba  # noqa: PLC0414 # the alias marks it as re-exported, here and below
    from numba.core import types as types  # noqa: PLC0414
    from numba.core.caching import CompileResultCacheImpl as CompileResultCacheImpl  # noqa: PLC0414
    from numba.core.caching import FunctionCache as FunctionCache  # noqa: PLC0414
    from numba.core.caching import IndexDataCacheFile as IndexDataCacheFile  # noqa: PLC0414
    from numba.core.codegen import JITCodeLibrary as JITCodeLibrary  # noqa: PLC0414
    from numba.core.compiler import Compiler as Compiler  # noqa: PLC0414
    from numba.core.registry import CPUDispatcher as CPUDispatcher  # noqa: PLC0414
    from numba.extending import intrinsic as intrinsic  # noqa: PLC0414
