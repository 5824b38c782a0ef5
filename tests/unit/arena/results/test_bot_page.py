"""A bot's page and head-to-heads over random stores, compared with brute force and the crosstable."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import permutations
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import pytest

from arena.errors import ConfigError, NotFoundError
from arena.rating.pairs import expected_score
from arena.results.boards import Boards
from arena.results.bot_page import bot_page
from arena.results.condition import Condition, read_condition
from arena.results.crosstable import crosstable
from arena.results.encounter import meetings, pool_meetings
from arena.results.leaderboards import rate
from arena.results.play_statistics import Plays, Scope
from arena.results.versus import versus
from arena_db.judgements import JudgedMatch, JudgedPly
from arena_db.records import MatchFilter
from arena_db.store import Store
from stores import add_cup, digest, pool

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from arena.results.bot_page import BotPage
    from arena_db.records import MatchRecord, StoredMatch

_FAULTS = ("time_move", "crash")
_ENDS = ("rules", "rules", *_FAULTS)
_BOTS = ("a", "b", "c", "d")


class _World(NamedTuple):
    """A store and all its matches, read one by one."""

    store: Store
    matches: list[StoredMatch]
    pools: dict[int, str]
    """Pool of each tournament."""
    grades: dict[int, tuple[float | None, ...]]
    """Losses of each match by the solver's grades."""

    def counted(self, *, rated: bool = True) -> list[StoredMatch]:
        """Return the matches that count in tables."""
        return [
            match
            for match in self.matches
            if match.outcome != "void" and not match.void_reason and (match.rated or not rated)
        ]


@pytest.fixture(scope="module", params=range(2))
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[_World]:
    rng = Random(f"pages {request.param}")  # noqa: S311 - play, no secrets
    with Store.open(tmp_path_factory.mktemp("pages") / "a.db", fast=True) as store:
        pools: dict[int, str] = {}
        for name in ("5/move hosted", "5/move hosted", "1/move hosted"):
            cup = add_cup(store, *rng.sample(_BOTS, 3), num=30, pool=pool(name))
            pools[cup.record.id] = name
            records: list[MatchRecord] = []
            for number in range(1, 31):
                outcome = rng.choice(("first", "first", "draw", "second"))
                opening = (rng.randrange(3), rng.randrange(2))
                records.append(
                    cup.match(
                        number,
                        outcome=outcome,
                        termination="rules"
                        if outcome == "draw"
                        else rng.choice(("rules", "rules", *_FAULTS)),
                        actions=(*opening, 3, 3),
                        match_hash=digest(f"{opening}{outcome}{rng.randrange(3)}"),
                        rated=rng.random() < 0.9,
                    )
                    if rng.random() < 0.9
                    else cup.void(number)
                )
            store.matches.save(records)
        matches = [match for number in pools for match in store.matches.of_tournament(number)]
        void = rng.sample([match.id for match in matches if match.outcome != "void"], 3)
        store.changes.void(void, reason="a test", who="me@here")
        grades: dict[int, tuple[float | None, ...]] = {}
        for match in rng.sample(matches, 25):
            for judge in ("solver", "mcts")[: rng.randrange(1, 3)]:
                losses = tuple(rng.choice((None, 0.0, 0.0, 1.0, 2.0)) for _ in match.actions)
                plies = tuple(JudgedPly(value=0.0, loss=loss) for loss in losses)
                store.analyses.add(JudgedMatch(match=match.id, name=judge, plies=plies, made_at=1.0))
                if judge == "solver":
                    grades[match.id] = losses
        store.sums.sum_up()
        matches = [match for number in pools for match in store.matches.of_tournament(number)]
        yield _World(store, matches, pools, grades)


def _own(match: StoredMatch, bot: str) -> float:
    """Return the points of a bot."""
    points = {"first": 1.0, "draw": 0.5, "second": 0.0}[match.outcome]
    return points if match.first == digest(f"{bot}:playouts=100") else 1 - points


def _of(matches: list[StoredMatch], bot: str, other: str | None = None) -> list[StoredMatch]:
    """Return the matches of a bot, or of two."""
    wanted = {digest(f"{name}:playouts=100") for name in (bot, other) if name is not None}
    return [match for match in matches if wanted <= {match.first, match.second}]


def _names(world: _World) -> list[str]:
    return [bot for bot in _BOTS if _of(world.counted(), bot)]


def test_opponents_are_counted_as_by_brute_force(world: _World) -> None:
    for bot in _names(world):
        page = bot_page(world.store, bot)
        own = _of(world.counted(), bot)
        assert page.games == len(own)
        assert page.losses == sum(_own(match, bot) == 0 for match in own)
        met = {(row.cell.opponent, row.pool): row.cell for row in page.opponents}
        expected: defaultdict[tuple[str, str], list[StoredMatch]] = defaultdict(list)
        for match in own:
            other = next(name for name in _BOTS if name != bot and _of([match], name))
            expected[f"{other}:playouts=100", world.pools[match.tournament]].append(match)
        assert met.keys() == expected.keys()
        for key, some in expected.items():
            cell, points = met[key], Counter(_own(match, bot) for match in some)
            assert (cell.wins, cell.draws, cell.losses) == (points[1.0], points[0.5], points[0.0])
            lost = [match for match in some if match.termination in _FAULTS]
            assert cell.forfeits == sum(_own(match, bot) == 0 for match in lost)
            assert cell.opponent_forfeits == sum(_own(match, bot) == 1 for match in lost)
            firsts = Counter(_own(m, bot) for m in some if m.first == digest(f"{bot}:playouts=100"))
            assert cell.moving_first == (firsts[1.0], firsts[0.5], firsts[0.0])


