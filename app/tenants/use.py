"""Use of a tenant, and the part of it that the rate limits do not cover yet."""

from dataclasses import dataclass

from app.tenants.token_bucket import NO_DEBT, Debt


@dataclass(frozen=True, slots=True)
class Use:
    """Requests within the limits, and tokens of prompts and answers."""

    requests: int = 0
    tokens: int = 0

    def __add__(self, other: "Use") -> "Use":
        return Use(self.requests + other.requests, self.tokens + other.tokens)

    def __sub__(self, other: "Use") -> "Use":
        return Use(self.requests - other.requests, self.tokens - other.tokens)


@dataclass(frozen=True, slots=True)
class OwedUse:
    """Debts of one tenant, by rate limit."""

    requests: Debt = NO_DEBT
    tokens: Debt = NO_DEBT

    def after(self, seconds: float) -> "OwedUse":
        """Return the debts that remain after `seconds`."""
        return OwedUse(self.requests.after(seconds), self.tokens.after(seconds))

    def plus(self, more: "OwedUse") -> "OwedUse":
        """Add use, as `Debt.plus` does."""
        return OwedUse(self.requests.plus(more.requests), self.tokens.plus(more.tokens))

    def __bool__(self) -> bool:
        return self.requests.seconds != 0 or self.tokens.seconds != 0


NOTHING_OWED = OwedUse()
