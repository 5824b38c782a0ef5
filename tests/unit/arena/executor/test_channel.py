from __future__ import annotations

import multiprocessing
from typing import TYPE_CHECKING

import pytest

from arena.executor import channel
from arena.executor.channel import MAX_MESSAGE, Channel, send

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator


@pytest.fixture
def way() -> Iterator[Channel]:
    made = Channel()
    yield made
    made.close()


def test_messages_arrive_whole_and_in_order(way: Channel) -> None:
    sent = [b"one", bytes(MAX_MESSAGE), b"three"]
    assert [send(way.writer, message) for message in sent] == [True] * 3
    assert way.take() == sent
    assert way.take() == []


def test_who_writes_into_a_full_channel_does_not_wait(way: Channel) -> None:
    num = 0
    while send(way.writer, bytes(MAX_MESSAGE)):
        num += 1
        assert num < 1000
    assert num == len(way.take())
    assert send(way.writer, b"again")
    assert way.take() == [b"again"]


def test_nobody_listens_any_more(way: Channel) -> None:
    writer = way.writer.dup()
    way.close()
    with writer:
        assert not send(writer, b"lost")


def _send_from_afar(writer: socket.socket) -> None:
    send(writer, b"from afar")


def test_another_process_writes(way: Channel) -> None:
    child = multiprocessing.get_context("spawn").Process(target=_send_from_afar, args=(way.writer,))
    child.start()
    child.join(60)
    assert child.exitcode == 0
    assert way.take() == [b"from afar"]


def test_a_system_without_such_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel, "_DONT_WAIT", 0)
    with pytest.raises(OSError, match="no sockets that keep messages apart"):
        Channel()
