"""The texts about a bot on the screen of bots."""

from __future__ import annotations

from arena.live.bot_views import OK, UNTRIED, BotRow, BotsView, CheckView, CompetitorView, bot_lines

CHECK = CheckView(
    bot="mcts", game="tic-tac-toe", t=0.0, num_passed=12, num_checks=13, failed=("4 Answers in time (late)",)
)
PLAYED = (
    CompetitorView(spec="mcts:playouts=20", version="0.1.0", games=24, faults={"time_move": 2, "crash": 1}),
    CompetitorView(spec="mcts", version="0.1.0", games=3, quarantined=("spring",)),
)
ROW = BotRow(
    name="mcts",
    distribution="bot-arena",
    version="0.1.0",
    entry="arena_bots.mcts",
    place="environment",
    kind=UNTRIED,
    checks=(CHECK,),
    competitors=PLAYED,
)


def test_a_row_sums_up_its_competitors() -> None:
    assert (ROW.games, ROW.num_faults, ROW.quarantined) == (27, 3, ("spring",))
    assert CHECK.result == "FAIL 12/13"
    assert CheckView(bot="a", game="g", t=0, num_passed=3, num_checks=3, is_outdated=True).result == "3/3 old"


def test_all_of_it_is_said_in_lines() -> None:
    text = "\n".join(bot_lines(ROW))
    for fact in (
        "mcts: arena_bots.mcts of bot-arena 0.1.0 (environment)",
        "check of mcts: FAIL 12/13 in tic-tac-toe",
        "failed: 4 Answers in time (late)",
        "mcts:playouts=20 0.1.0: 24 matches, forfeits 3 (1 crash, 2 time_move)",
        "mcts 0.1.0: 3 matches, no forfeit, quarantined in spring",
    ):
        assert fact in text
    bare = "\n".join(bot_lines(BotRow(name="gone", status="not installed")))
    assert "never checked here" in bare
    assert "no stored match" in bare


def test_what_came_of_loading_goes_to_its_own_row() -> None:
    twice = BotRow(name="twice", entry="x", distribution="d", place="environment", status="why", kind="twice")
    view = BotsView(rows=(ROW, twice))
    key = (ROW.name, ROW.entry, ROW.distribution)
    assert view.with_status({key: OK}).rows[0].kind == "ok"
    failed = view.with_status({key: "ImportError: no", ("twice", "x", "d"): OK})
    assert (failed.rows[0].kind, failed.rows[0].status) == ("fails", "ImportError: no")
    assert failed.rows[1] == twice
