"""The routes of badges, self-contained SVG pictures with the Elo of a bot, and of the health check."""

from __future__ import annotations

import unicodedata
from collections import Counter
from math import inf
from typing import TYPE_CHECKING, Final

from arena.live.labels import show_name
from arena.pages.html import Html, el
from arena.results.addresses import find_bot
from arena.results.boards import boards_of
from arena.serve.api.answers import HealthAnswer
from arena.serve.api.bot_rows import bot_text
from arena.serve.api.questions import BadgeChoice
from arena.serve.rows import DataRoute, Raw, Route
from arena.serve.sending import HEALTH
from arena_db.wild import is_like
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from arena.results.tables import Row
    from arena.serve.reading import Reading
    from arena.serve.request_context import RequestContext
    from arena_db.store import Store

SVG: Final = "image/svg+xml"


def _badge(reading: Reading, context: RequestContext) -> Raw:
    store, asked = reading.store, context.query(BadgeChoice)
    bot = find_bot(store, bot_text(store, context.parameters["bot"]))
    game, row = _rating(store, bot.identity, asked)
    name = store.names.labels().get(bot.identity, bot.spec)
    return Raw(content=badge(name, game, row).encode(), media_type=SVG)


def _rating(store: Store, identity: str, asked: BadgeChoice) -> tuple[str, Row | None]:
    """Return the game and rating row of a bot in the requested pool with most of its matches."""
    boards = boards_of(store)
    sizes: Counter[tuple[str, str]] = Counter()
    for tally in boards.tallies:
        if identity in {tally.first, tally.second}:
            sizes[tally.game, tally.pool] += tally.num_matches
    for (game, pool), _ in sizes.most_common():
        if is_like(game, asked.game or "*") and is_like(pool, asked.pool or "*"):
            rows = (row for table in boards.ratings(game, pool) for row in table.rows)
            return game, next((row for row in rows if row.identity == identity), None)
    return "", None


def _health(reading: Reading, context: RequestContext) -> HealthAnswer:
    """Return the health of the server; if the store cannot be read, opening it fails before this call."""
    del reading, context
    return HealthAnswer()


BADGE_ROWS: Final[tuple[Route, ...]] = (
    DataRoute(
        path="/badge/{bot}.svg",
        query=BadgeChoice,
        handle=_badge,
        kept_s=inf,
        media_type=SVG,
        cache="private, max-age=300",
        summary="Elo, error and game of a bot, by digits of its identity, as a picture for a README.",
    ),
    DataRoute(
        path=HEALTH,
        role="none",
        handle=_health,
        answer=HealthAnswer,
        is_probe=True,
        cache="no-store",
        summary="Whether the server runs and its store can be read.",
    ),
)


_FONT: Final = "Verdana,DejaVu Sans,Geneva,sans-serif"
"""Fonts of nearly equal widths; `textLength` stretches any other font to the computed width."""
_HEIGHT: Final = 20
_PAD: Final = 6
_BASE: Final = 14
"""Height, horizontal padding and text baseline of the badge, in px."""
_MOST_NAME: Final = 40
_MOST_GAME: Final = 40
"""Maximum number of characters of the names of bot and game."""
_WIDTHS: Final = {
    **dict.fromkeys("ijlI.,:;'|!`", 4.2),
    **dict.fromkeys('ftr()[]/\\ -"', 4.9),
    **dict.fromkeys("mwMW@%", 10.6),
    **dict.fromkeys("+±=<>~^_#", 8.6),
    **dict.fromkeys("ABCDEFGHJKLNOPQRSTUVXYZ", 7.8),
}
"""Advance width of characters at 11 px, in px; any other character has `_OTHER`."""
_OTHER: Final = 7.0
_WIDE: Final = 11.0
"""Advance width of any other character, and of a wide (East Asian) one, in px."""


def badge(name: str, game: str, row: Row | None) -> Html:
    """Return the picture.

    Args:
        name: name of the bot; cleaned and cut here.
        game: game of the rating.
        row: row of the bot in the rating table; None if it has no rating.
    """
    left = clean_text(show_name(name), _MOST_NAME)
    if row is None:
        right = "not rated yet"
    else:
        error = "" if row.error is None else f" ± {row.error:.0f}"
        right = f"{row.elo:.0f}{'?' if row.rests_on_prior else ''}{error} · {clean_text(game, _MOST_GAME)}"
    widths = [text_width(words) + 2 * _PAD for words in (left, right)]
    width = sum(widths)
    title = f"{left}: Elo {right}" if row is not None else f"{left}: {right}"
    return el(
        "svg",
        el("title", title),
        el("rect", width=width, height=_HEIGHT, rx=3, fill="#333b45"),
        # Only the right end is round: the next rectangle covers the left corners.
        el("rect", x=widths[0], width=widths[1], height=_HEIGHT, rx=3, fill="#1d5fa8"),
        el("rect", x=widths[0], width=4, height=_HEIGHT, fill="#1d5fa8"),
        _words(left, _PAD),
        _words(right, widths[0] + _PAD),
        xmlns="http://www.w3.org/2000/svg",
        width=width,
        height=_HEIGHT,
        viewBox=f"0 0 {width} {_HEIGHT}",
        role="img",
        aria_label=title,
    )


def text_width(words: str) -> int:
    """Return the width of a text in the badge's font, in px, rounded up."""
    return int(sum(map(_width, words)) + 0.999)


def _width(character: str) -> float:
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in {"W", "F"}:
        return _WIDE
    return _WIDTHS.get(character, _OTHER)


def _words(words: str, x: int) -> Html:
    return el(
        "text",
        words,
        x=x,
        y=_BASE,
        fill="#ffffff",
        font_family=_FONT,
        font_size=11,
        textLength=text_width(words) or None,
        lengthAdjust="spacingAndGlyphs",
    )
