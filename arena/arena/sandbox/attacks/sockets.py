"""Attacks through sockets."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arena.sandbox.attacks.targets import Targets


def attack_tcp(targets: Targets) -> object:
    """Connect to a TCP port."""
    with socket.create_connection(("127.0.0.1", targets["tcp"]), 1.0) as channel:
        channel.sendall(targets["text"].encode())
    return None


def attack_udp(targets: Targets) -> object:
    """Send a UDP datagram."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
        channel.sendto(targets["text"].encode(), ("127.0.0.1", targets["udp"]))
    return None


def attack_abstract(targets: Targets) -> object:
    """Connect to an abstract socket, which has no file."""
    with socket.socket(socket.AF_UNIX) as channel:
        channel.connect(b"\0" + targets["abstract"].encode())
        channel.sendall(targets["text"].encode())
    return None


def attack_path(targets: Targets) -> object:
    """Send a datagram to a socket's path; if no socket can be made, from one of a socket pair."""
    try:
        channel = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    except OSError:
        channel, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with channel:
        channel.sendto(targets["text"].encode(), targets["datagrams"])
    return None
