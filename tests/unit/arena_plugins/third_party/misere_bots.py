"""Third-party bots: one is named by its module, one by an object in the module."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override

from arena_plugins import Bot, Limit, OptionReader, PlayResult, State, hookimpl

if TYPE_CHECKING:
    from collections.abc import Mapping


class Picker(Bot):
    deterministic = True

    def __init__(self, index: int) -> None:
        self.index = index
        self.seeds: list[int] = []

    def new_match(self, seed: int) -> None:
        self.seeds.append(seed)

    @override
    def play(self, state: State, limit: Limit) -> PlayResult:
        return PlayResult(state.legal_actions[self.index], value=0.5, nodes=1, text="\x1b[1mhi")


@hookimpl
def make_bot(options: Mapping[str, str]) -> Picker:
    OptionReader("first", options).done()
    return Picker(0)


class Last:
    @hookimpl
    def make_bot(self, options: Mapping[str, str]) -> Picker:
        OptionReader("last", options).done()
        return Picker(-1)


last = Last()
