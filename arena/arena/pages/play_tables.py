"""Tables of losses, openings and mistakes, for the pages of bots and of head-to-heads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from arena.pages.html import Child, Html, el, join
from arena.pages.numbers import day_text, iso_text, percent_text, triple_text
from arena.pages.page_tables import table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arena.pages.links import Links
    from arena.results.play_statistics import Loss, Mistakes, OpeningResult

MAX_OPENINGS: Final = 30
"""Maximum number of openings on a page; its JSON twin has all."""
_BAR: Final = 120
"""Width of a bar, in units of the picture."""


def losses(
    found: Sequence[Loss], links: Links, caption: str, *, opponents: Mapping[str, Child] | None = None
) -> Html:
    """Return lost matches, each with a link to the position of its first known mistake.

    Args:
        found: the losses, in order.
        links: addresses of other pages.
        caption: caption of the table.
        opponents: the cell of each opponent, by name; None if there is only one opponent.
    """
    heads = [
        ("Match", "name id"),
        *([] if opponents is None else [("Opponent", "name"), ("Expected", "n")]),
        ("Moved", ""),
        ("Mistake at", "n"),
        ("Plies", "n"),
        ("End", "long"),
        ("Began (UTC)", "quiet"),
    ]
    rows = (
        [
            linked(loss.address, links.match_at(loss.address, loss.mistake)),
            *(
                []
                if opponents is None
                else [opponents.get(loss.opponent, loss.opponent), percent_text(loss.expected)]
            ),
            loss.side,
            loss.mistake,
            loss.plies,
            loss.ending,
            time(loss.started_at),
        ]
        for loss in found
    )
    return table(heads, rows, caption)


def openings(found: Sequence[OpeningResult], addresses: Mapping[str, str], links: Links, bot: str) -> Html:
    """Return the results of a bot from each opening, those with most matches first.

    Args:
        found: all openings.
        addresses: address of the oldest match of each, by its number in the store.
        links: addresses of other pages.
        bot: name of the bot.
    """
    shown = found[:MAX_OPENINGS]
    has_grades = any(one.graded for one in shown)
    heads = [
        ("Opening", "name"),
        *([("Game", "")] if len({one.game for one in found}) > 1 else []),
        ("Matches", "n"),
        ("Score", "n"),
        ("W-D-L", "n"),
        *([("Graded", "n"), ("Mistakes", "n")] if has_grades else []),
    ]
    rows = (
        [
            linked(one.moves or "none given", _match(one.match, addresses, links)),
            *([one.game] if len({each.game for each in found}) > 1 else []),
            one.games,
            percent_text(one.score),
            triple_text((one.wins, one.draws, one.losses)),
            *([one.graded, one.mistakes] if has_grades else []),
        ]
        for one in shown
    )
    more = len(found) - len(shown)
    return join(
        table(heads, rows, f"Openings of {bot}, most matches first; each leads to its oldest match"),
        el("p", f"{more} more openings stand in the JSON twin of this page.", class_="note")
        if more
        else None,
    )


def mistakes(found: Mistakes) -> Html:
    """Return the mistakes by ply; if no match has been graded, the command that grades one."""
    if not found.graded:
        return el("p", "No match of this bot has been graded; arena grade ADDRESS grades one.", class_="note")
    by = f" by {found.judge}" if found.judge else ""
    part = f", the newest {found.read} of them counted" if found.read < found.graded else ""
    heads = [("Ply", "n"), ("Judged", "n"), ("Mistakes", "n"), ("Share", "n"), ("", "stroke")]
    wrong = [each for each in found.plies if each.mistakes]
    return join(
        el("p", f"Graded {found.graded} of {found.games} matches{by}{part}.", class_="note"),
        table(
            [(words or "Share as a bar", kind) for words, kind in heads],
            (
                [
                    each.ply,
                    each.judged,
                    each.mistakes,
                    percent_text(each.mistakes / each.judged),
                    _bar(each.mistakes / each.judged),
                ]
                for each in wrong
            ),
            "Mistakes by ply",
        )
        if wrong
        else el("p", "No mistake was found in them.", class_="note"),
    )


def linked(words: str, address: str | None) -> Html:
    """Return text, as a link if it has an address."""
    return el("a", words, href=address) if address else el("span", words)


def time(t: float) -> Html:
    """Return a time for people and programs."""
    return el("time", day_text(t), datetime=iso_text(t))


def _match(number: int, addresses: Mapping[str, str], links: Links) -> str | None:
    address = addresses.get(str(number))
    return None if address is None else links.match_at(address)


def _bar(share: float) -> Html:
    return el(
        "svg",
        el("rect", x=0, y=4, width=_BAR, height=8, class_="rail"),
        el("rect", x=0, y=4, width=round(_BAR * share, 1), height=8, class_="point"),
        viewBox=f"0 0 {_BAR} 16",
        class_="stroke",
        aria_hidden="true",
    )
