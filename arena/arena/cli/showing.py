"""Prints one match or one tournament in full, with boards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec

from arena.cli.output import console, emit_one, print_table, say
from arena.cli.standings import print_event, print_refused, print_standings
from arena.cli.text_board import draw_board
from arena.coordinator.config import refusals
from arena.coordinator.event_tables import event_tables
from arena.coordinator.holder import heard_of
from arena.errors import ArenaError, IllegalMoveError, InvalidMoveError
from arena.live.tournament_views import STATES
from arena.naming import count_text
from arena.results.addresses import address_of
from arena.results.corrections import ending_of
from arena.results.grades import analysis_of, grades_of, line_of, preferred, restored
from arena.results.rating_tables import standings
from arena.results.sequential import report_of
from arena.results.tested import kind_of
from arena.results.tournament_states import refusal_of, state_of
from arena.watching.json_rows import utc
from arena.watching.objects import RESULT
from arena.watching.whole_objects import whole_match, whole_tournament
from arena_plugins import load_game

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.analysis import Analysis, Ply
    from arena.live.replay_views import PlyGrade
    from arena_db.records import Remark, StoredMatch, TournamentRecord
    from arena_db.store import Store
    from arena_plugins import Game, State

_COLUMNS = {"ply": "Ply", "side": "", "move": "Move", "ms": "ms", "value": "Value"}
_SAID = {"depth": "Depth", "nodes": "Nodes", "pv": "Line", "text": "Text", "grade": "Grade"}
"""Columns that are shown only if a bot or judge supplied such a value."""
_MAX_LINE = 8
"""Maximum number of moves shown of a line; JSON has all."""


def show_match(store: Store, match: StoredMatch, form: str, ply: int | None = None) -> None:
    """Print one match: players, times, how it ended, a board, all moves and the remarks of the bots.

    Args:
        store: the store of the match.
        match: the match.
        form: table or json.
        ply: show the board after this number of plies; None shows the end.
    """
    if form != "table":
        emit_one("match", whole_match(store, match), form)
        return
    remarks = store.matches.remarks([match.id]).get(match.id) or (None,) * len(match.actions)
    game = load_game(match.game)
    states = _states(game, match)
    say(_headline(match))
    # The sentence about a forfeit already ends with the termination.
    termination = "" if f"({match.termination})" in match.reason else f"{match.termination}, "
    say(f"{ending_of(match)}; {termination}{len(match.actions)} plies, {match.duration_ms / 1000:.1f} s")
    say(
        f"number {match.id} of the store, {utc(match.started_at, 'seconds')}"
        f"{'' if match.rated else ', unrated'}"
    )
    say(f"seeds {match.seed_first} {match.seed_second}")
    change = store.changes.void_change(match.id) if match.void_reason else None
    if change is not None:
        say(f"void since {utc(change.made_at, 'seconds')}, by {change.who}; no table counts it")
    say(_how_it_was_run(match))
    at = len(match.actions) if ply is None else ply
    if ply is not None:
        say(f"after ply {ply} of {len(match.actions)}:")
    _print_board(game, states[at], states[at - 1] if at else None)
    _print_plies(game, states, match, remarks, _stored_grades(store, match))
    analysis = analysis_of(store, match)
    if analysis is not None:
        print_sides(match, analysis)
    if match.fault:
        click.echo("Evidence of the fault:")
        evidence: dict[str, object] = msgspec.json.decode(match.fault)
        for key, value in evidence.items():
            first, *more = str(value).splitlines() or [""]
            if more:
                # Print a traceback line by line, so that its indentation stays readable.
                first, more = "", [first, *more]
            say(f"  {key}: {first}".rstrip())
            for line in more:
                say(f"    {line}")


def _print_plies(
    game: Game,
    states: list[State],
    match: StoredMatch,
    remarks: Sequence[Remark | None],
    grades: Sequence[PlyGrade | None],
) -> None:
    """Print a line for each ply; those of the opening have no time and no remarks."""
    rows: list[dict[str, object]] = [
        {
            "ply": ply + 1,
            "side": "XO"[states[ply].current_player],
            "move": game.move(states[ply], action),
            "ms": "opening" if ply < match.num_opening else match.times_ms[ply],
            "value": _claim(match.values[ply]),
            "depth": remark and remark.depth,
            "nodes": remark and remark.nodes,
            "pv": remark and remark.pv and _line(game, states[ply], remark.pv),
            "text": remark and remark.text,
            "grade": (grade and _mark_text(grade)) or None,
        }
        for ply, (action, remark, grade) in enumerate(zip(match.actions, remarks, grades, strict=True))
    ]
    said = {key: header for key, header in _SAID.items() if any(row[key] is not None for row in rows)}
    print_table(rows, _COLUMNS | said)


def _line(game: Game, state: State, actions: Sequence[int]) -> str:
    """Return the line of a search as moves, up to the first illegal one."""
    moves = line_of(game, state, actions[:_MAX_LINE])
    if len(moves) < len(actions[:_MAX_LINE]):
        return " ".join([*moves, f"({actions[len(moves)]} is not legal)"])
    return " ".join([*moves, "..."] if len(actions) > _MAX_LINE else moves)


def replay_match(store: Store, match: StoredMatch, ply: int | None = None) -> None:
    """Print every position of a match, or the one after `ply` plies, with the grades of a judge."""
    game = load_game(match.game)
    grades = _stored_grades(store, match)
    states = _states(game, match)
    say(_headline(match))
    if not ply:
        _print_board(game, states[0], None)
        _print_advice(game, states[0], grades[0] if grades else None)
    for at, action in enumerate(match.actions):
        if ply is not None and at + 1 != ply:
            continue
        side = "XO"[states[at].current_player]
        given = "opening" if at < match.num_opening else f"{match.times_ms[at]} ms"
        claim = _claim(match.values[at])
        expects = "" if claim is None else f", expects {claim}"
        click.echo()
        gave = _mark_text(grades[at])
        gave = f"; {gave}" if gave else ""
        say(f"ply {at + 1}: {side} {game.move(states[at], action)}, {given}{expects}{gave}")
        _print_board(game, states[at + 1], states[at])
        _print_advice(game, states[at + 1], grades[at + 1] if at + 1 < len(grades) else None)
    click.echo()
    say(f"{RESULT[match.outcome]} {ending_of(match)}")


def show_tournament(store: Store, record: TournamentRecord, form: str) -> None:
    """Print one tournament: its settings, its bots, its progress."""
    if form != "table":
        emit_one("tournament", whole_tournament(store, record), form)
        return
    entrants, lease = store.tournaments.entrants(record.id), store.leases.find(record.id)
    state = STATES[state_of(store, record)]
    say(f"{record.name}  {kind_of(record)}  {record.game}  {record.pool.name}  {state}")
    if lease is not None and lease.is_alive:
        say(f"held by {heard_of(lease)}")
    say(
        f"{count_text(record.num_done, record.num_total)} matches, seed {record.seed}, "
        f"begun {utc(record.created_at, 'seconds')}"
    )
    if refused := refusal_of(record):
        say(f"refused: {refused}; arena resume {record.name} tries again")
    origin = store.transfers.origin(record.id)
    if origin is not None:
        say(f"a read-only copy, merged from {origin.source} on {utc(origin.merged_at, 'seconds')}")
    for entrant in entrants:
        bot = entrant.bot
        limit = f"  {entrant.limit}" if entrant.limit else ""
        say(f"  {entrant.label}  {bot.distribution} {bot.version}  {bot.identity[:12]}{limit}")
    report = report_of(store, record)
    if report is not None:
        for line in (report.llr_line(), report.cost_line(), report.verdict() or "not decided yet"):
            say(line)
    print_standings(standings(store, record), "table")
    print_event(event_tables(store, record))
    for change in store.changes.of(record.id):
        why = f" ({change.reason})" if change.reason else ""
        say(f"{utc(change.made_at, 'seconds')} {change.who}: {change.kind} {change.subject}".rstrip() + why)
    print_refused(refusals(record.config))


def _stored_grades(store: Store, match: StoredMatch) -> tuple[PlyGrade | None, ...]:
    """Return the stored grades of a judge, one per action; None for plies not judged yet."""
    stored = preferred(store.analyses.of([match.id]).get(match.id, ()))
    if stored is None:
        return (None,) * len(match.actions)
    game = load_game(match.game)
    return grades_of(game, match.actions, restored(game, match.actions, match.num_opening, stored))


def _mark_text(grade: PlyGrade | None) -> str:
    return "" if grade is None else f"{grade.mark} {grade.text}".strip()


def _print_advice(game: Game, state: State, grade: PlyGrade | None) -> None:
    """Print a judge's view of a position: its best moves and line, and the score of every move."""
    if grade is None:
        return
    say(grade.advice)
    scores = (f"{game.move(state, action)} {text}" for action, text in grade.scores.items())
    say(f"scores: {', '.join(scores)}")


