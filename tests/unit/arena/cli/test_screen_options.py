"""The actions of a command before it opens the dashboard."""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING, cast

import pytest

from arena.cli.screen_options import run_app
from children import modules_after

if TYPE_CHECKING:
    from pathlib import Path

    from arena.tui.screens.dashboard import Dashboard

LOAD = "from arena.cli.screen_options import load_without_openssl\nload_without_openssl()\n"
USE = """
import asyncio, hashlib, hmac
assert asyncio.run(asyncio.sleep(0, 7)) == 7
assert hashlib.sha256(b"").hexdigest().startswith("e3b0c442")
assert hmac.new(b"key", b"text", "sha256").hexdigest().startswith("6afa9046")
"""

HEAPS = """
import re, threading
import click
from arena.cli import screen_options

screen_options.has_screen = lambda: True

@click.command
@click.option("--plain", is_flag=True)
@screen_options.display_options
def command(display):
    kept = []
    thread = threading.Thread(target=lambda: kept.extend(bytearray(5000) for _ in range(100)))
    thread.start()
    thread.join()

command.main([], standalone_mode=False)
# Beside the main heap, each heap of glibc's malloc begins at a multiple of 64 MiB, and what it does not use
# yet is inaccessible.
maps = open("/proc/self/maps").read()
maps = re.findall(r"^([0-9a-f]+)-([0-9a-f]+) rw-p .*\\n\\2-[0-9a-f]+ ---p", maps, re.M)
assert [first for first, _ in maps if int(first, 16) % (64 << 20) == 0] == []
"""


def test_the_event_loop_and_hashes_work_without_openssl(tmp_path: Path) -> None:
    assert modules_after(LOAD + USE, tmp_path) & {"ssl", "_ssl", "_hashlib"} == set()


def test_others_get_openssl_afterwards(tmp_path: Path) -> None:
    assert {"_ssl", "_hashlib"} <= modules_after(LOAD + "import ssl, _hashlib", tmp_path)


def test_openssl_that_is_loaded_stays(tmp_path: Path) -> None:
    code = "import asyncio.sslproto, ssl\n" + LOAD + "assert asyncio.sslproto.ssl is ssl"
    assert "_ssl" in modules_after(code, tmp_path)


def test_a_dashboard_looks_for_garbage_as_often_as_python_does() -> None:
    class Closed:
        return_code = 0

        def run(self) -> None:
            self.found = gc.get_threshold()[0]

    before, app = gc.get_threshold(), Closed()
    try:
        gc.set_threshold(50_000, *before[1:])
        run_app(cast("Dashboard", app))
    finally:
        gc.set_threshold(*before)
    assert app.found == before[0]


@pytest.mark.skipif(sys.platform != "linux", reason="heaps are glibc's")
def test_threads_of_a_command_with_a_screen_share_its_heap(tmp_path: Path) -> None:
    modules_after(HEAPS, tmp_path)
