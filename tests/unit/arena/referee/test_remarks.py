from arena.referee.remarks import NewsGate


class Viewer:
    def __init__(self) -> None:
        self.now = 10.0
        self.heard: list[tuple[int, str]] = []
        self.gate = NewsGate[str](lambda ply, text: self.heard.append((ply, text)), lambda: self.now)

    def say(self, ply: int, text: str, after_s: float = 0.0) -> None:
        self.now += after_s
        self.gate.offer(ply, lambda: text)
        self.gate.pulse()


def test_two_a_second_and_the_newest_wins() -> None:
    viewer = Viewer()
    viewer.say(0, "a")
    for text in "bcd":
        viewer.say(0, text, after_s=0.1)
    assert viewer.heard == [(0, "a")]
    viewer.now += 0.25
    viewer.gate.pulse()
    viewer.gate.pulse()
    assert viewer.heard == [(0, "a"), (0, "d")]


def test_what_waits_at_the_move_is_dropped() -> None:
    viewer = Viewer()
    viewer.say(0, "a")
    viewer.say(0, "b")
    viewer.gate.drop()
    viewer.now += 1.0
    viewer.gate.pulse()
    assert viewer.heard == [(0, "a")]


def test_what_is_not_passed_on_is_not_made() -> None:
    viewer = Viewer()
    viewer.say(0, "a")
    viewer.gate.offer(0, lambda: str(1 // 0))
    viewer.gate.pulse()
    viewer.say(1, "b", after_s=0.5)
    assert viewer.heard == [(0, "a"), (1, "b")]
