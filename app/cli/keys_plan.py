"""Options of `ebb keys`."""

from app.config.options import Option, integer, switch
from app.config.sizes import format_size, parse_size
from app.tenants.limits import MOST
from app.tenants.name import parse_name

KEYS_HELP = "manage access: create, list and revoke keys, and limit what a tenant may use"
CREATE_HELP = "create a key and print it, only this once; a running server accepts it within a second"
LIST_HELP = "list the keys and the limits of tenants"
REVOKE_HELP = "revoke a key; a running server refuses it within a second"
LIMITS_HELP = "set limits of a tenant; limits that are not named stay unchanged"


def limit(text: str) -> int | None:
    """Parse a number, or `none`. Raise ValueError."""
    return None if text == "none" else integer(0, MOST)(text)


def stored_bytes(text: str) -> int | None:
    """Parse a size, or `none`. Raise ValueError."""
    if text == "none":
        return None
    if (nbytes := parse_size(text)) > MOST:
        raise ValueError(f"{text} is more than {format_size(MOST)}")
    return nbytes


CREATE_OPTIONS = (
    Option(
        "tenant",
        parse_name,
        "TENANT",
        "tenant of the key's chats, runs and KV (default: NAME; `local`: that of clients without a key)",
    ),
    Option("admin", switch, "", "give access to /metrics and /api/admin as well"),
)
LIMIT_OPTIONS = (
    Option("requests-per-minute", limit, "N", "requests for an answer, or none"),
    Option("tokens-per-minute", limit, "N", "tokens of prompts and answers, or none"),
    Option("concurrent-runs", limit, "N", "answers that wait or are generated at the same time, or none"),
    Option("conversations", limit, "N", "stored conversations, including those of responses, or none"),
    Option("open-requests", limit, "N", "requests of any kind that are being answered, or none"),
    Option("items-per-conversation", limit, "N", "messages of one conversation, or none"),
    Option("kv-reserved", stored_bytes, "SIZE", "bytes of the disk tier for promises of KV, such as 2GiB, or none"),
    Option("stored-bytes", stored_bytes, "SIZE", "size of all conversations, such as 2GiB, or none"),
)
KEY_NAME = Option("name", parse_name, "NAME", "name of the key")
KEY_ID = Option("key_id", str, "ID", "id of the key, as `ebb keys list` shows it")
TENANT = Option("tenant", parse_name, "TENANT", "tenant to limit")
