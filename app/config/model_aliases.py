"""Model aliases as text: `gpt-4o=my-model,claude-*=my-model`."""

from app.config.named_values import named_values


def parse_aliases(text: str) -> dict[str, str]:
    """Parse names and the models that they stand for. Raise ValueError with the reason."""
    return named_values(text, "alias=model")
