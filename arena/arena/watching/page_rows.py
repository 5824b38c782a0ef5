"""Pages about bots as rows of text with their link targets, for screens and for commands."""

from __future__ import annotations

from datetime import UTC, datetime
from textwrap import wrap
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from arena.live.columns import TextColumn, lay_out
from arena.results.names import shortened

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from arena.results.bot_page import BotPage, Opponent
    from arena.results.crosstable import Cell
    from arena.results.play_statistics import Loss, Mistakes, OpeningResult
    from arena.results.versus import PoolMeeting, Versus

_NUM_OPENINGS: Final = 12
_NUM_OPPONENTS: Final = 100
_NAME_WIDTHS: Final = ((160, 32), (110, 20), (0, 12))
"""Width of a name in cells, by minimum width of the terminal."""
_LEAST_WIDTH: Final = 20
"""Minimum width in cells to which lines are wrapped."""
_DAY: Final = len("2026-11-23")

_MATCHES: Final = (
    TextColumn("match", is_name=True),
    TextColumn("date", 3),
    TextColumn("side", 1, is_name=True),
    TextColumn("points"),
    TextColumn("plies", 2),
    TextColumn("end", 4, is_name=True),
)
_CELLS: Final = (
    TextColumn("opponent", is_name=True),
    TextColumn("n"),
    TextColumn("score"),
    TextColumn("Elo"),
    TextColumn("+/-"),
    TextColumn("LOS", 1),
    TextColumn("W-D-L", 4),
    TextColumn("openings", 3),
    TextColumn("forfeits", 2),
    TextColumn("first", 6),
    TextColumn("second", 7),
    TextColumn("pool", 5, is_name=True),
)
_LOSSES: Final = (
    TextColumn("match", is_name=True),
    TextColumn("opponent", is_name=True),
    TextColumn("side", 3, is_name=True),
    TextColumn("expected"),
    TextColumn("mistake at", 1),
    TextColumn("plies", 2),
    TextColumn("date", 5),
    TextColumn("end", 4, is_name=True),
)
_VERSIONS: Final = (
    TextColumn("first played", 3),
    TextColumn("bot", is_name=True),
    TextColumn("version", 2, is_name=True),
    TextColumn("n"),
    TextColumn("rank", 1),
    TextColumn("Elo"),
    TextColumn("+/-"),
    TextColumn("forfeits", 5),
    TextColumn("pool", 4, is_name=True),
)
_PLIES: Final = (TextColumn("ply"), TextColumn("judged"), TextColumn("mistakes"), TextColumn("share"))
_OPENINGS: Final = (
    TextColumn("opening", is_name=True),
    TextColumn("n"),
    TextColumn("score"),
    TextColumn("W-D-L", 1),
    TextColumn("graded", 2),
    TextColumn("mistakes", 3),
)
_ENTRIES: Final = (
    TextColumn("tournament", is_name=True),
    TextColumn("date", 1),
    TextColumn("bot", 2, is_name=True),
    TextColumn("W-D-L"),
    TextColumn("Elo"),
    TextColumn("+/-"),
    TextColumn("forfeits", 3),
    TextColumn("pool", 4, is_name=True),
    TextColumn("called", 5, is_name=True),
)
_FAULTS: Final = (TextColumn("kind", is_name=True), TextColumn("matches"))

Style = Literal["", "title", "dim"]


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """The target of a row's link."""

    match: int = 0
    """Id of a match in the store; 0 for none."""
    ply: int | None = None
    """Number of plies that are shown first; None for those of the opening."""
    bot: str = ""
    """The bot of the page, or the first bot of a head-to-head; empty for a match."""
    opponent: str = ""
    """The other bot of a head-to-head; empty for the page of the bot alone."""


class PageRow(msgspec.Struct, frozen=True):
    """A line of a page."""

    text: str
    style: Style = ""
    target: Target | None = None


def bot_rows(page: BotPage, width: int | None = None) -> list[PageRow]:
    """Return the page of a bot as rows.

    Args:
        page: the page.
        width: cells of the terminal; None for no limit, with full names.
    """
    names = _names([name for row in page.opponents for name in (row.cell.bot, row.cell.opponent)], width)
    plural = "" if page.games == 1 else "es"
    rows = [PageRow(f"{page.bot}  {page.games} rated match{plural}, {page.losses} lost", "title")]
    rows += _opponent_rows(page, names, width)
    rows += _loss_rows(page.worst, f"worst losses of {page.losses}", names, width)
    rows += _version_rows(page, names, width)
    rows += _mistake_rows(page.mistakes, width)
    rows += _opening_rows(page.openings, width)
    rows += _entry_rows(page, names, width)
    rows += _fault_rows(page, width)
    return rows


