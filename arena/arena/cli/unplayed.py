"""Prints a match without a result: its players and its moves so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from arena.cli.output import console, emit_one, say
from arena.cli.text_board import draw_board
from arena.live.geometry import position
from arena.watching.whole_objects import unplayed_match
from arena_plugins import load_game

if TYPE_CHECKING:
    from arena.results.addresses import Address
    from arena_db.store import Store


def show_unplayed(store: Store, address: Address, form: str) -> None:
    """Print a planned match: players, opening, and the moves received so far.

    Raises:
        NotFoundError: it has fewer plies than the address says.
    """
    found = unplayed_match(store, address)
    if form != "table":
        emit_one("match", msgspec.to_builtins(found), form)
        return
    shown = found.actions
    say(f"{address} {found.game}  {found.first} (X) vs {found.second} (O)  {found.state}")
    say(f"{len(shown)} plies, {found.num_opening} of them from the opening; arena watch {address} shows it")
    game = load_game(found.game)
    moves: list[str] = []
    for ply, action in enumerate(shown):
        moves.append(game.move(position(found.game, shown[:ply]), action))
    before = position(found.game, shown[:-1]) if shown else None
    console().print(draw_board(game, position(found.game, shown), before), end="")
    if moves:
        say(f"moves {' '.join(moves)}")
