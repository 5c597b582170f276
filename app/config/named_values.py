"""Names and their values as users write them: `research=2,batch=0.5`."""


def named_values(text: str, form: str) -> dict[str, str]:
    """Split `text` into names and their values, without the space around them. An empty text has none.

    form: a part as it should be, for the error.

    Raise ValueError for a part without a name or a value, and for a name that comes twice.
    """
    values: dict[str, str] = {}
    for part in text.split(",") if text.strip() else []:
        name, _, value = (piece.strip() for piece in part.partition("="))
        if not (name and value):
            raise ValueError(f"{part.strip()!r} is not of the form {form}")
        if name in values:
            raise ValueError(f"{name} is named twice")
        values[name] = value
    return values
