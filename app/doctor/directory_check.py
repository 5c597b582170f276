"""Check of the directory whose people log in."""

from app.accounts.accounts import accounts_of
from app.accounts.errors import DirectoryUnusableError
from app.config.options import SettingsError
from app.config.settings import Settings
from app.doctor.finding import Finding


def check_directory(settings: Settings) -> Finding:
    """Check that the directory answers a search, over a connection that a login would use."""
    if not settings.ldap_url:
        return Finding("ok", "directory", "off: no people of a directory log in")
    try:
        directory = accounts_of(settings).directory
    except SettingsError as error:
        return Finding("fail", "directory", error.message, f"correct --{error.param}")
    assert directory is not None
    try:
        directory.check()
    except DirectoryUnusableError as error:
        advice = "until then people of the directory cannot log in; keys and other logins work"
        return Finding("warn", "directory", f"{settings.ldap_url}: {error.reason}", advice)
    return Finding("ok", "directory", f"{settings.ldap_url} answers searches below {settings.ldap_people_base}")
