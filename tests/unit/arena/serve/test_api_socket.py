"""The API over a real socket: a stream that breaks is continued where it stopped."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING

import httpx
import uvicorn

from arena.live.events import Fault, pack
from arena.serve.server import make_app
from arena.serve.server_options import ServeSettings
from arena_db.records import LiveEvent
from arena_db.store import Store
from stores import START, add_cup

if TYPE_CHECKING:
    from pathlib import Path


def _event(number: int) -> LiveEvent:
    payload = pack(Fault(text=f"event {number}"))
    return LiveEvent(tournament=1, number=number, kind="fault", payload=payload, t=START)


def test_a_stream_goes_on_after_a_broken_connection(tmp_path: Path) -> None:
    path = tmp_path / "arena.db"
    with Store.open(path) as store, socket.socket() as listener:
        add_cup(store, name="spring")
        store.events.append([_event(number) for number in range(1, 6)])
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        app = make_app(ServeSettings(db=str(path), anonymous=True, port=port))
        config = uvicorn.Config(app, log_config=None, lifespan="on", ws="none", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            url = f"http://127.0.0.1:{port}/api/v1/tournaments/spring/events"
            got: list[int] = []
            for _ in range(4):
                headers = {"accept": "text/event-stream"} | ({"last-event-id": str(got[-1])} if got else {})
                with httpx.stream("GET", url, headers=headers, timeout=30) as answer:
                    assert answer.headers["content-type"] == "text/event-stream"
                    for line in answer.iter_lines():
                        if line.startswith("id: "):
                            got.append(int(line[4:]))
                        if line.startswith("data: ") and len(got) % 2 == 0:
                            break
                store.events.append([_event(6 + len(got) // 2)])
            assert got == list(range(1, 9))
        finally:
            app.state.serving.ending.set()
            server.should_exit = True
            thread.join(30)
        assert not thread.is_alive()
