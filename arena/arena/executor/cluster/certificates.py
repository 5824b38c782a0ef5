"""Creates the keys of a cluster: its own authority and one file with a certificate for each machine.

The only module that imports cryptography. Anybody who has one of these files can run code on every machine of
the cluster, since a slot runs the bots that a coordinator sends.
"""

from __future__ import annotations

import datetime as dt
import os
import re
import secrets
from typing import TYPE_CHECKING, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from arena.errors import ConfigError
from arena.executor.cluster.key_files import HEADER

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

CA_FILE = "ca.key"
"""File of the authority, which signs further keys; it can stay on the machine on which it was made."""
VALID = dt.timedelta(days=365)
"""Validity of the key of a machine; it ends with that of its authority at the latest."""
_AUTHORITY_VALID = dt.timedelta(days=3650)
"""Validity of the authority: longer than that of the keys, so that machines can be added later without new
keys for the others."""
_PRIVATE = 0o600
"""Mode of a key file; `key_files.read_key` refuses one that others may read."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


class MadeKeys(NamedTuple):
    """The files that were written."""

    files: list[Path]
    until: dt.datetime
    """End of the validity of the keys."""
    is_new: bool
    """Whether the authority is new, too; then keys of the previous one are rejected."""


def make_keys(folder: Path, names: Sequence[str], *, renew: bool = False) -> MadeKeys:
    """Write a key file for each name, signed by the folder's authority, which is created if missing.

    Args:
        folder: folder of the files.
        names: names of machines.
        renew: replace the authority and the files of these names.

    Raises:
        ConfigError: a name is not valid, a file exists already, or a file cannot be written.
    """
    for name in names:
        if not _NAME.fullmatch(name):
            raise ConfigError(
                f"'{name}' cannot be the name of a machine; write up to 63 letters, digits, . and -"
            )
        if name == CA_FILE.removesuffix(".key"):
            raise ConfigError(f"{name} is the authority's own name; choose another name for the machine")
    names = tuple(dict.fromkeys(names))
    ca_file = folder / CA_FILE
    files = [folder / f"{name}.key" for name in names]
    taken = [str(file) for file in files if file.exists()]
    if taken and not renew:
        raise ConfigError(
            f"{taken[0]} exists already; name only new machines to add them, or add --renew to make a new "
            "authority, with which every machine needs a new key"
        )
    now = dt.datetime.now(dt.UTC)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        is_new = renew or not ca_file.exists()
        if is_new:
            _write(ca_file, _made_authority(now))
        authority = _read_authority(ca_file)
        # Without a valid authority a certificate is rejected, so a later end would promise too much.
        until = min(now + VALID, authority[0].not_valid_after_utc)
        for name, file in zip(names, files, strict=True):
            _write(file, _made_key(name, authority, now, until))
    except OSError as error:
        raise ConfigError(f"cannot write {error.filename or folder}: {error.strerror}") from error
    return MadeKeys(files, until, is_new)


_Authority = tuple[x509.Certificate, ec.EllipticCurvePrivateKey]


def _made_authority(now: dt.datetime) -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    # If two authorities had the same name, OpenSSL could try the wrong one.
    name = _name(f"arena cluster {secrets.token_hex(8)}")
    usage = x509.KeyUsage(
        digital_signature=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )
    certificate = (
        _builder(name, name, key, now, now + _AUTHORITY_VALID)
        # Path length 0: this authority may sign keys of machines, but no further authority.
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .sign(key, hashes.SHA256())
    )
    return _pem(key) + certificate.public_bytes(serialization.Encoding.PEM)


def _made_key(name: str, authority: _Authority, now: dt.datetime, until: dt.datetime) -> bytes:
    signer, signing_key = authority
    key = ec.generate_private_key(ec.SECP256R1())
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(signing_key.public_key())
    certificate = (
        _builder(_name(name), signer.subject, key, now, until)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(issuer, critical=False)
        .sign(signing_key, hashes.SHA256())
    )
    # In clear text, because machines read name and end of validity without the package cryptography.
    head = f"{HEADER} {name}, valid until {until.isoformat(timespec='seconds')}\n"
    # `SSLContext.load_cert_chain` takes the first certificate of the file for the machine's own.
    parts = [_pem(key), *(each.public_bytes(serialization.Encoding.PEM) for each in (certificate, signer))]
    return head.encode() + b"".join(parts)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    now: dt.datetime,
    until: dt.datetime,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        # The validity starts a day early, since the clocks of two machines differ.
        .not_valid_before(min(now, until) - dt.timedelta(days=1))
        .not_valid_after(until)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _read_authority(file: Path) -> _Authority:
    data = file.read_bytes()
    try:
        key = serialization.load_pem_private_key(data, None)
        certificate = x509.load_pem_x509_certificate(data)
    except ValueError as error:
        raise ConfigError(f"{file} contains no authority; --renew makes a new one") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ConfigError(f"{file} contains no authority of arena cluster keys; --renew makes a new one")
    return certificate, key


def _write(file: Path, data: bytes) -> None:
    """Replace a file with one that only its owner may read."""
    beside = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    # Created with its mode: a later `chmod` would leave the key readable for a moment.
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE)
    with os.fdopen(descriptor, "wb") as out:
        out.write(data)
    beside.replace(file)
