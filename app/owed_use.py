"""Use of a tenant that its limits have not let it pay for yet."""

from dataclasses import dataclass

from app.token_bucket import NO_DEBT, Debt


@dataclass(frozen=True, slots=True)
class OwedUse:
    """Debts of one tenant, by limit."""

    requests: Debt = NO_DEBT
    tokens: Debt = NO_DEBT

    def after(self, seconds: float) -> "OwedUse":
        """Compute what is left of it `seconds` later."""
        return OwedUse(self.requests.after(seconds), self.tokens.after(seconds))

    def __bool__(self) -> bool:
        return self.requests.seconds > 0 or self.tokens.seconds > 0


NOTHING_OWED = OwedUse()
