"""Keys of a cluster: permissions of key files, and which connections are refused with which message."""

from __future__ import annotations

import datetime as dt
import socket
import ssl
import threading
from typing import TYPE_CHECKING

import pytest

from arena.errors import ConfigError
from arena.executor.cluster import certificates, key_files
from arena.executor.cluster.certificates import CA_FILE, make_keys
from arena.executor.cluster.key_files import check_bind, find_place, read_key, try_place

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def made(tmp_path: Path) -> Path:
    folder = tmp_path / "keys"
    make_keys(folder, ["lab", "pc1"])
    return folder


def test_each_machine_gets_a_file_that_only_its_owner_reads(made: Path) -> None:
    names = sorted(path.name for path in made.iterdir())
    assert names == ["ca.key", "lab.key", "pc1.key"]
    assert {path.stat().st_mode & 0o777 for path in made.iterdir()} == {0o600}
    lab, pc1 = read_key(made / "lab.key"), read_key(made / "pc1.key")
    assert (lab.name, pc1.name) == ("lab", "pc1")
    assert lab.authority == pc1.authority
    assert lab.certificate != pc1.certificate
    assert lab.key != pc1.key


def test_a_further_machine_joins_the_same_cluster(made: Path) -> None:
    assert not make_keys(made, ["pc2"]).is_new
    assert read_key(made / "pc2.key").authority == read_key(made / "lab.key").authority
    with pytest.raises(ConfigError, match=r"pc2\.key exists already; name only new machines"):
        make_keys(made, ["pc2"])


def test_a_name_given_twice_is_one_machine(tmp_path: Path) -> None:
    assert [file.name for file in make_keys(tmp_path, ["pc1", "pc1"]).files] == ["pc1.key"]


def test_renewing_makes_another_cluster(made: Path) -> None:
    old = read_key(made / "lab.key")
    assert make_keys(made, ["lab"], renew=True).is_new
    assert read_key(made / "lab.key").authority != old.authority


def test_keys_are_valid_for_a_year(tmp_path: Path) -> None:
    until = make_keys(tmp_path, ["lab"]).until
    left = until - dt.datetime.now(dt.UTC)
    assert dt.timedelta(days=364) < left <= dt.timedelta(days=365)


@pytest.mark.parametrize("name", ["", "../lab", "a b", "-x", "ca", "x" * 64])
def test_odd_names_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        make_keys(tmp_path / "keys", [name])
    assert not (tmp_path / "keys").exists()


