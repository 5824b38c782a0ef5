"""Labels are made of facts, unique at every width, and independent of the order of the bots."""

from __future__ import annotations

import hashlib
import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from arena.errors import ArenaError
from arena.results.label_forms import NamedBot
from arena.results.names import (
    LABEL_WIDTH,
    long_names,
    named_bot,
    named_seats,
    names_of,
    naming_of,
    shortened,
)
from arena_db.records import Entrant
from arena_db.store import Store
from stores import add_cup, bot, entrants, new_tournament

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

WIDTHS = (5, 6, 7, 12, 24)


def named(name: str, options: str = "", version: str = "0.1.0", salt: str = "") -> NamedBot:
    """Return a bot whose identity follows from its visible facts and `salt`."""
    text = f"{name}:{options}" if options else name
    pairs = tuple(
        sorted((key, value) for key, _, value in (part.partition("=") for part in options.split(",")) if key)
    )
    identity = hashlib.sha256(f"{text} {version} {salt}".encode()).hexdigest()
    return NamedBot(identity, name, text, pairs, version)


def playouts(*numbers: int) -> list[NamedBot]:
    return [named("mcts", f"playouts={number}") for number in numbers]


def check(bots: Sequence[NamedBot], width: int) -> dict[NamedBot, str]:
    """Assert that labels fit, differ for different bots, and do not depend on the order; return them."""
    labels = dict(zip(bots, names_of(bots, width), strict=True))
    assert len(set(labels.values())) == len(labels), "one label for two bots"
    assert all(0 < cell_len(label) <= width for label in labels.values())
    assert all(label == label.strip() and label.isprintable() for label in labels.values())
    turned = list(reversed(bots))
    assert dict(zip(turned, names_of(turned, width), strict=True)) == labels
    return labels


def test_forty_numbers_of_playouts_in_five_cells() -> None:
    labels = names_of(playouts(*range(1, 41)), 5)
    assert labels == tuple(f"m p{number}" for number in range(1, 41))


@pytest.mark.parametrize(
    ("width", "labels"),
    [
        (16, ("mcts:playouts=20", "mcts:playouts=50", "random")),
        (15, ("mcts p20", "mcts p50", "random")),
        (7, ("m p20", "m p50", "random")),
        (5, ("m p20", "m p50", "rando")),
    ],
)
def test_from_long_to_short(width: int, labels: tuple[str, ...]) -> None:
    assert names_of([*playouts(20, 50), named("random")], width) == labels


@pytest.mark.parametrize(
    ("bots", "width", "labels"),
    [
        (playouts(200, 400, 1000), 5, ("p200", "p400", "p1000")),
        ([*playouts(50, 200), named("minimax")], 6, ("mcp50", "mcp200", "minima")),
        ([*playouts(50, 2000), named("minimax")], 6, ("mc50", "mc2000", "minima")),
        (
            [named("keras", f"file=runs/a/step{step}.npz") for step in (400, 800)],
            12,
            ("keras f400", "keras f800"),
        ),
        ([named("a", f"file=x/{run}/step{run}00.npz") for run in (4, 8)], 9, ("a f4.400", "a f8.800")),
        ([named("az", version=version) for version in ("0.1.0", "0.2.0")], 8, ("az@0.1.0", "az@0.2.0")),
        ([named("az", version=version) for version in ("0.1.0", "0.2.0")], 7, ("az@0.1", "az@0.2")),
        (
            [named("mcts", "c=1,playouts=20"), named("mcts", "c=1,playouts=30")],
            16,
            ("mcts playouts=20", "mcts playouts=30"),
        ),
        ([named("a", "c=1,depth=4"), named("a", "c=2,depth=5")], 4, ("a d4", "a d5")),
        ([named("a", "depth=4"), named("a", "delay=5")], 8, ("a dep4", "a del5")),
        ([named("mcts"), named("mcts", "playouts=20")], 5, ("m", "m p20")),
        ([named("td"), named("td-lambda")], 5, ("td", "td-la")),
        ([named("a", "c=0.5"), named("a", "c=0.7")], 5, ("c0.5", "c0.7")),
    ],
)
def test_examples(bots: list[NamedBot], width: int, labels: tuple[str, ...]) -> None:
    assert names_of(bots, width) == labels


def test_what_differs_in_nothing_that_can_be_seen_is_told_apart_by_its_identity() -> None:
    bots = [named("mcts", salt=salt) for salt in "ab"]
    assert names_of(bots, 12) == tuple(f"mcts~{each.identity[:4]}" for each in bots)
    assert names_of(bots, 7) == tuple(f"mc~{each.identity[:4]}" for each in bots)
    assert names_of(bots, 5) == tuple(f"~{each.identity[:4]}" for each in bots)


def test_as_many_digits_as_it_takes() -> None:
    one, other = (named("mcts")._replace(identity=f"{'7f3a9c'}{end}" + "0" * 57) for end in "12")
    assert names_of([one, other], 12) == ("mcts~7f3a9c1", "mcts~7f3a9c2")
    labels = check([one, other], 5)
    assert {len(label) for label in labels.values()} == {5}, "others of the digits"
    with pytest.raises(ArenaError, match="cannot be told apart in 1 cells"):
        names_of([named("a", salt=str(number)) for number in range(40)], 1)


