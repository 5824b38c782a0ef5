from __future__ import annotations

from arena.referee.wirelog import WireLog


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
