"""Certificates for tests: a private authority and a server certificate that it signs."""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class TlsFiles:
    """Paths of PEM files: the authority's certificate, and the server's certificate and private key."""

    authority: Path
    certificate: Path
    key: Path

    @property
    def server_arguments(self) -> list[str]:
        """Arguments for redis-server to serve TLS without client certificates."""
        return [
            *("--tls-cert-file", str(self.certificate)),
            *("--tls-key-file", str(self.key)),
            *("--tls-ca-cert-file", str(self.authority)),
            *("--tls-auth-clients", "no"),
        ]


def make_tls_files(folder: Path, *, names: Sequence[str] = ("localhost",), days: float = 1) -> TlsFiles:
    """Create new keys and certificates in `folder`, which must exist.

    names: DNS names of the server certificate. days: days from now until the server certificate expires. Negative: the
    certificate has already expired.
    """
    authority_key, server_key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority_name, server_name = _name("Test authority"), _name("localhost")
    authority = _certificate(authority_name, authority_name, authority_key.public_key(), authority_key, (), 1)
    server = _certificate(server_name, authority_name, server_key.public_key(), authority_key, names, days)
    files = TlsFiles(folder / "ca.pem", folder / "server.pem", folder / "server.key")
    files.authority.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    files.certificate.write_bytes(server.public_bytes(serialization.Encoding.PEM))
    files.key.write_bytes(
        server_key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return files


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _certificate(
    subject: x509.Name,
    issuer: x509.Name,
    public_key: ec.EllipticCurvePublicKey,
    signing_key: ec.EllipticCurvePrivateKey,
    names: Sequence[str],
    days: float,
) -> x509.Certificate:
    """Build and sign a certificate that expires in `days` days. Without `names` it is a certificate authority's."""
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=30))
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=not names, path_length=None), critical=True)
    )
    if names:
        alternatives = x509.SubjectAlternativeName([x509.DNSName(name) for name in names])
        builder = builder.add_extension(alternatives, critical=False)
    return builder.sign(signing_key, hashes.SHA256())
