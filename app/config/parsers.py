"""Parsers of settings in the forms that users write. Each raises ValueError with the reason."""

import ipaddress
import re
from ipaddress import IPv4Network, IPv6Network, ip_network
from math import isfinite
from typing import Final, get_args
from urllib.parse import urlsplit

from app.domain.rights import ALL_RIGHTS, RIGHTS, Rights
from app.domain.token_prices import TokenPrices
from app.domain.wildcards import plain_parts
from engine.api.role import Role


def named_values(text: str, form: str) -> dict[str, str]:
    """Split `text` into names and their values, without the space around them. An empty text has none.

    form: a part as it should be, for the error.

    Raise ValueError for a part without a name or a value, and for a name that comes twice.
    """
    values: dict[str, str] = {}
    for part in text.split(",") if text.strip() else []:
        name, _, value = (piece.strip() for piece in part.partition("="))
        if not (name and value):
            raise ValueError(f"{part.strip()!r} is not of the form {form}")
        if name in values:
            raise ValueError(f"{name} is named twice")
        values[name] = value
    return values


def parse_database_url(text: str) -> str:
    """Return the address. Raise ValueError, without the text, which may contain a password."""
    if urlsplit(text).scheme not in ("postgresql", "postgres"):
        raise ValueError("must be postgresql://user@host/name")
    return text


def place_of(url: str) -> str:
    """Return the host and the database that an address names, for people."""
    parts = urlsplit(url)
    return f"{parts.hostname or 'this machine'}{parts.path}"


def parse_rerank_words(text: str) -> tuple[str, ...]:
    """Parse two words, separated by a comma. Raise ValueError with the reason."""
    words = tuple(word.strip() for word in text.split(","))
    if len(words) != 2 or not all(words) or words[0] == words[1]:
        raise ValueError("must be two words, such as yes,no")
    return words


RAY_AUTO = "auto"


def parse_ray_address(text: str) -> str:
    """Return the address. Raise ValueError unless it is RAY_AUTO or HOST:PORT."""
    host, _, port = text.rpartition(":")
    if text != RAY_AUTO and not (host and port.isdecimal() and 0 < int(port) < 1 << 16):
        raise ValueError("must be auto or HOST:PORT, such as 10.0.0.1:6379")
    return text


ON_RAY: Final = "ray"
"""Replicas on the machines of a Ray cluster."""


def parse_shared_replicas(text: str) -> str:
    """Return ON_RAY or an address of this machine. Raise ValueError for an address that the internet can reach."""
    if text == ON_RAY:
        return text
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise ValueError("must be 'ray', or an IP address of this machine, such as 127.0.0.1 or 10.0.0.7") from None
    if not address.is_private or address.is_unspecified:
        raise ValueError("must be an address of a private network: anyone on the internet could reach another one")
    return text


REPLICA_ROLES: Final[tuple[Role, ...]] = get_args(Role)


def parse_replica_roles(text: str) -> tuple[Role, ...]:
    """Parse names of roles, separated by commas, one for each replica. Raise ValueError with the reason."""
    return tuple(_replica_role(name.strip()) for name in text.split(","))


def _replica_role(name: str) -> Role:
    role = next((each for each in REPLICA_ROLES if each == name), None)
    if role is None:
        raise ValueError(f"{name!r} is not one of {', '.join(REPLICA_ROLES)}")
    return role


LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


def is_loopback(host: str) -> bool:
    """Return whether a socket bound to `host` is reached from this machine only."""
    return host in LOOPBACK_NAMES or host.startswith("127.")


Network = IPv4Network | IPv6Network


def parse_networks(text: str) -> tuple[Network, ...]:
    """Parse addresses and networks. Raise ValueError for a part that is neither, and for a network of everything."""
    networks = tuple(_network(part.strip()) for part in text.split(","))
    for network in networks:
        if network.prefixlen == 0:
            raise ValueError(f"{network} is every address: list the addresses of the proxies")
    return networks


def _network(text: str) -> Network:
    try:
        return ip_network(text)
    except ValueError:
        raise ValueError(f"{text!r} is not an address or a network like 127.0.0.1 or 10.0.0.0/24") from None


def parse_origins(text: str) -> tuple[str, ...]:
    """Split `https://chat.example,http://localhost:3000` into its parts, each exactly as a browser sends it.

    Raise ValueError for a part that no browser sends: a wildcard, a path, "null", capital letters, a default port.
    """
    origins = tuple(part.strip() for part in text.split(","))
    for origin in origins:
        if not _is_origin(origin):
            raise ValueError(
                f"{origin!r} is not an exact origin; write it like https://chat.example or http://localhost:3000, "
                "without a wildcard or a path"
            )
    return origins


def parse_public_url(text: str) -> str:
    """Parse the URL under which people open the server, such as `https://chat.example`, to its origin.

    Raise ValueError for text that is not an origin: a path other than /, capital letters, a default port.
    """
    origin = text.removesuffix("/")
    if not _is_origin(origin) or urlsplit(origin).scheme not in ("http", "https"):
        raise ValueError(f"{text!r} is not the URL of a server; write it like https://chat.example, without a path")
    return origin


def _is_origin(text: str) -> bool:
    try:
        url = urlsplit(text)
        port = url.port
    except ValueError:
        return False
    if not url.scheme or not url.hostname or "*" in text or port == {"http": 80, "https": 443}.get(url.scheme, 0):
        return False
    host = f"[{url.hostname}]" if ":" in url.hostname else url.hostname
    return text == f"{url.scheme}://{host}" + (f":{port}" if port is not None else "")


