"""Imports numba without `coverage`, for all kernels: each process of a bot waits for this import.

Where `coverage` is installed, numba imports it to tell it of the lines that it compiles: a sixth of the
import. A process that measures its coverage has imported it before, and is left as it is.
"""

# numba ships no type information.
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from types import ModuleType

_is_measured = "coverage" in sys.modules
if not _is_measured:
    # An import of it now fails as if it were not installed.
    sys.modules["coverage"] = cast("ModuleType", None)
try:
    # With their own names as aliases, which says that they are for other modules.
    import numba as numba  # noqa: PLC0414
    from numba.core import types as types  # noqa: PLC0414
    from numba.core.caching import CompileResultCacheImpl as CompileResultCacheImpl  # noqa: PLC0414
    from numba.core.caching import FunctionCache as FunctionCache  # noqa: PLC0414
    from numba.core.caching import IndexDataCacheFile as IndexDataCacheFile  # noqa: PLC0414
    from numba.core.codegen import JITCodeLibrary as JITCodeLibrary  # noqa: PLC0414
    from numba.core.compiler import Compiler as Compiler  # noqa: PLC0414
    from numba.core.registry import CPUDispatcher as CPUDispatcher  # noqa: PLC0414
    from numba.extending import intrinsic as intrinsic  # noqa: PLC0414
finally:
    if not _is_measured:
        del sys.modules["coverage"]
