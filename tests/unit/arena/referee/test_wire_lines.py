from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.referee.verdict import FaultError
from arena.referee.wire_lines import LineReader, WireLog
from arena_plugins.wire import Limits

if TYPE_CHECKING:
    from collections.abc import Iterator


class Pipe:
    def __init__(self, limits: Limits) -> None:
        self.read_end, self.write_end = os.pipe()
        os.set_blocking(self.read_end, False)
        self.reader = LineReader(self.read_end, limits)

    def give(self, data: bytes) -> None:
        os.write(self.write_end, data)
        assert self.reader.read()

    def lines(self) -> list[bytes]:
        return list(iter(self.reader.next_line, None))

    def close(self) -> None:
        os.close(self.read_end)
        os.close(self.write_end)


def small_limits() -> Limits:
    return Limits(line_bytes=10, go_bytes=40, go_lines=6)


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    pipe = Pipe(small_limits())
    yield pipe
    pipe.close()


@given(
    st.lists(st.binary(max_size=40).map(lambda line: line.replace(b"\n", b"").replace(b"\r", b""))), st.data()
)
def test_lines_are_the_same_however_they_arrive(lines: list[bytes], data: st.DataObject) -> None:
    pipe, text = Pipe(Limits()), b"".join(line + b"\n" for line in lines)
    found: list[bytes] = []
    with closing(pipe):
        while text:
            size = data.draw(st.integers(1, len(text)))
            pipe.give(text[:size])
            text = text[size:]
            found += pipe.lines()
    assert found == [line for line in lines if line]


def test_line_ends_are_lenient(pipe: Pipe) -> None:
    pipe.give(b"a\r\n\n\r\nb\n")
    assert pipe.lines() == [b"a", b"b"]


def test_nothing_there_is_no_end(pipe: Pipe) -> None:
    assert not pipe.reader.read()
    assert not pipe.reader.is_at_end


def test_the_other_side_closes() -> None:
    read_end, write_end = os.pipe()
    reader = LineReader(read_end, Limits())
    os.close(write_end)
    assert not reader.read()
    os.close(read_end)
    assert reader.is_at_end


@pytest.mark.parametrize("data", [b"a" * 10, b"a" * 10 + b"\n"])
def test_a_line_is_bounded(pipe: Pipe, data: bytes) -> None:
    pipe.give(b"b" * 9 + b"\n" + data)
    assert pipe.reader.next_line() == b"b" * 9
    with pytest.raises(FaultError) as caught:
        pipe.reader.next_line()
    assert caught.value.termination == "oversize_line"
    assert caught.value.offending == b"a" * 10


@pytest.mark.parametrize("data", [b"\n" * 7, b"a" * 9 + b"\n" + b"a" * 8 + b"\n" + b"aaaaaaa\n" * 3])
def test_an_answer_is_bounded(pipe: Pipe, data: bytes) -> None:
    pipe.give(data)
    with pytest.raises(FaultError) as caught:
        pipe.lines()
    assert caught.value.termination == "output_flood"


def test_each_question_counts_anew(pipe: Pipe) -> None:
    for _ in range(5):
        pipe.reader.begin()
        pipe.give(b"a\n" * 6)
        assert len(pipe.lines()) == 6


def test_leftovers_may_be_line_ends_only(pipe: Pipe) -> None:
    pipe.give(b"\r\n")
    os.write(pipe.write_end, b"\n")
    pipe.reader.refuse_leftovers()
    pipe.give(b"\n{")
    with pytest.raises(FaultError) as caught:
        pipe.reader.refuse_leftovers()
    assert (caught.value.termination, caught.value.offending) == ("protocol_order", b"{")


def test_leftovers_are_bounded(pipe: Pipe) -> None:
    pipe.give(b"\n" * 41)
    with pytest.raises(FaultError) as caught:
        pipe.reader.refuse_leftovers()
    assert caught.value.termination == "output_flood"


def test_the_oldest_messages_go() -> None:
    log = WireLog(max_bytes=10)
    for number in range(5):
        log.add(number, b"four", is_sent=number % 2 == 0)
    assert [(said.at, said.is_sent) for said in log] == [(3, False), (4, True)]
    assert log.num_dropped == 3
    log.add(5, b"more than all there may be", is_sent=True)
    assert [said.at for said in log] == [5]
    log.begin()
    assert (list(log), log.num_dropped) == ([], 0)
    log.add(6, b"four", is_sent=True)
    assert len(list(log)) == 1
