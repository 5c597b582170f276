"""Ask the server in this container for its health. The exit status is 0 if it answers."""

import os
import ssl
import urllib.request

TIMEOUT_SECONDS = 4.0


def main() -> None:
    """Read /health. Raise OSError if the server does not answer."""
    is_tls = bool(os.environ.get("EBB_TLS_CERTIFICATE"))
    # The certificate is for the name that people use, and the connection stays in this container.
    context = ssl._create_unverified_context() if is_tls else None
    address = f"{'https' if is_tls else 'http'}://127.0.0.1:{os.environ.get('EBB_PORT', '8000')}/health"
    with urllib.request.urlopen(address, timeout=TIMEOUT_SECONDS, context=context) as response:
        response.read()


if __name__ == "__main__":
    main()
