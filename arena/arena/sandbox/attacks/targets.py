"""What is attacked."""

from __future__ import annotations

from typing import TypedDict


class Targets(TypedDict):
    """What is attacked; all of it was made for the purpose."""

    store: str
    """A file with a secret."""
    folder: str
    """The folder it lies in."""
    passwords: str
    outside: str
    """A file that does not exist."""
    link: str
    """A link whose target is a secret."""
    own_file: str
    own_program: str
    own_folder: str
    """Two files and a folder outside the scratch folder that belong to the attacker's user."""
    device: str
    """A device that everybody may write to."""
    shared: str
    """A file that every bot may read."""
    num_locks: int
    """How many locks of files to hold."""
    tcp: int
    udp: int
    """Ports on the loopback device."""
    abstract: str
    """The name of an abstract socket, without the leading NUL."""
    datagrams: str
    """The path of a datagram socket."""
    arena: int
    opponent: int
    """Processes."""
    address: int
    """Where the arena's process has a secret."""
    size: int
    """The length of that secret, in bytes."""
    program: str
    weights: str
    """The opponent's files."""
    cores: list[int]
    """Processors that are not the attacker's."""
    memory_key: int
    """The key of System V memory, to make one's own."""
    note_key: int
    """The key of System V memory in which the opponent left a note, if it could."""
    note_queue: str
    """The name of a POSIX message queue with the same note, and of a file in /dev/shm."""
    note: str
    """The note; empty for all but the opponent."""
    address_bytes: int
    scratch_bytes: int
    """The limits."""
    hoard_bytes: int
    """How much memory to hold that is in no process's resident size."""
    text: str
    """What to write and send."""
