"""Connections: HTTP, TLS, and streamed answers from the engine's step to the socket.

A streamed answer passes through these states. `EventStream`, on sse-starlette, sends it, and `protocol` writes it.
While the stream waits for output, `RunLog` or the route may write a frame directly through the `DirectWriter`. Frames
are server-sent events or JSON lines (`framing`).

    HEAD -> WAITING      the head was sent, and the generator waits for output
    WAITING -> WAITING   a frame was written directly in the step that produced it: no task wakes, and `send` is skipped
    WAITING -> SENDING   the connection was not ready for a direct write, so the generator yields the frame to `send`
    SENDING -> WAITING   `send` returned: the connection has taken the frame
    WAITING -> WAITING   `ping_seconds` passed: a filler was sent, which keeps proxies from closing the connection
    any -> ABORTED       the connection did not take a frame or a filler for six `ping_seconds`
    any -> ABORTED       the client left, or the stream did not end within EXIT_SECONDS of the server's exit
    WAITING -> ENDED     the generator ended, and the last chunk was sent

ENDED and ABORTED run `on_close` once.
"""
