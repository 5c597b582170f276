"""Burst credit: tenants that have been idle get a few steps for their prompts alone.

If every step were shared equally, a short prompt that competes with a flood of prompts would take several long steps.
An idle tenant therefore saves steps, and spends them on its next prompts. A tenant that always has prompts saves none.
An interactive user hardly notices a flooding tenant, and the flood loses only a few steps that it gained before.
"""

from collections.abc import Iterable
from typing import Final

MAX_SAVED: Final = 2.0
"""Maximum number of steps that a tenant can save."""
SAVED_PER_STEP: Final = 0.5
"""Steps saved per step in which a tenant has no prompt to compute and another tenant has one."""
MAX_IN_A_ROW: Final = 2
"""Maximum number of consecutive exclusive steps before a step is shared by all tenants.

Without this limit, many tenants that come and go could together starve one that always has prompts.
"""

WEIGHT_AHEAD: Final = 3.0
"""Factor on the weight of a tenant that has saved a step, when step time is divided between prompts and decodes."""


class Bursts:
    """Saved steps per tenant."""

    def __init__(self) -> None:
        # Tenants that are missing here have MAX_SAVED steps.
        self._saved: dict[str, float] = {}
        self._in_a_row = 0

    def ahead(self, tenants: Iterable[str]) -> set[str]:
        """Return those of `tenants` that have saved a step, or none if the next step is shared by all tenants."""
        return set() if self._in_a_row == MAX_IN_A_ROW else {each for each in tenants if self._may_be_first(each)}

    def first(self, tenants: Iterable[str]) -> set[str]:
        """Select the tenants whose prompts this step computes, and charge those that spend a saved step.

        tenants: all tenants that have prompt tokens to compute.
        """
        present = set(tenants)
        for tenant in self._saved.keys() - present:
            self._saved[tenant] += SAVED_PER_STEP
            if self._saved[tenant] >= MAX_SAVED:
                del self._saved[tenant]
        ahead = {tenant for tenant in present if self._may_be_first(tenant)}
        for tenant in ahead:
            self._saved[tenant] = self._saved.get(tenant, MAX_SAVED) - 1
        if not ahead or ahead == present or self._in_a_row == MAX_IN_A_ROW:
            self._in_a_row = 0
            return present
        self._in_a_row += 1
        return ahead

    def _may_be_first(self, tenant: str) -> bool:
        return self._saved.get(tenant, MAX_SAVED) >= 1
