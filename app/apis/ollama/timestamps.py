"""Timestamps of Ollama's API."""

from datetime import UTC, datetime


def timestamp(seconds: float) -> str:
    """Format Unix seconds as RFC 3339 in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
