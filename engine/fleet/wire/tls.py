"""TLS 1.3 between two processes, of which one or both know the other's certificate over another channel."""

import datetime
import ssl
import tempfile
from dataclasses import dataclass
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_BEGIN: Final = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
_END: Final = datetime.datetime(2120, 1, 1, tzinfo=datetime.UTC)
"""The certificate ends with its process. A period of validity would only fail where clocks differ."""


@dataclass(frozen=True)
class Identity:
    """A private key and its self-signed certificate, both in PEM, that last as long as a process."""

    certificate: bytes
    key: bytes

    @classmethod
    def new(cls) -> "Identity":
        """Create an identity with a new key."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ebb")])
        certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(_BEGIN)
            .not_valid_after(_END)
            .sign(key, hashes.SHA256())
        )
        return cls(
            certificate.public_bytes(serialization.Encoding.PEM),
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            ),
        )

    def accepting_all(self) -> ssl.SSLContext:
        """Return the context of an end that listens for peers without certificates, which prove themselves later."""
        context = self._context(ssl.PROTOCOL_TLS_SERVER, self.certificate)
        context.verify_mode = ssl.CERT_NONE
        return context

    def accepting(self, peer: bytes) -> ssl.SSLContext:
        """Return the context of the end that listens. Only the owner of the certificate `peer` can connect."""
        return self._context(ssl.PROTOCOL_TLS_SERVER, peer)

    def connecting(self, peer: bytes) -> ssl.SSLContext:
        """Return the context of the end that connects. Only the owner of the certificate `peer` can be reached."""
        return self._context(ssl.PROTOCOL_TLS_CLIENT, peer)

    def _context(self, protocol: int, peer: bytes) -> ssl.SSLContext:
        context = ssl.SSLContext(protocol)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        # The certificate itself is known, so its name says nothing.
        context.check_hostname = False
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=peer.decode("ascii"))
        with tempfile.NamedTemporaryFile() as file:
            file.write(self.key + self.certificate)
            file.flush()
            context.load_cert_chain(file.name)
        return context