def print_mistakes(match: StoredMatch, analysis: Analysis) -> None:
    """Print each mistake of a judged match with better moves, and the accuracy of each side."""
    game = load_game(match.game)
    states = _states(game, match)
    for ply, grade in zip(analysis.plies, grades_of(game, match.actions, analysis), strict=True):
        if grade is not None and grade.mark:
            move = game.move(states[ply.ply], ply.action)
            say(f"ply {ply.ply + 1}: {'XO'[ply.player]} {move} {_mark_text(grade)}; {grade.advice}")
    print_sides(match, analysis)


def print_sides(match: StoredMatch, analysis: Analysis) -> None:
    """Print how well each side played according to a judge."""
    game = load_game(match.game)
    states = _states(game, match)
    for label, side in zip((match.first_label, match.second_label), analysis.sides, strict=True):
        share = "-" if side.accuracy is None else f"{side.accuracy:.1%}"
        known = [f"{side.optimal} of {side.judged} moves give nothing away"] if side.judged else []
        unknown = [f"{side.unknown} not solved"] if side.unknown else []
        say(f"{label}: accuracy {share} ({', '.join(known + unknown) or 'no moves'})")
        if side.first_blunder is not None:
            grade = grades_of(game, match.actions, analysis)[side.first_blunder.ply]
            say(f"  first blunder: {_blunder(game, states, side.first_blunder, grade)}")