def versus_rows(found: Versus, width: int | None = None) -> list[PageRow]:
    """Return two bots head to head as rows; see `bot_rows`."""
    first = found.meetings[0]
    cell = first.cell
    names = _names([name for each in found.meetings for name in (each.cell.bot, each.cell.opponent)], width)
    rows = [PageRow(f"{names[cell.bot]} v {names[cell.opponent]}  {first.game}, {first.pool}", "title")]
    rows += [PageRow(part) for line in first.lines for part in _wrapped(line, width)]
    if any((cell.forfeits, cell.opponent_forfeits)):
        rows.append(PageRow(f"Forfeits: {cell.forfeits} - {cell.opponent_forfeits}"))
    if len(found.meetings) > 1:
        rows += _heading("all meetings: the first one is shown in full")
        rows += _cell_rows(found.meetings, names, width, has_own=True)
    rows += _loss_rows(first.worst, f"worst losses of {names[cell.bot]}", names, width)
    rows += _loss_rows(first.opponent_worst, f"worst losses of {names[cell.opponent]}", names, width)
    rows += _opening_rows(first.openings, width)
    rows += _mistake_rows(first.mistakes, width)
    rows += _heading(f"newest matches of {cell.games}")
    rows += _table(
        _MATCHES,
        [
            (one.address, _day(one.started_at), one.side, f"{one.points:g}", str(one.plies), one.ending)
            for one in first.matches
        ],
        width,
        [Target(match=one.match) for one in first.matches],
    )
    return rows


def _wrapped(line: str, width: int | None) -> list[str]:
    """Return a line wrapped to a width, indented from the second line on."""
    if width is None:
        return [line]
    return wrap(line, max(width, _LEAST_WIDTH), subsequent_indent="  ") or [""]


def _heading(text: str) -> list[PageRow]:
    return [PageRow(""), PageRow(text, "title")]


def _table(
    columns: Sequence[TextColumn],
    rows: Sequence[Sequence[str]],
    width: int | None,
    targets: Sequence[Target | None] = (),
) -> list[PageRow]:
    """Return a table as rows with a dimmed header."""
    if not rows:
        return [PageRow("none", "dim")]
    head, *lines = lay_out(columns, rows, width)
    leads = targets or [None] * len(lines)
    return [
        PageRow(head, "dim"),
        *(PageRow(line, "", target) for line, target in zip(lines, leads, strict=True)),
    ]


def _opponent_rows(page: BotPage, names: Mapping[str, str], width: int | None) -> Iterator[PageRow]:
    shown = page.opponents[:_NUM_OPPONENTS]
    yield from _heading("against each opponent")
    yield from _cell_rows(shown, names, width, has_own=len({row.identity for row in page.opponents}) > 1)
    yield from _more(len(page.opponents) - len(shown))


def _cell_rows(
    met: Sequence[Opponent | PoolMeeting],
    names: Mapping[str, str],
    width: int | None,
    *,
    has_own: bool,
) -> list[PageRow]:
    """Return encounters as rows.

    Two bots may meet in several pools: game and pool, which distinguish these, are among the last columns to
    be dropped.
    """
    games, pools = {each.game for each in met}, {(each.game, each.pool) for each in met}
    has_game = len(games) > 1
    *rest, pool = _CELLS
    columns = (
        *((TextColumn("bot", is_name=True),) if has_own else ()),
        *rest,
        *((TextColumn("game", 1, is_name=True),) if has_game else ()),
        TextColumn(pool.head, 1 if len(pools) > len(games) else pool.rank, is_name=True),
    )
    return _table(
        columns,
        [
            (
                *((names[cell.bot],) if has_own else ()),
                *(names[cell.opponent], str(cell.games), _percent(cell.score), _elo(cell)),
                *(_whole(cell.error), _percent(cell.los), f"{cell.wins}-{cell.draws}-{cell.losses}"),
                *(str(cell.openings), f"{cell.forfeits}-{cell.opponent_forfeits}"),
                *("{}-{}-{}".format(*cell.moving_first), "{}-{}-{}".format(*cell.moving_second)),
                *((each.game,) if has_game else ()),
                each.pool,
            )
            for each in met
            for cell in [each.cell]
        ],
        width,
        [Target(bot=f"~{each.identity}", opponent=f"~{each.opponent_identity}") for each in met],
    )


