"""Model aliases as text: `gpt-4o=my-model,claude-*=my-model`."""


def parse_aliases(text: str) -> dict[str, str]:
    """Parse names and the models that they stand for. Raises ValueError with the reason."""
    aliases: dict[str, str] = {}
    for part in text.split(",") if text.strip() else []:
        name, equals, model = (piece.strip() for piece in part.partition("="))
        if not (name and equals and model):
            raise ValueError(f"{part.strip()!r} is not of the form alias=model")
        if name in aliases:
            raise ValueError(f"{name} is named twice")
        aliases[name] = model
    return aliases
