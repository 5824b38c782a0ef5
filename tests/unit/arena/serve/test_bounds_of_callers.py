"""Limits for one address and for all, the server's own host names, and valid headers."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from arena.serve import limits
from arena.serve.hosts import host_names, is_loopback, is_ours, origins
from arena.serve.limits import ALL_STREAMS, BURST, RATE, STREAMS, RequestLimits
from arena.serve.problems import ProblemError
from arena.serve.sending import raw_headers
from arena.serve.server_options import ServeSettings


class Clock:
    """A clock that stands still unless it is moved."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def asked(bounds: RequestLimits, address: str) -> int:
    """Return the number of requests that are accepted now."""
    answered: list[int] = []

    def ask() -> None:
        for number in range(int(2 * BURST)):
            bounds.count(address)
            answered.append(number)

    with pytest.raises(ProblemError, match="Too many requests") as refused:
        ask()
    assert refused.value.status == 429
    return len(answered)


def test_an_address_may_ask_at_once_and_then_at_its_rate() -> None:
    clock = Clock()
    bounds = RequestLimits(clock)
    assert asked(bounds, "a") == BURST
    assert asked(bounds, "b") == BURST, "each has its own"
    for _ in range(3):
        clock.now += 1
        assert asked(bounds, "a") == RATE, "what was refilled is not refilled again"
    clock.now += 1000
    assert asked(bounds, "a") == BURST


def test_streams_are_counted_while_they_are_open() -> None:
    bounds = RequestLimits(Clock())
    for _ in range(3 * STREAMS):
        with bounds.stream("a"):
            assert bounds.num_streams == 1
    with ExitStack() as held:
        for _ in range(STREAMS):
            held.enter_context(bounds.stream("a"))
        with pytest.raises(ProblemError, match="from one address") as refused:
            held.enter_context(bounds.stream("a"))
        assert refused.value.status == 429
        with bounds.stream("b"):
            assert bounds.num_streams == STREAMS + 1
    assert bounds.num_streams == 0


def test_all_addresses_together_have_a_most_that_comes_free_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ALL_STREAMS", 3)
    assert ALL_STREAMS > 3
    bounds = RequestLimits(Clock())
    with ExitStack() as held:
        for address in "abc":
            held.enter_context(bounds.stream(address))
        with pytest.raises(ProblemError, match="its maximum") as refused:
            held.enter_context(bounds.stream("d"))
        assert refused.value.status == 503
    with bounds.stream("d"):
        pass


def test_who_has_streams_is_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_MOST_KNOWN", 4)
    bounds = RequestLimits(Clock())
    with ExitStack() as held:
        for _ in range(STREAMS):
            held.enter_context(bounds.stream("viewer"))
        # Their budgets are full again, so they are forgotten, but the viewer's is not.
        for number in range(20):
            with bounds.stream(f"short-{number}"):
                pass
        with pytest.raises(ProblemError, match="from one address"):
            held.enter_context(bounds.stream("viewer"))


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("[::1]", True),
        ("localhost", True),
        ("LocalHost", True),
        ("0.0.0.0", False),  # noqa: S104 - only looked at
        ("::", False),
        ("192.168.1.10", False),
        ("localhost.example.org", False),
        ("", False),
    ],
)
def test_loopback_is_what_this_machine_alone_reaches(host: str, *, expected: bool) -> None:
    assert is_loopback(host) is expected


def test_names_and_origins_are_those_of_the_settings() -> None:
    names = host_names(ServeSettings(public_url="https://Arena.example.org"))
    for host in (
        "localhost",
        "LOCALHOST:8642",
        "127.0.0.1:1",
        "[::1]:8642",
        "arena.example.org",
        "arena.example.org.",
    ):
        assert is_ours(host, names), host
    for host in (
        "",
        "example.org",
        "arena.example.org.evil.net",
        "localhost/",
        "a b",
        "127.0.0.1@evil.net",
        "[::2]",
    ):
        assert not is_ours(host, names), host
    assert origins(ServeSettings(public_url="https://Arena.example.org")) == {"https://arena.example.org"}
    usual = origins(ServeSettings(port=8642))
    assert "http://127.0.0.1:8642" in usual
    assert "http://127.0.0.1" not in usual
    assert {"http://localhost", "http://localhost:80"} <= origins(ServeSettings(port=80))


def test_no_header_can_hold_a_line_break_or_another_header() -> None:
    given = {"Location": "/t/x\r\nset-cookie: a=b\n", "x-name": "Zo\u00eb\x00\t!"}
    assert raw_headers(given) == [(b"location", b"/t/xset-cookie: a=b"), (b"x-name", b"Zo!")]