def test_equal_bots_share_a_label_and_a_twin_has_its_seat() -> None:
    one = named("mcts")
    assert names_of([one, one], 5) == ("mcts", "mcts")
    assert names_of([one, one._replace(twin="2")], 7) == ("mcts", "mcts_2")


_OPTIONS = ("", "playouts={}", "depth={}", "c={},playouts=7", "file=runs/{}/step{}.npz", "file=日本{}.npz")


@st.composite
def fields(draw: st.DrawFn) -> list[NamedBot]:
    """Draw up to 200 bots with few names, so that many are similar."""
    rng = random.Random(draw(st.integers(0, 1 << 30)))  # noqa: S311 - no secret
    names = rng.sample(
        ["mcts", "mcts-fast", "minimax", "m", "td-lambda", "keras", "日本のボット", "p20", "~7f3a"],
        rng.randint(1, 9),
    )
    return [
        named(
            rng.choice(names),
            rng.choice(_OPTIONS).replace("{}", str(rng.choice([1, 2, 20, 200, 1000, 0.5, 10**6]))),
            version=rng.choice(["0.1.0", "0.1.0", "0.2.0"]),
            salt=rng.choice("aaab"),
        )
        for _ in range(rng.randint(1, 200))
    ]


@settings(derandomize=True, max_examples=40, deadline=None)
@given(fields(), st.sampled_from(WIDTHS))
def test_labels_of_any_bots_fit_and_are_unique(bots: list[NamedBot], width: int) -> None:
    check(list(dict.fromkeys(bots)), width)


@settings(derandomize=True, max_examples=100, deadline=None)
@given(st.lists(st.text(max_size=30), max_size=30), st.sampled_from(WIDTHS))
def test_any_texts_are_told_apart(texts: list[str], width: int) -> None:
    labels = dict(zip(texts, shortened(texts, width), strict=True))
    assert len(set(labels.values())) == len(labels)
    assert all(0 < cell_len(label) <= width for label in labels.values())


def test_a_text_that_fits_stays() -> None:
    assert shortened(["m p1", "m p2", "random"], 6) == ("m p1", "m p2", "random")


@pytest.mark.parametrize(
    ("label", "name", "text"),
    [
        ("", "mcts", "mcts:playouts=100"),
        ("mcts", "mcts", "mcts:playouts=100"),
        ("mcts@0.1.0+1f3a:playouts=100", "mcts", "mcts:playouts=100"),
        ("mcts:playouts=100_2", "mcts", "mcts:playouts=100"),
        ("mcts:file=a/x.npz", "mcts", "mcts:file=a/x.npz"),
        ("mcts_2", "mcts", "mcts:playouts=100"),
        ("Anna", "Anna", "Anna"),
        ("mcts_old", "mcts_old", "mcts_old"),
    ],
)
def test_the_name_that_a_person_gave_replaces_the_spec(label: str, name: str, text: str) -> None:
    found = named_bot(bot("mcts"), label)
    assert (found.name, found.text) == (name, text)


def test_two_bots_of_one_given_name_are_told_apart_by_their_facts() -> None:
    old, new = (bot("mcts", identity=str(number) * 64, version=f"0.{number}.0") for number in (1, 2))
    bots = [named_bot(each, "Anna") for each in (old, new)]
    assert names_of(bots, 12) == ("Anna@0.1.0", "Anna@0.2.0")
    assert long_names([old, new], {old.identity: "Anna", new.identity: "Anna"}) == (
        "Anna@0.1.0",
        "Anna@0.2.0",
    )


def test_the_second_seat_of_a_bot_that_meets_itself() -> None:
    one, other = bot("mcts"), bot("mcts_2")
    seats = named_seats([(one, "Anna"), (one, "Anna_2"), (other, "Bert_2")])
    assert [seat.twin for seat in seats] == ["", "2", ""]
    assert names_of(seats, 7) == ("Anna", "Anna_2", "Bert_2")


def test_a_dashboard_names_its_bots_and_those_of_its_leaderboards_together(tmp_path: Path) -> None:
    with Store.open(tmp_path / "arena.db") as store:
        cup = add_cup(store, "mcts", "random", num=2)
        store.matches.save([cup.match(1), cup.match(2)])
        rival = bot("mcts", identity="f" * 64, spec="mcts:playouts=7")
        mine = bot("mcts", identity="e" * 64, spec="mcts:playouts=9")
        other = [
            Entrant(seat=0, label="mcts:playouts=9", bot=mine, limit=""),
            Entrant(seat=1, label="x", bot=rival, limit=""),
        ]
        alone = store.tournaments.add(new_tournament(name="alone"), other, [])
        naming = naming_of(store, alone)
        rated = entrants("mcts", "random")
        assert naming.seats.keys() == {"mcts:playouts=9", "x"}
        assert naming.bots.keys() == {mine.identity, rival.identity, *(each.bot.identity for each in rated)}
        assert len(set(naming.bots.values())) == 4
        assert naming.seats["mcts:playouts=9"] == naming.bots[mine.identity] == "m p9"
        assert all(cell_len(label) <= LABEL_WIDTH for label in naming.bots.values())
        assert naming.label_of("7f3a9c") == "~7f3a9", "a bot that came a moment ago"
