"""How a match is shown that has no result yet: who is to play it, and how far it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.cli.board import draw_board
from arena.cli.output import console, emit_one, say
from arena.errors import NotFoundError
from arena.live.geometry import position
from arena.live.reducer import reduce_all
from arena.live.views import LiveView
from arena.results.addresses import planned_match
from arena.watching.store_feed import translated
from arena_plugins import load_game

if TYPE_CHECKING:
    from arena.live.views import MatchView
    from arena.results.addresses import Address
    from arena_db.records import TournamentRecord
    from arena_db.store import Store


def show_unplayed(store: Store, address: Address, form: str) -> None:
    """Print a planned match: who plays, from which opening, and the moves that have been heard of.

    Raises:
        NotFoundError: it has fewer plies than the address says.
    """
    record = address.tournament
    planned = planned_match(store, address)
    labels = {entrant.seat: entrant.label for entrant in store.entrants(record.id)}
    running = _running(store, record, planned.number)
    actions = tuple(planned.opening) if running is None else running.actions
    state = "planned" if running is None else "stalled" if running.is_stalled else "running"
    if address.ply is not None and address.ply > len(actions):
        raise NotFoundError(
            f"no ply {address.ply} in {address._replace(ply=None)}; it has {len(actions)} so far"
        )
    shown = actions[: address.ply]
    first, second = labels[planned.first], labels[planned.second]
    if form != "table":
        found = {
            "address": str(address._replace(ply=None)),
            "tournament": record.name,
            "number": planned.number,
            "game": record.game,
            "first": first,
            "second": second,
            "state": state,
            "num_opening": len(planned.opening),
            "actions": list(shown),
        }
        emit_one("match", found, form)
        return
    say(f"{address} {record.game}  {first} (X) vs {second} (O)  {state}")
    say(f"{len(shown)} plies, {len(planned.opening)} of them given; arena watch {address} shows it")
    game = load_game(record.game)
    moves: list[str] = []
    for ply, action in enumerate(shown):
        moves.append(game.move(position(record.game, shown[:ply]), action))
    before = position(record.game, shown[:-1]) if shown else None
    console().print(draw_board(game, position(record.game, shown), before), end="")
    if moves:
        say(f"moves {' '.join(moves)}")


def is_played_again(store: Store, address: Address) -> bool:
    """Return whether a match is being played whose last attempt came to nothing, and no attempt is named."""
    last = address.match
    if last is None or last.is_final or address.attempt is not None or address.number is None:
        return False
    return _running(store, address.tournament, address.number) is not None


def _running(store: Store, record: TournamentRecord, number: int) -> MatchView | None:
    """Return a match as viewers see it now; None where nobody plays it."""
    lease = store.lease(record.id)
    if lease is None or not lease.is_alive:
        return None
    view = reduce_all(LiveView(), translated(store.snapshot(record.id).events))
    match = view.matches.get(number)
    return match if match is not None and not match.is_over and not match.trouble else None
