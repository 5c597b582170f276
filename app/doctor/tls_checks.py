"""Checks of `ebb doctor` on the certificate that the server shows, and on the mode of its key."""

import datetime
import stat
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from cryptography import x509

from app.config.settings import Settings
from app.doctor.finding import Finding
from app.transport.tls import CertificateError, certificate_files

SOON = datetime.timedelta(days=14)
"""Time before the end of a certificate from which the check warns. Certificates of 90 days are usually renewed a month
before they expire, so a renewal was probably forgotten."""


def check_tls(settings: Settings) -> Finding:
    """Check that the certificate and its key can be served, are private, and are valid for the server's name."""
    try:
        files = certificate_files(settings)
        if files is None:
            return Finding("ok", "tls", "off: Ebb speaks plain HTTP (--tls-certificate and --tls-key turn it on)")
        files.load()
        certificate = _first_certificate(files.certificate)
    except CertificateError as error:
        return Finding("fail", "tls", error.message, "correct --tls-certificate and --tls-key")
    if (mode := stat.S_IMODE(files.key.stat().st_mode)) & (stat.S_IRWXG | stat.S_IRWXO):
        text = f"{files.key}: mode {mode:04o} lets others read or change the private key"
        return Finding("warn", "tls", text, f"chmod 0600 {files.key}, and create a new key if others may have read it")
    return _validity(settings, files.certificate, certificate)


def _first_certificate(path: Path) -> x509.Certificate:
    """Read the server's own certificate, which is the first of the chain."""
    return x509.load_pem_x509_certificates(path.read_bytes())[0]


def _validity(settings: Settings, path: Path, certificate: x509.Certificate) -> Finding:
    now, until = datetime.datetime.now(datetime.UTC), certificate.not_valid_after_utc
    renew = f"renew it; the server reloads {path} by itself"
    if now >= until:
        return Finding("warn", "tls", f"{path}: expired on {until:%Y-%m-%d}, so clients refuse it", renew)
    if now < certificate.not_valid_before_utc:
        text = f"{path}: not valid before {certificate.not_valid_before_utc:%Y-%m-%d %H:%M} UTC"
        return Finding("warn", "tls", text, "set the clock of this machine, or wait")
    if until - now < SOON:
        return Finding("warn", "tls", f"{path}: expires on {until:%Y-%m-%d}", renew)
    name = urlsplit(settings.public_url).hostname
    names = _names(certificate)
    if name is not None and not any(_covers(each, name) for each in names):
        text = f"{path}: for {', '.join(names) or 'no name'}, and not for {name} (--public-url)"
        return Finding("warn", "tls", text, f"get a certificate for {name}")
    return Finding("ok", "tls", f"{path}: for {', '.join(names) or 'no name'}, until {until:%Y-%m-%d}")


def _names(certificate: x509.Certificate) -> list[str]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    addresses = names.get_values_for_type(x509.IPAddress)
    return [*names.get_values_for_type(x509.DNSName), *map(str, addresses)]


def _covers(pattern: str, name: str) -> bool:
    """Return whether a name of a certificate, perhaps `*.example.org`, stands for `name`."""
    try:
        return ip_address(pattern) == ip_address(name)
    except ValueError:
        pass
    if pattern.startswith("*."):
        return name.partition(".")[2].lower() == pattern[2:].lower()
    return pattern.lower() == name.lower()
