"""Bodies of /api/login and of the routes under /api/admin."""

from typing import Annotated

from pydantic import AfterValidator, Field

from app.principal import Scope
from app.schemas.parsing import RequestModel
from app.tenant_limits import MOST, TenantLimits
from app.tenant_name import parse_name

Name = Annotated[str, AfterValidator(parse_name)]
Limit = Annotated[int, Field(ge=0, le=MOST)]


class LoginFields(RequestModel):
    """POST /api/login."""

    key: Annotated[str, Field(max_length=256)]


class NewKey(RequestModel):
    """POST of a key. Without `tenant` it is the one of the key's name."""

    name: Name
    tenant: Name | None = None
    scope: Scope = "user"


class LimitFields(RequestModel):
    """PUT of a tenant's limits: what is left out, or null, has no limit from then on."""

    requests_per_minute: Limit | None = None
    tokens_per_minute: Limit | None = None
    concurrent_runs: Limit | None = None
    conversations: Limit | None = None
    open_requests: Limit | None = None
    items_per_conversation: Limit | None = None
    stored_bytes: Limit | None = None

    def limits(self) -> TenantLimits:
        """All of them."""
        return TenantLimits(**self.model_dump())
