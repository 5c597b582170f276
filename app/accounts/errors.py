"""Errors of logins."""

from typing import Final

from engine.api.errors import EbbError, OutageError

MAX_REASON: Final = 400
"""Characters of a refusal. Its reason may quote what a stranger sent, and the log keeps it."""


class ProviderUnavailableError(OutageError):
    """503: the login provider does not answer. Keys work without it."""

    code = "login_provider_unavailable"


class DirectoryUnusableError(ProviderUnavailableError):
    """503: the directory does not answer, or not as the settings describe it.

    reason: for the operator alone, since it may name an entry.
    """

    def __init__(self, reason: str) -> None:
        super().__init__("The directory cannot be used now. Log in with a key, or try again later")
        self.reason = reason


class LoginRefusedError(EbbError):
    """403: the provider's answer is not valid, or the person may not use this server.

    page_code: the word by which the page knows the reason.
    """

    status = 403
    code = "login_refused"

    def __init__(self, message: str, page_code: str = "failed") -> None:
        super().__init__(message if len(message) <= MAX_REASON else f"{message[:MAX_REASON]}...")
        self.page_code = page_code
