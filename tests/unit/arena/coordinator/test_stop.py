from __future__ import annotations

import signal

import pytest

from arena.coordinator.stop import StopSignals

HARD = (signal.SIGTERM, signal.SIGHUP)


@pytest.mark.parametrize(
    ("sent", "wanted"),
    [
        ((), ""),
        ((signal.SIGINT,), "stop"),
        ((signal.SIGINT, signal.SIGINT), "abort"),
        ((signal.SIGTERM,), "abort"),
        ((signal.SIGHUP,), "abort"),
        ((signal.SIGINT, signal.SIGTERM), "abort"),
        ((signal.SIGTERM, signal.SIGINT), "abort"),
    ],
)
def test_signals_become_requests(sent: tuple[signal.Signals, ...], wanted: str) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, *HARD)]
    with StopSignals() as signals:
        for number in sent:
            signal.raise_signal(number)
        assert signals.request == wanted
    assert [signal.getsignal(number) for number in (signal.SIGINT, *HARD)] == before
