"""Writing of an answer in chunks, past the application, while its client keeps up."""

from app.transport.uvicorn_parts import RequestResponseCycle


class ChunkWriter:
    """`DirectWriter` of an answer in chunked transfer encoding, and `ClientPresence` of its client."""

    __slots__ = ("_cycle", "filler")

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self._cycle = cycle
        self.filler = b""

    @property
    def ready(self) -> bool:
        """Whether a piece can be written at once."""
        cycle = self._cycle
        is_open = cycle.chunked_encoding and not (cycle.response_complete or cycle.disconnected)
        return bool(is_open) and not cycle.flow.write_paused

    @property
    def has_left(self) -> bool:
        """Whether the client is gone."""
        return self._cycle.disconnected

    def write(self, piece: bytes) -> None:
        """Write a piece as a chunk."""
        self._cycle.transport.write(b"%x\r\n%b\r\n" % (len(piece), piece))

    def abort(self) -> None:
        """Cut the connection."""
        # Set first, so that uvicorn does not blame the application for the unfinished answer.
        self._cycle.disconnected = True
        self._cycle.transport.abort()