MAX_PATTERNS = 32
MAX_PATTERN = 256
"""Maximum number of characters of a pattern."""
MIN_BEGINNING = 4
"""Number of characters, without spaces, that must precede the first `*`. Lines are found by them."""


def parse_line_patterns(text: str) -> tuple[str, ...]:
    r"""Split `Trace id: *,Turn * of *` into its patterns. Each matches a whole line, and `*` stands for any text.

    A star of the line itself is written `\*`. A comma of the line itself is matched by `*`.

    Raise ValueError for a pattern that is empty, too long, or does not begin with plain text, and for too many.
    """
    patterns = tuple(part.strip() for part in text.split(","))
    if len(patterns) > MAX_PATTERNS:
        raise ValueError(f"{len(patterns)} patterns are more than {MAX_PATTERNS}")
    for pattern in patterns:
        if len(pattern) > MAX_PATTERN:
            raise ValueError(f"{pattern[:20]!r}... has more than {MAX_PATTERN} characters")
        if "\n" in pattern or "\r" in pattern:
            raise ValueError(f"{pattern!r} is more than one line")
        if len(plain_parts(pattern)[0].replace(" ", "")) < MIN_BEGINNING:
            raise ValueError(
                f"{pattern!r} must begin with at least {MIN_BEGINNING} characters of the line, like 'Turn * of *'. "
                r"A star of the line itself is written \*"
            )
    return patterns


def parse_aliases(text: str) -> dict[str, str]:
    """Parse names and the models that they stand for. Raise ValueError with the reason."""
    return named_values(text, "alias=model")


def parse_weights(text: str) -> dict[str, float]:
    """Parse names and their numbers, which must be above 0. Raise ValueError with the reason."""
    return {name: _weight(name, number) for name, number in named_values(text, "name=2").items()}


def _weight(name: str, number: str) -> float:
    try:
        weight = float(number)
    except ValueError:
        raise ValueError(f"the weight of {name}, {number!r}, is not a number") from None
    if not (isfinite(weight) and weight > 0):
        raise ValueError(f"the weight of {name} must be above 0")
    return weight


PRICE_NAMES: Final = ("currency", "input", "cached", "output")
_CURRENCY: Final = re.compile(r"[A-Z]{3}")


def parse_token_prices(text: str) -> TokenPrices:
    """Parse the prices of a million tokens. Raise ValueError with the reason."""
    given = named_values(text, "output=0.8")
    if unknown := [name for name in given if name not in PRICE_NAMES]:
        raise ValueError(f"{unknown[0]} is none of {', '.join(PRICE_NAMES)}")
    if missing := [name for name in PRICE_NAMES if name not in given]:
        raise ValueError(f"{missing[0]} is missing")
    if _CURRENCY.fullmatch(given["currency"]) is None:
        raise ValueError(f"the currency {given['currency']!r} is not a code of three capital letters, such as EUR")
    return TokenPrices(given["currency"], *(_price(name, given[name]) for name in PRICE_NAMES[1:]))


def _price(name: str, number: str) -> float:
    try:
        price = float(number)
    except ValueError:
        raise ValueError(f"the price {name}={number!r} is not a number") from None
    if not (isfinite(price) and price >= 0):
        raise ValueError(f"the price {name}={number} must be 0 or more")
    return price


GroupRoles = dict[str, str]
"""`user` or `admin` by the name of a group."""

GroupLimits = dict[str, dict[str, int]]
"""Limits by the name of a group and the name of the limit."""

GroupRights = dict[str, Rights]
"""Rights by the name of a group."""

GROUP_ROLES: Final = ("user", "admin")
GROUP_LIMITS: Final = ("requests-per-minute", "tokens-per-minute", "concurrent-runs", "open-requests")
"""Limits that a group can set. Limits on stored data belong to one tenant."""
MOST_OF_A_LIMIT: Final = 1 << 40


def parse_group_roles(text: str) -> GroupRoles:
    """Parse groups and their roles. Raise ValueError with the reason."""
    roles = named_values(text, "group=user")
    for group, role in roles.items():
        if role not in GROUP_ROLES:
            raise ValueError(f"the role of {group} is {role!r}, and must be user or admin")
    return roles


def parse_group_limits(text: str) -> GroupLimits:
    """Parse the limits of groups. Raise ValueError with the reason."""
    limits: GroupLimits = {}
    for name, number in named_values(text, "group.concurrent-runs=2").items():
        group, _, limit = name.rpartition(".")
        if not group or limit not in GROUP_LIMITS:
            raise ValueError(f"{name!r} does not end with the name of a limit: {', '.join(GROUP_LIMITS)}")
        if not (number.isascii() and number.isdigit() and int(number) <= MOST_OF_A_LIMIT):
            raise ValueError(f"the limit {name} is {number!r}, and must be a whole number up to {MOST_OF_A_LIMIT}")
        limits.setdefault(group, {})[limit.replace("-", "_")] = int(number)
    return limits


def parse_group_rights(text: str) -> GroupRights:
    """Parse the rights of groups. Raise ValueError with the reason."""
    return {group: parse_rights(rights) for group, rights in named_values(text, "group=keys+files").items()}


def parse_rights(text: str) -> Rights:
    """Parse rights, separated by a plus: `keys+files`, `all` or `none`. Raise ValueError with the reason."""
    if text in ("all", "none"):
        return ALL_RIGHTS if text == "all" else frozenset()
    wanted = {part.strip() for part in text.split("+")}
    unknown = wanted - ALL_RIGHTS
    if unknown:
        raise ValueError(f"{min(unknown)!r} is no right: all, none, or some of {'+'.join(RIGHTS)}")
    return frozenset(right for right in RIGHTS if right in wanted)