def _blunder(game: Game, states: list[State], blunder: Ply, grade: PlyGrade | None) -> str:
    state = states[blunder.ply]
    better = ", ".join(game.move(state, action) for action in blunder.best)
    gave = grade.text if grade is not None else ""
    return f"ply {blunder.ply + 1}, {game.move(state, blunder.action)} {gave}; best: {better}"


def _how_it_was_run(match: StoredMatch) -> str:
    """Return the CPU that both bots used while waiting, the tier, limits and runtimes, if they are known."""
    used = {"first": match.idle_cpu_first_ms, "second": match.idle_cpu_second_ms}
    idle = ", ".join(f"{side} {used_ms:.1f} ms" for side, used_ms in used.items() if used_ms is not None)
    runtimes = {"first": match.runtime_first, "second": match.runtime_second}
    if match.runtime_first == match.runtime_second:
        runtimes = {"": match.runtime_first}
    known = ", ".join(f"{side} {runtime}".strip() for side, runtime in runtimes.items() if runtime)
    facts = [f"tier {match.tier}"]
    if match.limits:
        facts.append(f"limits {match.limits}")
    if known:
        facts.append(f"runtime {known}")
    return (f"idle CPU  {idle}     " if idle else "") + ", ".join(facts)


def _headline(match: StoredMatch) -> str:
    players = f"{match.first_label} (X) vs {match.second_label} (O)"
    return f"{address_of(match)} {match.game}  {players}  {RESULT[match.outcome]}"


def _claim(value: float | None) -> str | None:
    return None if value is None else f"{value:+.2f}"


def _states(game: Game, match: StoredMatch) -> list[State]:
    states = [game.initial_state()]
    try:
        for action in match.actions:
            states.append(states[-1].child(action))
    except (IllegalMoveError, InvalidMoveError) as error:
        raise ArenaError(
            f"match {address_of(match)} cannot be replayed: {error}, at ply {len(states)}; "
            f"arena show {address_of(match)} --format json prints what is stored"
        ) from error
    return states


def _print_board(game: Game, state: State, before: State | None) -> None:
    console().print(draw_board(game, state, before), end="")
