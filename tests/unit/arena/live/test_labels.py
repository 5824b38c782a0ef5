"""Names as they are displayed and searched."""

from __future__ import annotations

from arena.live.labels import MAX_NAME, fits_words, show_name


def test_a_name_is_one_line_that_steers_no_terminal() -> None:
    assert show_name("a\x1b[31m\nb") == "a[31m b"
    assert show_name("\u202e ") == "?"
    assert len(show_name("x" * 100)) == MAX_NAME


def test_words_are_looked_for_in_all_names() -> None:
    assert fits_words("MCTS 20", "mcts:playouts=20")
    assert fits_words("", "mcts")
    assert fits_words("az mcts", "mcts", "az")
    assert not fits_words("mcts td", "mcts")