def test_openings_mistakes_and_faults_are_counts_by_brute_force(world: _World) -> None:
    for bot in _names(world):
        page, own = bot_page(world.store, bot), _of(world.counted(), bot)
        openings: defaultdict[str, list[StoredMatch]] = defaultdict(list)
        for match in own:
            openings["".join(str(action + 1) for action in match.actions[:2])].append(match)
        assert {row.moves for row in page.openings} == openings.keys()
        wrong: Counter[int] = Counter()
        judged: Counter[int] = Counter()
        for row in page.openings:
            some = openings[row.moves]
            points = Counter(_own(match, bot) for match in some)
            assert (row.wins, row.draws, row.losses) == (points[1.0], points[0.5], points[0.0])
            assert row.match == min(match.id for match in some)
            assert row.graded == sum(match.id in world.grades for match in some)
            mistakes = 0
            for match in some:
                for index, loss in enumerate(world.grades.get(match.id, ())):
                    is_own = match.first == digest(f"{bot}:playouts=100")
                    if index < 2 or loss is None or (index % 2 == 0) != is_own:
                        continue
                    judged[index + 1] += 1
                    wrong[index + 1] += loss > 0
                    mistakes += loss > 0
            assert row.mistakes == mistakes
        assert page.mistakes.graded == page.mistakes.read == sum(m.id in world.grades for m in own)
        assert {ply.ply: (ply.judged, ply.mistakes) for ply in page.mistakes.plies} == {
            ply: (judged[ply], wrong[ply]) for ply in judged
        }
        faults = Counter(
            match.termination
            for match in _of(world.counted(rated=False), bot)
            if match.termination in _FAULTS and _own(match, bot) == 0
        )
        assert {fault.termination: fault.matches for fault in page.faults} == faults
        for fault in page.faults:
            assert fault.newest == max(
                match.id
                for match in _of(world.counted(rated=False), bot)
                if match.termination == fault.termination and _own(match, bot) == 0
            )


def test_the_worst_losses_are_those_that_surprise_most(world: _World) -> None:
    for bot in _names(world):
        page = bot_page(world.store, bot)
        elo: dict[tuple[str, str], float] = {}
        advantage: dict[str, float] = {}
        for name in set(world.pools.values()):
            found = rate(world.store, Condition(pool=name))
            assert found is not None
            assert len(found.tables) == 1
            advantage[name] = found.tables[0].first_advantage
            elo |= {(name, row.identity): row.elo for row in found.tables[0].rows}
        ranked: list[tuple[float, int, int]] = []
        for match in _of(world.counted(), bot):
            if _own(match, bot) != 0:
                continue
            name, is_first = world.pools[match.tournament], match.outcome == "second"
            gap = elo[name, match.first] - elo[name, match.second] + advantage[name]
            losses = world.grades.get(match.id, ())
            own = [i + 1 for i, loss in enumerate(losses) if i >= 2 and loss and (i % 2 == 0) == is_first]
            expected = expected_score(gap if is_first else -gap)
            ranked.append((-expected, own[0] if own else 99, -match.id))
        ranked.sort()
        assert [-loss.match for loss in page.worst] == [number for _, _, number in ranked[:10]]
        for loss, (expected, mistake, _) in zip(page.worst, ranked, strict=False):
            assert loss.expected == pytest.approx(-expected)
            assert loss.mistake == (None if mistake == 99 else mistake)


def test_the_worst_losses_of_two_bots_are_those_of_all_that_were_read(world: _World) -> None:
    boards = Boards(world.store)
    records = {number: world.store.tournaments.find(number) for number in world.pools}
    known = {number: record for number, record in records.items() if record is not None}
    num = 0
    for one, other in permutations(boards.names, 2):
        for name in set(world.pools.values()):
            scope = Scope(MatchFilter(game=next(iter(known.values())).game, pool=name), {one}, {other})
            plays = Plays(world.store, scope, boards)
            for is_graded in (False, True):
                if is_graded:
                    plays.read_grades()
                losses = [lost for lost in plays.losses() if lost.rated]
                num += len(losses)
                for limit in (1, 2, 3, 10):
                    every = plays.worst(losses, known, boards.names, limit)
                    assert plays.worst_of(known, boards.names, limit) == every
    assert num > 50


