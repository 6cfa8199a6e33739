"""TLS keys made for one run. A process that cannot read them in the run's folder cannot connect to its pool."""

from __future__ import annotations

import datetime
import shutil
import ssl
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from headway.workers.whole_file import write_whole

if TYPE_CHECKING:
    from distributed import Security

_KEYS, _KEY, _CERTIFICATE = "keys", "key.pem", "certificate.pem"
_NAME = "headway-pool"
_ROLES = ("scheduler", "worker", "client")
# Long, since a run can be resumed years later. A key is as safe as the run's folder, however long it is valid.
_VALID_FOR = datetime.timedelta(days=3650)
_VALID_SINCE = datetime.timedelta(days=2)  # the clocks of nodes differ


def make_keys(pool: Path) -> None:
    """Make the run's keys, unless they exist. They appear atomically: of two processes that make them, one wins."""
    pool.mkdir(mode=0o700, parents=True, exist_ok=True)
    if (pool / _KEYS).exists():
        return
    making = Path(tempfile.mkdtemp(prefix=".keys-", dir=pool))  # 0700
    try:
        for name, content in zip((_KEY, _CERTIFICATE), _new_pair(), strict=True):
            write_whole(making / name, content, durable=True)  # other hosts read them soon
        making.rename(pool / _KEYS)
    except OSError:
        if not (pool / _KEYS).exists():
            raise
    finally:
        shutil.rmtree(making, ignore_errors=True)


def security(pool: Path) -> Security:
    """Return the TLS settings of every process in the pool: all use, and require, the run's own certificate."""
    from distributed import Security

    key, certificate = _for_dask(pool / _KEYS / _KEY), _for_dask(pool / _KEYS / _CERTIFICATE)
    return Security(
        require_encryption=True,
        tls_min_version=ssl.TLSVersion.TLSv1_3,
        tls_max_version=None,
        tls_ciphers=None,
        tls_ca_file=certificate,
        **{f"tls_{role}_key": key for role in _ROLES},
        **{f"tls_{role}_cert": certificate for role in _ROLES},
    )


def _for_dask(path: Path) -> str:
    """Return the file's name; its content if the name holds a line end, since Dask takes such a text for content."""
    return path.read_text() if "\n" in str(path) else str(path)


def _new_pair() -> tuple[bytes, bytes]:
    """Make a key and its self-signed certificate, both as PEM."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, _NAME)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _VALID_SINCE)
        .not_valid_after(now + _VALID_FOR)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    return (
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
        certificate.public_bytes(serialization.Encoding.PEM),
    )
