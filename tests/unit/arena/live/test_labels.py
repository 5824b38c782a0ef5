"""Labels are short, and different for different bots."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from arena.live.labels import MAX_LABEL, cut_middle, short_labels, show_name


def test_examples() -> None:
    assert short_labels(["az", "mcts:playouts=9", "random"]) == ("az", "mcts", "random")
    assert short_labels(["mcts:playouts=9", "mcts:playouts=10"]) == ("mcts-1", "mcts-2")
    assert short_labels(["alphazero", "gradient"]) == ("alp..ro", "gra..nt")
    assert short_labels(["a", "a"]) == ("a", "a"), "one bot against itself"
    assert short_labels(["mcts", "mcts:x=1", "mcts-1"]) == ("mcts-2", "mcts-3", "mcts-1")


@given(
    st.lists(
        st.text(max_size=12) | st.from_regex(r"mcts(:playouts=[0-9]{1,3})?", fullmatch=True), max_size=30
    )
)
def test_labels_are_unique_short_and_clean(names: list[str]) -> None:
    labels = short_labels(names)
    of_name = dict(zip(names, labels, strict=True))
    assert len(set(of_name.values())) == len(of_name)
    for label in labels:
        assert 0 < len(label) <= MAX_LABEL
        assert label == show_name(label)


@given(st.text(max_size=40), st.integers(1, 20))
def test_a_cut_name_keeps_both_ends(text: str, width: int) -> None:
    cut = cut_middle(text, width)
    assert len(cut) == min(len(text), width)
    if width > 3:
        assert cut[0:1] == text[0:1]
        assert cut[-1:] == text[-1:]
