"""Tables of ratings, encounters and matches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from arena.pages.html import Child, Html, breakable, el, join
from arena.pages.numbers import day_text, elo_text, error_text, iso_text, percent_text
from arena.pages.strokes import RatingStroke, drawn, scale_of
from arena.results.table_notes import SPLIT, UNBOUNDED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from arena.live.table_views import MatchRow, MatrixCell, MatrixView, StandingsView
    from arena.pages.links import Links
    from arena.results.brackets import BracketRow
    from arena.results.place_table import PlaceRow

BEGAN: Final = "Began (UTC)"
_ITSELF: Final = el("td", el("span", "itself", class_="unseen"), class_="self")
LOS: Final = "LOS: how likely it is that the bot is stronger than the next one."
"""Explanation of the column LOS of `standings`."""
_TIE_BREAKS: Final = (
    "Equal points are separated by the columns behind them, from left to right. Buchholz: the points of all "
    "opponents; Cut 1 leaves out the lowest, Median the lowest and the highest. S-B: the points taken from "
    "each opponent, times that opponent's points. Direct: the points against bots with equal points. W: "
    "matches won."
)
"""Explanation of the columns of a table by place."""
_STANDINGS: Final = {"out": "disqualified"}
"""Full words for abbreviations in the small tables of the dashboard and of live pages."""
_SHADES = 9
"""Number of shades of a crosstable cell, from all lost to all won."""
MOST_DETAILED: Final = 20
"""Maximum number of bots of a crosstable whose cells have results and links: 45 kB of HTML."""
MOST_RANKED: Final = 150
"""Maximum number of bots in a table of ratings: 55 kB of HTML."""
MOST_CROSSED: Final = 45
"""Maximum number of bots in a crosstable: 55 kB of HTML, and as many columns as anybody can compare."""
_RESULTS: Final = (
    "Score of the row against the column in percent, and its wins, draws and losses. Columns are numbered as "
    "the rows; a score leads to the two bots head to head."
)
_SCORES: Final = (
    "Score of the row against the column in percent. Columns are numbered as the rows; the page of a bot has "
    "its wins, draws and losses against each opponent, and leads to the two bots head to head."
)
_UNRANKED: Final = (
    "The page of each bot has its rating, its address is in the list of bots, and the JSON of this page has "
    "the whole table."
)
_OTHERS: Final = (
    "The page of a bot has its results against all others, and the JSON of this page has the whole table."
)


def table(
    heads: Sequence[tuple[str, str]], rows: Iterable[Sequence[Child]], caption: str, look: str = ""
) -> Html:
    """Return a table in a frame of its own, which scrolls if it is wider than the page.

    Args:
        heads: for each column its heading, and the class of all its cells.
        rows: the cells; `Html` that is a whole `td` or `th` is used unchanged.
        caption: description of the table for screen readers.
        look: a class for the whole table; in a `numeric` one each cell is a number unless its class says
            otherwise.
    """
    head = el("tr", *(el("th", words, scope="col", class_=kind or None) for words, kind in heads))
    kinds = [_untold(kind) if look == "numeric" else kind for _, kind in heads]
    # The first column of class name is the row's header cell.
    subject = next((place for place, kind in enumerate(kinds) if kind.startswith("name")), -1)
    body = (
        el("tr", *(_cell(child, kinds[place], place == subject) for place, child in enumerate(row)))
        for row in rows
    )
    return el(
        "div",
        el(
            "table",
            el("caption", caption, class_="quiet"),
            el("thead", head),
            el("tbody", *body),
            class_=look or None,
        ),
        class_="wide",
        tabindex="0",
        role="region",
        aria_label=caption,
    )


def standings(view: StandingsView, links: Links, identities: Mapping[str, str]) -> Html:
    """Return a table of ratings, best first.

    Args:
        view: the rows.
        links: addresses of other pages.
        identities: identities of the bots, by name.
    """
    if not view.rows:
        return el("p", "No rated match has been played yet.", class_="note")
    num, view = len(view.rows), first_rows(view, MOST_RANKED)
    has_faults = any(row.faults for row in view.rows)
    heads = [
        ("#", "n"),
        ("Bot", "name"),
        ("Elo", "n"),
        ("+/-", "n quiet"),
        ("95 % interval", "stroke"),
        ("Score", "n"),
        ("Matches", "n"),
        ("W", "n w"),
        ("D", "n d"),
        ("L", "n l"),
        ("LOS", "n"),
        *([("Forfeits", "n")] if has_faults else []),
    ]
    strokes = [RatingStroke(row.elo, row.elo_low, row.elo_high) for row in view.rows]
    scale = scale_of(strokes)
    rows = (
        [
            row.place,
            join(
                bot_link(row.name, links.bot(identities.get(row.name, ""))),
                el("small", f" {_STANDINGS.get(row.standing, row.standing)}", class_="quiet")
                if row.standing
                else None,
            ),
            elo_text(row),
            error_text(row.error),
            drawn(stroke, scale) if row.games else None,
            percent_text(row.points / row.games if row.games else None),
            row.games,
            row.wins,
            row.draws,
            row.losses,
            percent_text(row.los),
            *([row.faults or ""] if has_faults else []),
        ]
        for row, stroke in zip(view.rows, strokes, strict=True)
    )
    cut = [f"The first {MOST_RANKED} of {num} bots. {_UNRANKED}"] if num > MOST_RANKED else []
    caption = f"{view.title}: ratings, best first"
    return join(table(heads, rows, caption, "numeric"), notes([*cut, *signs(view), *view.notes]))


def first_rows(view: StandingsView, most: int) -> StandingsView:
    """Return a table of ratings with at most `most` rows; scale, columns and notes depend only on these."""
    return view if len(view.rows) <= most else replace(view, rows=view.rows[:most])


def signs(view: StandingsView) -> list[str]:
    """Return the meaning of each sign that occurs in a table of ratings."""
    found = [UNBOUNDED] if any(row.rests_on_prior for row in view.rows) else []
    return [*found, SPLIT] if any(row.table for row in view.rows) else found


def notes(sentences: Iterable[str]) -> Html | None:
    """Return notes on a table, a paragraph each."""
    found = [el("p", sentence, class_="note") for sentence in sentences]
    return join(*found) if found else None


def bot_link(name: str, address: str | None) -> Html:
    """Return the name of a bot, as a link if it has a page."""
    words = breakable(name)
    return el("a", words, href=address) if address else el("span", words)


def matrix(view: MatrixView, links: Links, tournament: str, identities: Mapping[str, str]) -> Html:
    """Return a crosstable: rows against columns, which are headed by the ranks of the rows.

    With more than `MOST_DETAILED` bots the cells contain only scores: with results and links, a table of 40
    bots would be four times as large and need 1,560 presses of the tab key. At most `MOST_CROSSED` bots are
    shown, the best ones.

    Args:
        view: the cells.
        links: addresses of other pages.
        tournament: name of the tournament.
        identities: identities of the bots, by name.
    """
    num = len(view.names)
    is_small, most = num <= MOST_DETAILED, min(num, MOST_CROSSED)
    known = [identities.get(name, "") for name in view.names[:most]]
    heads = [("#", "n"), ("Bot", "name"), *((rank, "cell") for rank in view.ranks[:most])]
    rows = (
        [
            rank,
            bot_link(name, links.bot(one)),
            *(
                _met(cell, links.versus(tournament, one, identity)) if is_small else _score(cell)
                for cell, identity in zip(line, known, strict=False)
            ),
        ]
        for rank, name, one, line in zip(view.ranks, view.names, known, view.cells, strict=False)
    )
    what = "the best of them" if most < num else "each bot"
    return join(
        table(
            heads,
            rows,
            f"{view.title}: {what} against each other",
            "grid" if is_small else "grid close",
        ),
        el("p", _RESULTS if is_small else _SCORES, class_="quiet"),
        el("p", f"The best {most} of {num} bots. {_OTHERS}", class_="quiet") if most < num else None,
    )


def _met(cell: MatrixCell | None, address: str | None) -> Html:
    """Return a cell with the score, which leads to the two bots head to head, and the results."""
    if cell is None or cell.score is None:
        return _score(cell)
    score = _percent(cell.score)
    return el(
        "td",
        el("a", score, href=address) if address else el("b", score),
        el("small", f"{cell.wins}-{cell.draws}-{cell.losses}"),
        class_=_shade(cell.score),
    )


def _score(cell: MatrixCell | None) -> Html:
    """Return a cell with only the score."""
    if cell is None:
        return _ITSELF
    return el("td", "-") if cell.score is None else el("td", _percent(cell.score), class_=_shade(cell.score))


def _percent(score: float) -> str:
    return f"{100 * score:.0f}"


def _shade(score: float) -> str:
    return f"h{min(_SHADES - 1, int(score * _SHADES))}"


def places(rows: Sequence[PlaceRow], links: Links, identities: Mapping[str, str]) -> Html:
    """Return a table by place with its tie-breaks.

    Args:
        rows: the places.
        links: addresses of other pages.
        identities: identities of the bots, by name.
    """
    heads = [
        ("Place", "n"),
        ("Bot", "name"),
        ("Points", "n"),
        ("Buchholz", "n"),
        ("Cut 1", "n"),
        ("Median", "n"),
        ("S-B", "n"),
        ("Direct", "n"),
        ("W", "n"),
    ]
    body = (
        [
            row.place,
            bot_link(row.name, links.bot(identities.get(row.name, ""))),
            f"{row.points:g}",
            f"{row.buchholz:g}",
            f"{row.cut_one:g}",
            f"{row.median:g}",
            f"{row.sonneborn_berger:g}",
            "" if row.direct is None else f"{row.direct:g}",
            row.wins,
        ]
        for row in rows
    )
    return join(table(heads, body, "Places: points, then tie-breaks"), notes([_TIE_BREAKS]))


def bracket(rows: Sequence[BracketRow]) -> Html:
    """Return a bracket: a column for each stage, a box for each encounter."""
    shown = [row for row in rows if row.why != "bye" and row.state != "not needed"]
    stages = sorted({row.stage for row in shown})
    columns = (
        el("ol", *(_tie(row) for row in shown if row.stage == stage), class_="stage") for stage in stages
    )
    return el("div", *columns, class_="wide bracket", tabindex="0", role="region", aria_label="Bracket")


def _tie(row: BracketRow) -> Html:
    def side(label: str | None, origin: str, points: float) -> Html:
        is_winner = label is not None and label == row.winner
        return el(
            "span",
            el("span", breakable(label or origin), class_="name" if label else "name quiet"),
            el("b", "" if row.state == "waiting" else f"{points:g}"),
            " ✓" if is_winner else None,
            class_="side won" if is_winner else "side",
        )

    return el(
        "li",
        el("h3", row.encounter),
        side(row.first, row.first_origin, row.first_points),
        side(row.second, row.second_origin, row.second_points),
        el("small", row.why or row.state, class_="quiet"),
        class_="tie",
    )


def matches(rows: Sequence[MatchRow], links: Links, caption: str, when: str = BEGAN) -> Html:
    """Return a list of matches, each with a link to its page, if it has one.

    Args:
        rows: the matches.
        links: addresses of other pages.
        caption: caption of the table.
        when: heading of the column of times.
    """
    heads = [
        ("Match", "name id"),
        ("First", "name"),
        ("Result", "n"),
        ("Second", "name"),
        ("By", ""),
        ("Plies", "n"),
        (when, "quiet"),
    ]
    return table(heads, (_match(row, links) for row in rows), caption)


def _match(row: MatchRow, links: Links) -> list[Child]:
    address = links.match(row.tournament, row.number, row.attempt, row.outcome)
    return [
        el("a", row.address, href=address) if address else row.address,
        _side(row.names[0], is_winner=row.outcome == "first"),
        row.result,
        _side(row.names[1], is_winner=row.outcome == "second"),
        _ending(row),
        row.plies,
        el("time", day_text(row.t), datetime=iso_text(row.t)),
    ]


def _ending(row: MatchRow) -> Html | str:
    """Return how a match ended; if it was declared void later, this fact and the reason as well."""
    if not row.void_reason:
        return row.termination
    return join(
        f"{row.termination}, ", el("strong", "void"), el("small", f" {row.void_reason}", class_="quiet")
    )


def _side(name: str, *, is_winner: bool) -> Html:
    words = breakable(name)
    return el("strong", words) if is_winner else el("span", words)


def _untold(kind: str) -> str:
    """Return the classes of a cell without the class of numbers."""
    return " ".join(word for word in kind.split() if word != "n")


def _cell(child: Child, kind: str, is_subject: bool) -> Html:  # noqa: FBT001 - of one caller
    if isinstance(child, Html) and child.startswith(("<td", "<th")):
        return child
    if is_subject:
        return el("th", child, scope="row", class_=kind or None)
    return el("td", child, class_=kind or None)
