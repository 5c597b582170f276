"""Options of `ebb keys`."""

from app.config.options import Option, integer, switch
from app.config.sizes import format_size, parse_size
from app.tenants.limits import MOST
from app.tenants.name import parse_name

KEYS_HELP = "who may use the server: make, list and revoke keys, and limit what a tenant may use"
CREATE_HELP = "make a key and print it, this once; a server that runs takes it within a second"
LIST_HELP = "the keys that were made, and what their tenants may use"
REVOKE_HELP = "let a key open nothing any more; a server that runs knows within a second"
LIMITS_HELP = "say what a tenant may use; what is not named stays as it is"


def limit(text: str) -> int | None:
    """Parse a number, or `none`. Raises ValueError."""
    return None if text == "none" else integer(0, MOST)(text)


def stored_bytes(text: str) -> int | None:
    """Parse a size, or `none`. Raises ValueError."""
    if text == "none":
        return None
    if (nbytes := parse_size(text)) > MOST:
        raise ValueError(f"{text} is more than {format_size(MOST)}")
    return nbytes


CREATE_OPTIONS = (
    Option(
        "tenant", parse_name, "TENANT", "whose chats, runs and KV it opens (default: NAME; `local`: those without key)"
    ),
    Option("admin", switch, "", "it also opens /metrics and /api/admin"),
)
LIMIT_OPTIONS = (
    Option("requests-per-minute", limit, "N", "requests for an answer, or none"),
    Option("tokens-per-minute", limit, "N", "tokens of prompts and answers, or none"),
    Option("concurrent-runs", limit, "N", "answers that wait or are generated at the same time, or none"),
    Option("conversations", limit, "N", "stored conversations, those that responses make among them, or none"),
    Option("open-requests", limit, "N", "requests of any kind that are being answered, or none"),
    Option("items-per-conversation", limit, "N", "messages of one conversation, or none"),
    Option("stored-bytes", stored_bytes, "SIZE", "size of all conversations, such as 2GiB, or none"),
)
KEY_NAME = Option("name", parse_name, "NAME", "what to call it")
KEY_ID = Option("key_id", str, "ID", "its id, as `ebb keys list` shows it")
TENANT = Option("tenant", parse_name, "TENANT", "whose limits")
