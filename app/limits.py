"""Bounds on what one client may send. Each is checked before any work starts."""

MAX_BODY_BYTES = 4 << 20
MAX_STOP_STRINGS = 16
MAX_STOP_LENGTH = 256
MAX_MESSAGES = 4096
MAX_TITLE_LENGTH = 200
MAX_REQUEST_ID_LENGTH = 128
MAX_TIMEOUT_SECONDS = 86_400

MAX_DISCARDED_BYTES = 128 << 20
DISCARD_SECONDS = 5.0
"""How much of a body that is too large is read and thrown away, so that its sender sees the answer."""
