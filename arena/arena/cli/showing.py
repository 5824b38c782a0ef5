"""How one match and one tournament are shown in full, boards drawn."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click
import msgspec

from arena.cli.output import console, emit_object, print_table, utc
from arena.cli.report import RESULT, match_object
from arena_plugins import game_spec, load_game

if TYPE_CHECKING:
    from arena_db.records import StoredMatch, TournamentRecord
    from arena_db.store import Store
    from arena_plugins import Game, State

_MARKS = ".XO"


def show_match(match: StoredMatch, form: str) -> None:
    """Print one match: who, when, how it ended, its last board and all moves."""
    if form == "json":
        emit_object("match", match_object(match))
        return
    game = load_game(match.game)
    click.echo(_headline(match))
    click.echo(
        f"{match.reason}; {match.termination}, {len(match.actions)} plies, {match.duration_ms / 1000:.1f} s"
    )
    click.echo(
        f"tournament {match.tournament_name}, match {match.number}, {utc(match.started_at)}, tier {match.tier}"
    )
    click.echo(f"seeds {match.seed_first} {match.seed_second}")
    states = _states(game, match)
    draw_board(game, states[-1])
    print_table(
        _moves(game, match, states),
        {"ply": "Ply", "side": "", "move": "Move", "ms": "ms", "value": "Value"},
        {"value": ".2f"},
    )
    if match.fault:
        click.echo("Evidence of the fault:")
        for key, value in json.loads(match.fault).items():
            click.echo(f"  {key}: {value}")


def replay_match(match: StoredMatch) -> None:
    """Print every position of a match."""
    game = load_game(match.game)
    states = _states(game, match)
    click.echo(_headline(match))
    draw_board(game, states[0])
    for row, state in zip(_moves(game, match, states), states[1:], strict=True):
        value = "" if row["value"] is None else f", expects {row['value']:+.2f}"
        given = ", opening" if row["ply"] <= match.num_opening else f", {row['ms']} ms"
        click.echo(f"\nply {row['ply']}: {row['side']} {row['move']}{given}{value}")
        draw_board(game, state)
    click.echo(f"\n{RESULT[match.outcome]} {match.reason}")


def show_tournament(store: Store, record: TournamentRecord, form: str) -> None:
    """Print one tournament: what it is, who plays, how far it is."""
    from arena.cli.standings import print_standings
    from arena.leaderboard.views import standings

    entrants = store.entrants(record.id)
    if form == "json":
        values = {**msgspec.to_builtins(record), "entrants": msgspec.to_builtins(entrants)}
        emit_object("tournament", {**values, "created_at": utc(record.created_at)})
        return
    click.echo(f"{record.name}  {record.type}  {record.game}  {record.pool}  {record.state}")
    click.echo(
        f"{record.num_done}/{record.num_planned} matches, seed {record.seed}, begun {utc(record.created_at)}"
    )
    for entrant in entrants:
        bot = entrant.bot
        click.echo(
            f"  {entrant.label}  {bot.distribution} {bot.version}  {bot.identity[:12]}  {entrant.limit}".rstrip()
        )
    print_standings(standings(store, record.name), "table")


def draw_board(game: Game, state: State) -> None:
    """Draw a position with rich: X moves first, O second, the last stone in brackets."""
    from rich.text import Text

    rows, columns = game.shape
    before = state.cells if not state.history else _replayed(game, state.history[:-1]).cells
    board = Text()
    for row in range(rows):
        for column in range(columns):
            cell = row * columns + column
            mark = _MARKS[state.cells[cell]]
            is_last = bool(state.history) and before[cell] != state.cells[cell]
            style = ("", "bold red", "bold yellow")[state.cells[cell]]
            board.append(f"[{mark}]" if is_last else f" {mark} ", style=style)
        board.append("\n")
    console().print(board, end="")


def _headline(match: StoredMatch) -> str:
    game = game_spec(load_game(match.game))
    return f"#{match.id} {game}  {match.first_label} (X) vs {match.second_label} (O)  {RESULT[match.outcome]}"


def _states(game: Game, match: StoredMatch) -> list[State]:
    states = [game.initial_state()]
    for action in match.actions:
        states.append(states[-1].child(action))
    return states


def _replayed(game: Game, actions: tuple[int, ...]) -> State:
    state = game.initial_state()
    for action in actions:
        state = state.child(action)
    return state


def _moves(game: Game, match: StoredMatch, states: list[State]) -> list[dict[str, Any]]:
    return [
        {
            "ply": ply + 1,
            "side": "XO"[states[ply].current_player],
            "move": game.move(states[ply], action),
            "ms": match.times_ms[ply],
            "value": match.values[ply],
        }
        for ply, action in enumerate(match.actions)
    ]
