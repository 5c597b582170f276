"""Error messages for formats that have no field for the name of the parameter at fault."""

from engine.api.errors import EbbError


def message_with_field(error: EbbError) -> str:
    """Return the message of `error`, which begins with the name of the field at fault unless it contains the name."""
    if error.param is None or error.param in error.message:
        return error.message
    return f"{error.param}: {error.message}"
