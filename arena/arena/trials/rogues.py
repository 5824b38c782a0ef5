"""Plugins that misbehave: weights that contain code or claim too much memory, wheels that run code."""

from __future__ import annotations

import base64
import io
import json
import marshal
import pickle
import zipfile
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.lib import format as npy

from arena.content.packages import shared_path
from arena.own_python import interpreter
from arena.referee.hosted import HostedSeat
from arena.sandbox.process_settings import ProcessSettings
from arena.sandbox.readable import python_readable
from arena.sandbox.resources import Resources
from arena_plugins.command import host_command
from arena_plugins.entries import GAMES, find
from arena_plugins.weights import MAX_WEIGHTS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from arena.sandbox.tier import Tier
    from arena_plugins.contract import Game
    from arena_plugins.hostile.table import Misbehaviour

_MODULE = "rogue"
_SOURCE = """
from pathlib import Path
import numpy
from arena_plugins import PlayResult, hookimpl, load_arrays, load_onnx

class Bot:
    def __init__(self, weights):
        self.weights = weights

    def play(self, state, limit):
        return PlayResult(state.legal_actions[0])

@hookimpl
def make_bot(game, seed, options):
    return Bot({load}(Path(__file__).with_name("weights")))
"""
_FLOATS = 1 << 38
"""Number of float32 values that take a terabyte."""
_ZEROS = MAX_WEIGHTS // 2
"""Number of float32 values that take twice the allowed size of weights but deflate to a few megabytes."""
_PIECE = 1 << 20


class _Weights(NamedTuple):
    """The weights of a plugin, and the function that it loads them with."""

    load: str
    make: Callable[[str], bytes]
    """Returns the bytes, with a payload if the format can carry code."""


class _Payload:
    """Runs code when it is unpickled."""

    def __init__(self, code: str) -> None:
        self._code = code

    def __reduce__(self) -> tuple[object, ...]:
        return exec, (self._code,)


def _pickled(code: str) -> bytes:
    return pickle.dumps(_Payload(code))


def _pickled_array(code: str) -> bytes:
    array, file = np.array([_Payload(code)], dtype=object), io.BytesIO()
    np.savez(file, table=array)
    return file.getvalue()


def _claim(_: str) -> bytes:
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({_FLOATS},), }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header


def _claim_in_archive(code: str) -> bytes:
    return _archive({"table.npy": _claim(code)})


@cache
def _inflating(_: str) -> bytes:
    file = io.BytesIO()
    header = io.BytesIO()
    npy.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": (_ZEROS,)})
    with (
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("table.npy", "w") as member,
    ):
        member.write(header.getvalue())
        for _number in range(4 * _ZEROS // _PIECE):
            member.write(bytes(_PIECE))
    return file.getvalue()


def _keras_with_lambda(code: str) -> bytes:
    compiled = base64.b64encode(marshal.dumps(compile(code, "lambda", "exec"))).decode()
    function = {"class_name": "__lambda__", "config": {"code": compiled, "defaults": None, "closure": None}}
    layer = {"module": "keras.layers", "class_name": "Lambda", "config": {"function": function}}
    model = {"module": "keras", "class_name": "Sequential", "config": {"layers": [layer]}}
    return _archive({"config.json": json.dumps(model).encode(), "metadata.json": b"{}"})


def _hdf5(_: str) -> bytes:
    return b"\x89HDF\r\n\x1a\n" + bytes(1 << 12)


def _archive(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


_WEIGHTS = {
    "pickle-weights": _Weights("load_arrays", _pickled),
    "pickle-as-onnx": _Weights("load_onnx", _pickled),
    "pickle-in-arrays": _Weights("load_arrays", _pickled_array),
    # This plugin bypasses the loader of the kit, so only the memory limit stops it.
    "array-bomb": _Weights("numpy.load", _claim),
    "array-claim": _Weights("load_arrays", _claim_in_archive),
    "inflating-arrays": _Weights("load_arrays", _inflating),
    "lambda-weights": _Weights("load_arrays", _keras_with_lambda),
    "hdf5-weights": _Weights("load_arrays", _hdf5),
}
"""Weights by the name of the misbehaviour."""


def has_weights(row: Misbehaviour) -> bool:
    """Return whether a plugin misbehaves by its weights and not at its installation."""
    return row.name in _WEIGHTS


def spoils(store: str) -> str:
    """Return code that damages a canary if it runs outside the sandbox."""
    return f"with open({store!r}, 'a') as file: file.write('forged')"


def rogue_seat(row: Misbehaviour, tier: Tier, game: Game, folder: Path, store: str) -> HostedSeat:
    """Write a plugin into a new folder; return its seat.

    Args:
        row: the misbehaviour.
        tier: isolation tier.
        game: the game.
        folder: the folder; it is created.
        store: file that the code of the plugin would damage if it ran.
    """
    weights = _WEIGHTS[row.name]
    folder.mkdir()
    (folder / f"{_MODULE}.py").write_text(_SOURCE.format(load=weights.load), "utf-8")
    (folder / "weights").write_bytes(weights.make(spoils(store)))
    command = host_command(
        interpreter(),
        entry=_MODULE,
        name=row.name,
        version="1",
        options={},
        games={game.name: find(GAMES, game.name).value},
        path=[str(folder), *shared_path()],
    )
    return HostedSeat(
        ProcessSettings(
            command,
            tier=tier,
            resources=Resources(memory_bytes=row.memory_bytes),
            readable=python_readable(tuple(shared_path())).with_files([str(folder)]),
        ),
        name=row.name,
        version="1",
    )
