import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.errors import ConfigError
from arena.referee.timecontrol import DAY_MS, TimeControl

times = st.integers(1, DAY_MS)
counts = st.none() | st.integers(1, 10**17)
margins = st.integers(0, 10_000)
controls = st.one_of(
    st.builds(TimeControl, mode=st.just("move"), move_ms=times, nodes=counts, margin_ms=margins),
    st.builds(
        TimeControl, mode=st.just("bank"), move_ms=times, base_ms=times, nodes=counts, margin_ms=margins
    ),
    st.builds(
        TimeControl,
        mode=st.just("fischer"),
        move_ms=st.just(DAY_MS),
        base_ms=times,
        inc_ms=st.integers(0, DAY_MS),
        moves=st.none() | st.integers(1, 9999),
        nodes=counts,
        margin_ms=margins,
    ),
)


@given(controls)
def test_text_reads_back(control: TimeControl) -> None:
    assert TimeControl.from_text(str(control), control.margin_ms) == control


@given(st.text(alphabet="0123456789:/+. movebanknodesinf", max_size=24))
def test_any_text_is_read_canonically_or_refused(text: str) -> None:
    try:
        control = TimeControl.from_text(text)
    except ConfigError:
        return
    assert TimeControl.from_text(str(control)) == control


@pytest.mark.parametrize(
    ("tc", "st_s", "nodes", "bank", "text"),
    [
        (None, None, None, None, "5/move"),
        (None, 0.25, None, None, "0.25/move"),
        (None, 5.0, 1000, None, "5/move 1000 nodes"),
        (None, None, 1000, None, "1000 nodes"),
        ("inf", None, 1000, None, "1000 nodes"),
        ("inf", None, None, None, "60/move"),
        ("60+0.6", None, None, None, "60+0.6"),
        ("60+0", None, None, None, "60"),
        ("40/60+0.5", None, None, None, "40/60+0.5"),
        ("2:30+1", None, 7, None, "150+1 7 nodes"),
        (None, 2.0, None, 60.0, "2/move bank 60"),
        (None, 2.0, 5, 60.0, "2/move bank 60 5 nodes"),
        (None, None, None, 60.0, "5/move bank 60"),
    ],
)
def test_options_make_a_control(
    tc: str | None, st_s: float | None, nodes: int | None, bank: float | None, text: str
) -> None:
    control = TimeControl.parse(tc, st_s, nodes, bank)
    assert str(control) == text
    assert TimeControl.from_text(text) == control


def test_a_watchdog_remains_without_a_clock() -> None:
    for control in (TimeControl.parse("inf", None, None), TimeControl.parse(None, None, 9)):
        assert (control.mode, control.move_ms) == ("move", 60_000)


@pytest.mark.parametrize(
    ("tc", "st_s", "nodes", "bank", "message"),
    [
        ("60", 5.0, None, None, "exclude each other"),
        ("60", None, None, 5.0, "cannot go with tc"),
        ("soon", None, None, None, 'cannot read the time control "soon"'),
        ("0/60", None, None, None, "periods of 0 moves"),
        ("0+1", None, None, None, "not from 0.001 to 86400 seconds"),
        ("99999", None, None, None, "not from 0.001 to 86400 seconds"),
        (None, 0.0, None, None, "st 0 is not a number of seconds"),
        (None, 0.0001, None, None, "not from 0.001 to"),
        (None, float("nan"), None, None, "st nan is not"),
        (None, 5.0, None, -1.0, "bank -1 is not"),
        (None, None, 0, None, "nodes 0 is not"),
    ],
)
def test_wrong_options_are_refused(
    tc: str | None, st_s: float | None, nodes: int | None, bank: float | None, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        TimeControl.parse(tc, st_s, nodes, bank)


def test_a_negative_margin_is_refused() -> None:
    with pytest.raises(ConfigError, match="margin of -1 ms"):
        TimeControl.parse(None, None, None, margin_ms=-1)


def test_the_wire_gets_every_field() -> None:
    wire = TimeControl.parse("40/60+0.5", None, 9, margin_ms=20).to_wire()

    assert (wire.mode, wire.base_ms, wire.inc_ms, wire.moves) == ("fischer", 60_000, 500, 40)
    assert (wire.move_ms, wire.nodes, wire.margin_ms) == (DAY_MS, 9, 20)


@given(controls, st.floats(0.25, 4.0))
def test_scaling_multiplies_times_and_nothing_else(control: TimeControl, factor: float) -> None:
    scaled = control.scaled(factor)
    assert (scaled.mode, scaled.moves, scaled.nodes, scaled.margin_ms) == (
        control.mode,
        control.moves,
        control.nodes,
        control.margin_ms,
    )
    assert TimeControl.from_text(str(scaled), scaled.margin_ms) == scaled
    if control.mode == "fischer":
        assert scaled.move_ms == DAY_MS
    for before, after in ((control.base_ms, scaled.base_ms), (control.inc_ms, scaled.inc_ms)):
        assert (after == 0) == (before == 0)
        assert before == 0 or after == min(DAY_MS, max(1, round(before * factor)))


@pytest.mark.parametrize(
    ("text", "factor", "scaled"),
    [
        ("5/move", 2.0, "10/move"),
        ("60+0.6", 0.5, "30+0.3"),
        ("40/60+0.5", 1.5, "40/90+0.75"),
        ("2/move bank 60", 0.25, "0.5/move bank 15"),
        ("1000 nodes", 3.0, "1000 nodes"),
        ("inf", 3.0, "inf"),
        ("0.001/move", 0.25, "0.001/move"),
        ("5/move 1000 nodes", 2.0, "10/move 1000 nodes"),
    ],
)
def test_a_machine_of_another_speed_scales_times(text: str, factor: float, scaled: str) -> None:
    assert TimeControl.from_text(text).scaled(factor) == TimeControl.from_text(scaled)


def test_scaled_times_have_a_rating_pool_of_their_own() -> None:
    control = TimeControl.from_text("5/move")
    assert control.pool(is_hosted=True, is_scaled=True).name == "5/move hosted-scaled"
    assert control.pool(is_hosted=True).name == "5/move hosted"
    assert control.pool(is_hosted=False).name == "5/move in-process"
