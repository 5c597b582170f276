"""An authenticator as an app on a phone implements it: RFC 6238 with the secret that the person typed in."""

import base64
import hashlib
import hmac
import struct


def code_at(secret: str, seconds: float) -> str:
    """Return the code that the device shows at a time in Unix seconds."""
    counter = struct.pack(">Q", int(seconds) // 30)
    digest = hmac.new(base64.b32decode(secret), counter, hashlib.sha1).digest()
    at = digest[-1] & 15
    number = struct.unpack(">I", digest[at : at + 4])[0] & 0x7FFFFFFF
    return f"{number % 1_000_000:06d}"
