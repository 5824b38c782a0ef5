"""Bots named in the benchmarks exist with these options; a full benchmark would find out too late."""

from __future__ import annotations

import re

import pytest

from arena_plugins import load_game
from arena_plugins.manager import load_bot
from source_tree import ROOT

SPEC = re.compile(r'"((?:mcts|minimax|td-lambda):(?:[^"{} ]|{})+)"')
"""A spec may have a placeholder for a number."""


def _specs() -> set[str]:
    return {spec for path in (ROOT / "benchmarks").rglob("*.py") for spec in SPEC.findall(path.read_text())}


@pytest.mark.parametrize("spec", sorted(_specs()))
def test_bots_of_the_benchmarks_can_be_made(spec: str) -> None:
    load_bot(spec.format(100), load_game("connect-four"), seed=1)
