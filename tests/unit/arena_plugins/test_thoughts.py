import msgspec

from arena.executor.record import packed_remarks
from arena.live.events import Move, ThinkingInfo
from arena_db.remark_codec import unpack_remarks
from arena_plugins.thoughts import UNSAID, Thoughts, fields_of

SAID = Thoughts(
    value=0.5, policy=((0, 0.25), (8, 0.75)), visits=((0, 3),), pv=(0, 8), nodes=10, depth=2, text="a fork"
)


def test_messages_repeat_the_thoughts() -> None:
    move = Move(action=8, elapsed_ms=5, **fields_of(SAID))
    assert msgspec.to_builtins(move) == {"action": 8, "elapsed_ms": 5, **msgspec.to_builtins(SAID)}
    assert Thoughts(**fields_of(move)) == Thoughts(**fields_of(ThinkingInfo(**fields_of(SAID)))) == SAID


def test_the_store_keeps_all_but_the_value() -> None:
    (none, first, unsaid, second) = unpack_remarks(packed_remarks([None, SAID, UNSAID, Thoughts(value=1.0)]))
    assert (none, unsaid, second) == (None, None, None)
    kept = msgspec.convert(first, Thoughts, from_attributes=True)
    assert kept == msgspec.structs.replace(SAID, value=None)
    assert packed_remarks([None, UNSAID]) == packed_remarks([Thoughts(value=1.0)]) == b""