def test_a_head_to_head_has_the_numbers_of_the_crosstable(world: _World) -> None:
    for number in world.pools:
        record = world.store.tournaments.find(number)
        assert record is not None
        labels = [entrant.label for entrant in world.store.tournaments.entrants(number)]
        for line in crosstable(world.store, record, labels).cells:
            for cell in line:
                if not cell.games:
                    continue
                found = versus(world.store, cell.bot, cell.opponent, Condition(tournament=record.name))
                own = found.meetings[0].cell
                assert _numbers(own) == _numbers(cell)
                assert len(found.meetings) == 1


def _numbers(cell: object) -> dict[str, object]:
    return {
        name: getattr(cell, name)
        for name in getattr(cell, "__struct_fields__", ())
        if name not in {"bot", "opponent"}
    }


def test_a_pool_of_one_tournament_has_its_numbers_to_the_digit(world: _World) -> None:
    number = max(world.pools)
    record = world.store.tournaments.find(number)
    assert record is not None
    bots = {entrant.seat: entrant.bot.identity for entrant in world.store.tournaments.entrants(number)}
    by_seat = {(bots[one], bots[other]): met for (one, other), met in meetings(world.store, record).items()}
    found = pool_meetings(world.store, record.game, record.pool.name)
    assert {pair: met.counts for pair, met in found.items()} == {
        pair: met.counts for pair, met in by_seat.items()
    }
    for pair, met in found.items():
        # Bots are numbered in another order, so the last bits of a float may differ.
        own, other = met.gap, by_seat[pair].gap
        assert (own.elo, own.error, own.low, own.high, own.los) == pytest.approx(
            (other.elo, other.error, other.low, other.high, other.los), rel=1e-9
        )


def test_a_head_to_head_and_the_page_agree_and_are_mirror_images(world: _World) -> None:
    for bot in _names(world):
        for row in bot_page(world.store, bot).opponents:
            other = row.cell.opponent
            there = versus(world.store, bot, other, Condition(pool=row.pool)).meetings[0]
            back = versus(world.store, other, bot, Condition(pool=row.pool)).meetings[0]
            assert there.cell == row.cell
            assert (back.cell.wins, back.cell.losses) == (there.cell.losses, there.cell.wins)
            assert back.worst == there.opponent_worst
            assert {loss.match for loss in there.worst} <= {match.match for match in there.matches} or (
                there.cell.games > 20
            )
            played = _of(world.counted(), bot, other.partition(":")[0])
            in_pool = [match for match in played if world.pools[match.tournament] == row.pool]
            assert [match.match for match in there.matches] == sorted(
                (match.id for match in in_pool), reverse=True
            )[:20]
            assert {match.match: match.points for match in there.matches} == {
                match.id: _own(match, bot) for match in in_pool
            }


def test_tournaments_and_versions_say_where_it_played(world: _World) -> None:
    for bot in _names(world):
        page = bot_page(world.store, bot)
        own = _of(world.counted(), bot)
        assert {entry.tournament for entry in page.tournaments} == {m.tournament_name for m in own}
        for entry in page.tournaments:
            points = Counter(_own(match, bot) for match in own if match.tournament_name == entry.tournament)
            assert (entry.wins, entry.draws, entry.losses) == (points[1.0], points[0.5], points[0.0])
        for version in page.versions:
            found = rate(world.store, Condition(pool=version.pool))
            assert found is not None
            row = next(row for row in found.tables[0].rows if row.identity == version.identity)
            assert (version.elo, version.error, version.games) == (row.elo, row.error, row.games)


def test_conditions_of_a_head_to_head(world: _World) -> None:
    page = _page_with_opponents(world)
    row = page.opponents[0]
    some = versus(world.store, row.cell.bot, row.cell.opponent)
    assert some.meetings[0].cell.games >= 1
    with pytest.raises(ConfigError, match="cannot be filtered by result"):
        versus(world.store, row.cell.bot, row.cell.opponent, read_condition("result:1-0"))
    with pytest.raises(NotFoundError, match="have no rated match that fits"):
        versus(world.store, row.cell.bot, row.cell.opponent, read_condition("date>2030-01-01"))
    dated = versus(world.store, row.cell.bot, row.cell.opponent, read_condition("date>2000-01-01"))
    assert dated.meetings[0].cell == some.meetings[0].cell


def _page_with_opponents(world: _World) -> BotPage:
    return bot_page(world.store, _names(world)[0])


def test_who_is_unknown_is_said(tmp_path: Path) -> None:
    with Store.open(tmp_path / "a.db", fast=True) as store:
        cup = add_cup(store, "mcts", "b", num=2)
        with pytest.raises(NotFoundError, match='no stored bot "mtcs"; did you mean "mcts"'):
            bot_page(store, "mtcs")
        with pytest.raises(NotFoundError, match='"mcts" has no rated match'):
            bot_page(store, "mcts")
        with pytest.raises(NotFoundError, match="have no rated match that fits"):
            versus(store, "mcts", "b")
        store.matches.save([cup.match(1)])
        with pytest.raises(NotFoundError, match='no stored bot "x"'):
            versus(store, "mcts", "x")


def test_nothing_more_is_read_once_nobody_wants_it(world: _World) -> None:
    page = bot_page(world.store, _names(world)[0], lambda: False)
    assert (page.openings, page.worst, page.mistakes.judge) == ((), (), "")
    assert page.opponents
