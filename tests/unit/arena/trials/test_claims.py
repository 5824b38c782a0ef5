"""False claims of a bot are reported, true claims are not."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from arena.sandbox.tier import Tier
from arena.trials import claims
from arena_plugins import load_game
from arena_plugins.hostile.table import TABLE

if TYPE_CHECKING:
    from pathlib import Path

GAME = load_game("tic-tac-toe")


def dotted(text: str, _: int) -> str:
    return text + "."


def test_a_name_that_may_be_had_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(claims, "NAMES", ("quite-usual", "[/]"))
    assert list(claims.accepted_names(tmp_path / "names")) == [
        "a bot may be called 'quite-usual'",
        "bots are listed that may not be called so: {'quite-usual'}",
    ]


def test_a_refusal_in_unclean_words_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(claims, "NAMES", ("[/]",))
    monkeypatch.setattr(claims, "clean_text", dotted)
    assert list(claims.accepted_names(tmp_path / "names")) == [
        "the name '[/]' is refused in words that are not clean"
    ]


@pytest.mark.parametrize(
    ("choice", "told"),
    [
        ("min", "arena verify does not find out that it is not deterministic"),
        ("broken", "its match ended in bot_error: "),
    ],
)
def test_a_liar_that_is_not_found_out_is_told(
    choice: str, told: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = claims._LIAR_SOURCE.replace("secrets.choice", choice)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(claims, "_LIAR_SOURCE", source)
    monkeypatch.setattr(claims, "_REPLAYS", 1)
    found = list(claims.unflagged_liar(Tier.T1, GAME, tmp_path / "liar"))
    assert found[0].startswith(told)


def test_a_wheel_whose_code_runs_does_harm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install = claims.install_bot

    def run_then_install(name: str, sources: dict[str, str], folder: Path) -> None:
        exec(sources["setup.py"])  # noqa: S102 - as an installer would
        install(name, sources, folder)

    store = tmp_path / "store"
    row = next(row for row in TABLE if row.name == "runs-at-install")
    claims.installed_seat(row, Tier.T1, GAME, tmp_path / "quiet", str(store)).close()
    assert not store.exists()
    monkeypatch.setattr(claims, "install_bot", run_then_install)
    claims.installed_seat(row, Tier.T1, GAME, tmp_path / "loud", str(store)).close()
    assert store.exists()


def test_the_home_comes_back(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("ARENA_HOME", raising=False)
    with claims.own_home(tmp_path):
        assert os.environ["ARENA_HOME"] == str(tmp_path)
        with claims.own_home(tmp_path / "inner"):
            pass
        assert os.environ["ARENA_HOME"] == str(tmp_path)
    assert "ARENA_HOME" not in os.environ
