"""The type of the targets that are passed to attacks."""

from __future__ import annotations

from typing import TypedDict


class Targets(TypedDict):
    """The targets of the attacks; all of them are made for the purpose."""

    store: str
    """A file that contains a secret."""
    folder: str
    """The folder of the file `store`."""
    passwords: str
    outside: str
    """The path of a file that does not exist."""
    link: str
    """A symbolic link whose target is a secret."""
    own_file: str
    own_program: str
    own_folder: str
    """Two files and a folder that belong to the attacker's user, outside the scratch folder."""
    device: str
    """A device that everybody may write to."""
    shared: str
    """A file that every bot may read."""
    num_locks: int
    """Number of file locks to hold."""
    tcp: int
    udp: int
    """Ports on the loopback interface."""
    abstract: str
    """The name of an abstract socket, without the leading NUL."""
    datagrams: str
    """The path of a datagram socket."""
    arena: int
    opponent: int
    """Process ids."""
    address: int
    """Address of a secret in the memory of the arena's process."""
    size: int
    """Length of the secret at `address`, in bytes."""
    program: str
    weights: str
    """Files of the opponent."""
    cores: list[int]
    """Processor cores other than the attacker's."""
    memory_key: int
    """Key for a System V segment that the attacker makes."""
    note_key: int
    """Key of the System V segment in which the opponent left a note, if it could."""
    note_queue: str
    """Name of a POSIX message queue, and of a file in /dev/shm, with the same note."""
    note: str
    """The content of the note; empty in the targets of the attacker, which must find it out."""
    address_bytes: int
    scratch_bytes: int
    """Resource limits of the attacker, in bytes."""
    hoard_bytes: int
    """Bytes of memory to hold that no process's resident size contains."""
    text: str
    """Text to write and send."""
