"""Whose prompts have a step to themselves: those of tenants that have not asked for a while.

Shared equally, a short turn alongside a flood of prompts takes several steps, each as long as the flood makes it. A
tenant that was away has saved up steps, which its next prompts have to themselves. A tenant that always asks has none.
So a person who talks hardly notices a tenant that floods, and the flood loses a few steps that it gained before.
"""

from collections.abc import Iterable
from typing import Final

MOST_SAVED: Final = 2.0
"""Steps."""
SAVED_PER_STEP: Final = 0.5
"""Of a step in which a tenant has no prompt to compute and another one has."""
MOST_IN_A_ROW: Final = 2
"""Steps that tenants have to themselves before all of them have a part in one: many tenants that come and go together
could otherwise stop one that stays."""

WEIGHT_AHEAD: Final = 3.0
"""How much more of a step's time the prompts of a tenant that has saved a step take than the answers of another one."""


class Bursts:
    """The steps that each tenant has saved."""

    def __init__(self) -> None:
        # A tenant that is not in here has saved all it can.
        self._saved: dict[str, float] = {}
        self._in_a_row = 0

    def may_be_first(self, tenant: str) -> bool:
        """Tell whether a tenant has saved a step, if it has prompts."""
        return self._saved.get(tenant, MOST_SAVED) >= 1

    def first(self, tenants: Iterable[str]) -> set[str]:
        """Return the tenants whose prompts this step computes, of `tenants`, which all have some."""
        present = set(tenants)
        for tenant in self._saved.keys() - present:
            self._saved[tenant] += SAVED_PER_STEP
            if self._saved[tenant] >= MOST_SAVED:
                del self._saved[tenant]
        ahead = {tenant for tenant in present if self.may_be_first(tenant)}
        for tenant in ahead:
            self._saved[tenant] = self._saved.get(tenant, MOST_SAVED) - 1
        if not ahead or ahead == present or self._in_a_row == MOST_IN_A_ROW:
            self._in_a_row = 0
            return present
        self._in_a_row += 1
        return ahead
