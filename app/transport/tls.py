"""TLS termination in the server, with a certificate that is reloaded when its files change.

Open connections keep the certificate of their handshake. If the new files are unusable, for example because only one of
the two has been replaced so far, the last valid certificate stays in use.
"""

import asyncio
import logging
import ssl
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.config.options import SettingsError
from app.config.settings import Settings

CHECK_SECONDS: Final = 5.0
"""Seconds between two checks of the files, and thus the maximum delay until a renewed certificate is served."""

Stamp = tuple[tuple[int, int, int], ...]
"""Inode number, modification time in ns and size in bytes of each file."""

logger = logging.getLogger(__name__)


class CertificateError(SettingsError):
    """Error for a certificate and key that the server cannot use."""


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """Paths of a certificate chain and of the private key of its first certificate, both in PEM format."""

    certificate: Path
    key: Path

    def load(self) -> ssl.SSLContext:
        """Create a server context with the certificate and key. Raise CertificateError."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            context.load_cert_chain(self.certificate, self.key, password=_no_passphrase)
        except ssl.SSLError as error:
            if error.reason == "KEY_VALUES_MISMATCH":
                reason = "do not match: the certificate belongs to another key"
            else:
                reason = f"are not a certificate and its key in PEM ({error.reason or error})"
            raise CertificateError(
                f"--tls-certificate {self.certificate} and --tls-key {self.key} {reason}", param="tls-certificate"
            ) from error
        except OSError as error:
            name = self._unreadable(error)
            raise CertificateError(f"{name}: {error.strerror or error}", param="tls-certificate") from error
        return context

    def stamp(self) -> Stamp | None:
        """Return the stamp of both files; None if either cannot be read."""
        try:
            found = [path.stat() for path in (self.certificate, self.key)]
        except OSError:
            return None
        return tuple((each.st_ino, each.st_mtime_ns, each.st_size) for each in found)

    def _unreadable(self, error: OSError) -> str:
        # The error of load_cert_chain does not name the file that it could not read.
        for name, path in (("tls-certificate", self.certificate), ("tls-key", self.key)):
            try:
                path.read_bytes()
            except OSError as found:
                error.strerror = found.strerror
                return f"--{name} {path}"
        return f"--tls-certificate {self.certificate}"


def certificate_files(settings: Settings) -> CertificateFiles | None:
    """Return the certificate files that `settings` name; None without TLS.

    Raise CertificateError if only one of the two is set.
    """
    certificate, key = settings.tls_certificate, settings.tls_key
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise CertificateError("--tls-certificate and --tls-key must be given together", param="tls-certificate")
    return CertificateFiles(certificate, key)


def own_certificate(settings: Settings) -> ssl.SSLContext | None:
    """Create a client context for connecting to this machine's server, which uses `settings`; None without TLS.

    The client trusts exactly the server's certificate, so neither a CA nor the host name in the URL matters. If the
    certificate file cannot be read, the client trusts no server.
    """
    if settings.tls_certificate is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    with suppress(OSError):
        context.load_verify_locations(settings.tls_certificate)
    return context


class TlsContext:
    """Context of a listening server, and the task that keeps its certificate current."""

    def __init__(self, files: CertificateFiles, check_seconds: float = CHECK_SECONDS) -> None:
        """Load `files`. Raise CertificateError."""
        self._files = files
        self._check_seconds = check_seconds
        self._stamp = files.stamp()
        self._current = files.load()
        self._watching: asyncio.Task[None] | None = None
        # The listener never changes its context, so a callback gives each handshake the newest one.
        self.context = files.load()
        self.context.sni_callback = self._hand_over

    def begin(self) -> None:
        """Start watching the files."""
        self._watching = asyncio.create_task(self._watch(), name="watch-certificate")

    async def stop(self) -> None:
        """Stop watching the files."""
        if self._watching is not None:
            self._watching.cancel()
            with suppress(asyncio.CancelledError):
                await self._watching

    def refresh(self) -> None:
        """Reload the files if they have changed since the last check. Blocks while reading them."""
        stamp = self._files.stamp()
        if stamp is None or stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._current = self._files.load()
        except CertificateError as error:
            logger.warning("%s; the previous certificate is served until this is fixed", error.message)
        else:
            logger.info("the certificate in %s was reloaded", self._files.certificate)

    def _hand_over(
        self, connection: ssl.SSLObject | ssl.SSLSocket, _name: str | None, _context: ssl.SSLContext
    ) -> None:
        connection.context = self._current

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self._check_seconds)
            await asyncio.to_thread(self.refresh)


def _no_passphrase() -> str:
    raise CertificateError(
        "--tls-key is encrypted: store the key without a passphrase, with mode 0600", param="tls-key"
    )
