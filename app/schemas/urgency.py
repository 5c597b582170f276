"""The fields that say how soon a request wants to be served; every generating route takes them."""

from typing import Annotated

from pydantic import Field

from app.limits import MAX_TIMEOUT_SECONDS
from app.schemas.parsing import RequestModel, told
from engine.urgency import Urgency

Priority = Annotated[int, Field(ge=-(1 << 31), lt=1 << 31)]
TimeoutSeconds = Annotated[float, Field(gt=0, le=MAX_TIMEOUT_SECONDS)]


class UrgencyFields(RequestModel):
    """priority: smaller is sooner, as in vLLM. timeout: seconds from now, after which the request ends."""

    priority: Priority | None = told("smaller is sooner, where `--queue-policy` allows it")
    timeout: TimeoutSeconds | None = told("seconds from its arrival, after which the request ends with what there is")

    def urgency(self) -> Urgency:
        """What the engine gets."""
        return Urgency(self.priority or 0, self.timeout)