def _loss_rows(
    losses: Sequence[Loss], title: str, names: Mapping[str, str], width: int | None
) -> Iterator[PageRow]:
    yield from _heading(f"{title}: most expected points, then earliest mistake")
    yield from _table(
        _LOSSES,
        [
            (
                *(loss.address, names.get(loss.opponent, loss.opponent), loss.side),
                *(_percent(loss.expected), _whole(loss.mistake), str(loss.plies), _day(loss.started_at)),
                loss.ending,
            )
            for loss in losses
        ],
        width,
        [Target(match=loss.match, ply=loss.mistake) for loss in losses],
    )


def _version_rows(page: BotPage, names: Mapping[str, str], width: int | None) -> Iterator[PageRow]:
    yield from _heading("Elo over versions, by all their matches in one pool")
    yield from _table(
        _VERSIONS,
        [
            (
                *(_day(each.first_at), names.get(each.name, each.name), each.version or "-"),
                *(str(each.games), str(each.rank), f"{each.elo:.0f}{'?' * each.rests_on_prior}"),
                *(_whole(each.error), str(each.forfeits), f"{each.game}, {each.pool}"),
            )
            for each in page.versions
        ],
        width,
        [Target(bot=f"~{each.identity}") for each in page.versions],
    )


def _mistake_rows(found: Mistakes, width: int | None) -> Iterator[PageRow]:
    by = f" by {found.judge}" if found.judge else ""
    yield from _heading(f"mistakes by ply: graded {found.graded} of {found.games}{by}")
    if not found.graded:
        yield PageRow("no match of it is graded; arena grade ADDRESS judges matches", "dim")
        return
    if found.read < found.graded:
        yield PageRow(f"the newest {found.read} of these are counted", "dim")
    yield from _table(
        _PLIES,
        [
            (
                *(str(each.ply), str(each.judged), str(each.mistakes)),
                _percent(each.mistakes / each.judged),
            )
            for each in found.plies
            if each.mistakes
        ],
        width,
    )


def _opening_rows(openings: Sequence[OpeningResult], width: int | None) -> Iterator[PageRow]:
    shown = openings[:_NUM_OPENINGS]
    yield from _heading(f"openings {len(openings)}: most matches first")
    yield from _table(
        _OPENINGS,
        [
            (
                *(one.moves or "none", str(one.games), _percent(one.score)),
                *(f"{one.wins}-{one.draws}-{one.losses}", str(one.graded), str(one.mistakes)),
            )
            for one in shown
        ],
        width,
        [Target(match=one.match) for one in shown],
    )
    yield from _more(len(openings) - len(shown))


def _entry_rows(page: BotPage, names: Mapping[str, str], width: int | None) -> Iterator[PageRow]:
    yield from _heading("tournaments, newest first: Elo is relative to the mean of each (1500)")
    yield from _table(
        _ENTRIES,
        [
            (
                *(each.tournament, _day(each.created_at), names.get(each.name, each.name)),
                *(f"{each.wins}-{each.draws}-{each.losses}", _whole(each.elo), _whole(each.error)),
                *(str(each.forfeits), f"{each.game}, {each.pool}", each.label),
            )
            for each in page.tournaments
        ],
        width,
    )
    if any(each.elo is None for each in page.tournaments):
        yield PageRow("-: no ratings were kept then; arena bots history computes them", "dim")


def _fault_rows(page: BotPage, width: int | None) -> Iterator[PageRow]:
    yield from _heading("forfeits of all matches, unrated ones too")
    yield from _table(
        _FAULTS,
        [(fault.termination, str(fault.matches)) for fault in page.faults],
        width,
        [None if fault.newest is None else Target(match=fault.newest) for fault in page.faults],
    )


def _more(num: int) -> Iterable[PageRow]:
    return [PageRow(f"{num} more: the command prints all with --format json", "dim")] if num > 0 else []


def _names(names: Sequence[str], width: int | None) -> Mapping[str, str]:
    """Return the names of bots on a page of this width: in full, or shortened to unique labels."""
    known = sorted(set(names))
    if width is None or not known:
        return {name: name for name in known}
    cells = next(cells for least, cells in _NAME_WIDTHS if width >= least)
    return dict(zip(known, shortened(known, cells), strict=True))


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}%"


def _whole(number: float | None) -> str:
    return "-" if number is None else f"{number:.0f}"


def _elo(cell: Cell) -> str:
    if cell.elo is None:
        return "-"
    return f"{cell.elo:+z.0f}{'' if cell.elo_low is not None and cell.elo_high is not None else '?'}"


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()[:_DAY]