def test_unusable_files_are_refused_with_the_way_out(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=r"cannot read .*none\.key: No such file.*arena cluster keys"):
        read_key(made / "none.key")
    with pytest.raises(ConfigError, match=r"ca\.key is not the key of a machine"):
        read_key(made / CA_FILE)
    for mode in (0o640, 0o604, 0o620):
        (made / "pc1.key").chmod(mode)
        with pytest.raises(ConfigError, match=r"other users may read .*pc1\.key.*chmod 600"):
            read_key(made / "pc1.key")
    monkeypatch.setattr(certificates, "VALID", dt.timedelta(seconds=-1))
    make_keys(made, ["late"])
    with pytest.raises(ConfigError, match=r"late\.key was valid until .*--renew"):
        read_key(made / "late.key")


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("127.0.0.1:8786", "not the address of a scheduler; write tls://HOST:PORT"),
        ("http://127.0.0.1:8786", "not the address of a scheduler"),
        ("tls://127.0.0.1", "not the address of a scheduler"),
        ("tls://:8786", "not the address of a scheduler"),
        ("tls://192.168.1.10:65536", "not the address of a scheduler"),
        ("tls://tls://192.168.1.10:8786", "not the address of a scheduler"),
        ("", "'' is not the address of a scheduler"),
        ("tcp://192.168.1.10:8786", r"only be reached on this machine; write tls://192\.168\.1\.10:8786"),
        ("tls://127.0.0.1:8786", "needs --keys FILE"),
    ],
)
def test_addresses_that_cannot_be_are_refused(address: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        find_place(address, None)


@pytest.mark.parametrize(
    "bind", ["192.168.1.10", "192.168.1.10:65536", ":8786", "tls://192.168.1.10:8786", ""]
)
def test_a_place_to_listen_that_cannot_be_is_refused(bind: str) -> None:
    # Python's sockets take a port of more than 16 bits modulo 65536, so the scheduler would listen elsewhere.
    with pytest.raises(ConfigError, match=f"--bind '{bind}' is not valid; write HOST:PORT"):
        check_bind(bind)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1", "127.0.0.53", "localhost", "[::1]", "::1"])
def test_plain_tcp_stays_on_this_machine(host: str) -> None:
    assert find_place(f"tcp://{host}:8786", None).key is None


@pytest.mark.parametrize(
    "host", ["localhost.lan", "localhost2", "127.lab.example", "127.0.0.1.lab.example", "[::11]", "::1:2"]
)
def test_names_that_only_begin_like_this_machine_need_a_key(host: str) -> None:
    with pytest.raises(ConfigError, match="can only be reached on this machine"):
        find_place(f"tcp://{host}:8786", None)


@pytest.fixture
def server(made: Path) -> Iterator[int]:
    """Run a server that accepts clients with a key of its cluster and sends them a word."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made / "lab.key")
    context.load_verify_locations(cadata=read_key(made / "lab.key").authority)
    context.verify_mode = ssl.CERT_REQUIRED
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                plain, _ = listener.accept()
            except OSError:
                return
            with plain:
                try:
                    with context.wrap_socket(plain, server_side=True) as secure:
                        secure.sendall(b"word")
                except OSError:  # one side refuses the other
                    continue

    thread = threading.Thread(target=serve)
    thread.start()
    yield listener.getsockname()[1]
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


def test_a_scheduler_with_a_key_of_the_same_cluster_answers(server: int, made: Path) -> None:
    try_place(find_place(f"tls://127.0.0.1:{server}", made / "pc1.key"))


def test_keys_of_another_cluster_and_none_are_refused(
    server: int, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_keys(tmp_path / "other", ["pc1"])
    stranger = tmp_path / "other" / "pc1.key"
    with pytest.raises(ConfigError, match="has a key of another cluster, or an expired one"):
        try_place(find_place(f"tls://127.0.0.1:{server}", stranger))
    # A client that trusts the scheduler, but is not trusted by it.
    mixed = find_place(f"tls://127.0.0.1:{server}", stranger)
    assert mixed.key is not None
    believer = mixed.key._replace(authority=read_key(made / "lab.key").authority)
    with pytest.raises(ConfigError, match="refuses the key"):
        try_place(mixed._replace(key=believer))
    monkeypatch.setattr(key_files, "TRY_S", 0.3)
    with pytest.raises(ConfigError, match="one with keys is reached by tls:// and --keys FILE"):
        try_place(find_place(f"tcp://127.0.0.1:{server}", None))


def test_an_expired_key_is_refused_by_the_scheduler_too(
    server: int, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certificates, "VALID", dt.timedelta(seconds=-1))
    make_keys(made, ["late"])
    late = made / "late.key"
    late.write_text(late.read_text().replace(dt.datetime.now(dt.UTC).strftime("until %Y"), "until 2999"))
    late.chmod(0o600)
    with pytest.raises(ConfigError, match="refuses the key"):
        try_place(find_place(f"tls://127.0.0.1:{server}", late))


def test_nobody_and_silence_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        monkeypatch.setattr(key_files, "TRY_S", 0.1)
        with pytest.raises(ConfigError, match="no Dask scheduler answers"):
            try_place(find_place(f"tcp://127.0.0.1:{port}", None))
    with pytest.raises(ConfigError, match=r"nothing answers at .*Connection refused.*arena cluster start"):
        try_place(find_place(f"tcp://127.0.0.1:{port}", None))
