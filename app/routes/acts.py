"""Lines of the log about what administrators do. Each act that changes something for others has one."""

import logging

from starlette.requests import Request

from app.tenants.principal import Principal, principal_of

logger = logging.getLogger(__name__)


def log_act(request: Request, act: str, *details: object) -> None:
    """Log an act after it was done, with its author: "the key key_1 was revoked by the person person_2".

    details: values for the percent signs of `act`, which hold no secret and no text of a chat.
    """
    logger.warning("%s by %s", act % details, _author(principal_of(request)))


def _author(principal: Principal) -> str:
    if principal.person_id is not None:
        return f"the person {principal.person_id}"
    return f"the key {principal.key_id}" if principal.key_id is not None else "a client without a key"
