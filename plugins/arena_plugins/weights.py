"""Reads the weights of bots from NumPy archives and ONNX models, which cannot contain executable code.

A pickle runs code when it is read, a Keras archive may contain Lambda layers, and a small file may claim a
terabyte: sizes are checked before any memory is allocated.
"""

from __future__ import annotations

import io
import math
import os
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib import format as npy

from arena_plugins.errors import PluginError
from arena_plugins.regular import MAX_WHOLE, open_regular

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import IO

    from numpy.typing import NDArray

MAX_WEIGHTS = MAX_WHOLE
"""Default size limit for a bot's weights, in bytes."""
_ZIP = b"PK\x03\x04"
_ONNX = b"\x08"
"""Protocol buffer tag of `ir_version`, the first field of every ONNX model."""
_KNOWN = (
    (b"\x80", "a pickle, which runs code when it is read"),
    (b"\x89HDF", "an HDF5 file, as Keras wrote them, which may carry code"),
    (b"\x93NUMPY", "a single array"),
    (_ZIP, "an archive, as NumPy, Keras and PyTorch write them"),
)
_ARRAY = ".npy"
_WAY_OUT = "save weights with numpy.savez, or export the network to ONNX"
_BROKEN = (
    *(OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error),
    # Raised by zipfile for an unknown compression method or an encrypted member.
    RuntimeError,
)


def load_arrays(path: str | os.PathLike[str], *, max_bytes: int = MAX_WEIGHTS) -> dict[str, NDArray[Any]]:
    """Read all arrays of an `.npz` file by name; pickled arrays are rejected.

    Args:
        path: the file.
        max_bytes: size limit in bytes, for the file and for the sum of its arrays.

    Raises:
        PluginError: the file is missing, not an `.npz` file or too large, or an array contradicts its header.
    """
    file = Path(path)
    try:
        with _opened(file, max_bytes, _ZIP) as content:
            return _arrays(content, str(file), max_bytes)
    except OSError as error:
        raise PluginError(f"{file} cannot be read: {error}") from error


def read_arrays(data: bytes, name: str, *, max_bytes: int) -> dict[str, NDArray[Any]]:
    """Read all arrays of an `.npz` file in memory, as `load_arrays`.

    Args:
        data: the content of the file.
        name: names it in messages.
        max_bytes: limit in bytes for the sum of its arrays.

    Raises:
        PluginError: it is not an `.npz` file or too large, or an array contradicts its header.
    """
    return _arrays(io.BytesIO(data), name, max_bytes)


def write_arrays(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the content of an `.npz` file, which depends only on the arrays; NumPy would add the time."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}{_ARRAY}"), "w", force_zip64=True) as member:
                npy.write_array(member, np.ascontiguousarray(array), allow_pickle=False)
    return file.getvalue()


def _arrays(content: IO[bytes], name: str, max_bytes: int) -> dict[str, NDArray[Any]]:
    try:
        with zipfile.ZipFile(content) as archive:
            members = archive.infolist()
            if others := [member.filename for member in members if not member.filename.endswith(_ARRAY)]:
                raise PluginError(f"{name} holds {others[0]!r}, which is not an array; {_WAY_OUT}")
            if (size := sum(member.file_size for member in members)) > max_bytes:
                raise PluginError(f"{name} unpacks to {size} bytes, more than the {max_bytes} allowed")
            return {member.filename.removesuffix(_ARRAY): _array(archive, member) for member in members}
    except _BROKEN as error:
        raise PluginError(f"{name} cannot be read: {error}") from error


def load_onnx(path: str | os.PathLike[str], *, max_bytes: int = MAX_WEIGHTS) -> bytes:
    """Read an ONNX model as bytes, in the form that `onnxruntime.InferenceSession` accepts.

    Args:
        path: the file.
        max_bytes: size limit in bytes.

    Raises:
        PluginError: the file is missing, not an ONNX model, or too large.
    """
    file = Path(path)
    try:
        with _opened(file, max_bytes, _ONNX) as content:
            return content.read(max_bytes)
    except OSError as error:
        raise PluginError(f"{file} cannot be read: {error}") from error


def _opened(file: Path, max_bytes: int, start: bytes) -> IO[bytes]:
    """Open a regular file after checking its size and its first bytes; reading starts at the beginning.

    Raises:
        PluginError: it is not a regular file, is too large, or starts with other bytes than `start`.
    """
    try:
        opened = open_regular(file)
    except OSError as error:
        raise PluginError(f"cannot read the weights {file}: {error.strerror}") from error
    try:
        _check(opened, file, max_bytes, start)
    except BaseException:
        opened.close()
        raise
    return opened


def _check(opened: IO[bytes], file: Path, max_bytes: int, start: bytes) -> None:
    size = os.fstat(opened.fileno()).st_size
    if size > max_bytes:
        raise PluginError(f"{file} has {size} bytes, more than the {max_bytes} allowed")
    found = opened.read(8)
    opened.seek(0)
    if not found.startswith(start):
        kind = next((name for mark, name in _KNOWN if found.startswith(mark)), "something else")
        wanted = "an .npz file" if start == _ZIP else "an ONNX model"
        raise PluginError(f"{file} is not {wanted} but {kind}; {_WAY_OUT}")


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    """Read one array, whose size must be exactly what its header claims.

    Raises:
        ValueError: the sizes differ, or the array contains Python objects, which would need a pickle.
    """
    with archive.open(member) as opened:
        shape, by_columns, dtype = _header(opened)
        if dtype.hasobject:
            raise ValueError(f"{member.filename} holds Python objects, which are stored as a pickle")
        claimed, there = math.prod(shape) * dtype.itemsize, member.file_size - opened.tell()
        if claimed != there:
            raise ValueError(f"{member.filename} claims {claimed} bytes but has {there}")
        flat = np.frombuffer(bytearray(opened.read()), dtype)
    return flat.reshape(shape, order="F" if by_columns else "C")


def _header(opened: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = npy.read_magic(opened)
    readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f"arrays of format version {version} are not supported")
    try:
        return readers[version](opened)
    except Exception as error:
        # NumPy's header parser lets any exception of Python's tokenizer escape.
        raise ValueError(f"the header of an array: {error}") from error
