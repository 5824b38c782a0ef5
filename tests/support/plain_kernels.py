"""The kernels of playouts, trees, training and export as plain Python, so that coverage sees their lines."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np

from arena.games.kernels import compiling

if TYPE_CHECKING:
    from collections.abc import Generator

MODULES = (
    "arena.games.kernels.chance",
    "arena.games.kernels.rules",
    "arena.games.kernels.playouts",
    "arena.games.kernels.cell_playouts",
    "arena.games.kernels.cell_tactics",
    "arena.games.kernels.bulk",
    "arena.export._kernels",
    "arena_bots.search.uct_tree",
    "arena_bots.search.uct_kernels",
    "arena_bots.search.uct_compiled",
    "arena_bots.td_lambda.train.openings",
    "arena_bots.td_lambda.train.tuple_kernels",
    "arena_bots.td_lambda.train.linear_kernels",
)
"""In the order of their imports. Kernels of single bits are instructions, and stay compiled."""


def _as_written(function: object) -> object:
    return function


@contextmanager
def plain_kernels() -> Generator[dict[str, Any]]:
    """Import the modules again with uncompiled kernels; return them by the last part of their names.

    Words wrap around as they do in compiled code.
    """
    known = {name: import_module(name) for name in MODULES}
    with (
        mock.patch.object(compiling, "kernel", _as_written),
        mock.patch.object(compiling, "inline_kernel", _as_written),
        mock.patch.dict(sys.modules),
        np.errstate(over="ignore"),
    ):
        for name in known:
            del sys.modules[name]
        yield {name.rpartition(".")[2]: import_module(name) for name in MODULES}
    for name, module in known.items():
        package, _, last = name.rpartition(".")
        setattr(sys.modules[package], last, module)
