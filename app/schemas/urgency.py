"""Fields that state how soon a request should be served. Every generating route accepts them."""

from typing import Annotated

from pydantic import Field

from app.domain.bounds import MAX_TIMEOUT_SECONDS
from app.schemas.parsing import RequestModel, optional
from engine.api.urgency import Urgency

Priority = Annotated[int, Field(ge=-(1 << 31), lt=1 << 31)]
TimeoutSeconds = Annotated[float, Field(gt=0, le=MAX_TIMEOUT_SECONDS)]


class UrgencyFields(RequestModel):
    """Priority and timeout of a request.

    priority: smaller is sooner, as in vLLM.
    timeout: seconds from the request's arrival, after which it ends.
    """

    priority: Priority | None = optional("smaller values are served sooner, if `--queue-policy` allows it")
    timeout: TimeoutSeconds | None = optional(
        "seconds after its arrival at which the request ends with the answer so far"
    )

    def urgency(self) -> Urgency:
        """Convert the fields for the engine."""
        return Urgency(self.priority or 0, self.timeout)
