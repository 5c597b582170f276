"""Amounts of what a tenant has used."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Use:
    """Requests within the limits, and tokens of prompts and answers."""

    requests: int = 0
    tokens: int = 0

    def __add__(self, other: "Use") -> "Use":
        return Use(self.requests + other.requests, self.tokens + other.tokens)

    def __sub__(self, other: "Use") -> "Use":
        return Use(self.requests - other.requests, self.tokens - other.tokens)
