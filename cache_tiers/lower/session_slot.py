"""The session of one thread of a tier, which another thread may end."""

from collections.abc import Callable

from cache_tiers.lower.backend import TierSession


class SessionSlot:
    """Place of a session. One thread connects and disconnects; `stop` is called by another one.

    session: None while there is none.
    stopping: whether `stop` was called.
    """

    def __init__(self, connect: Callable[[], TierSession]) -> None:
        self._connect = connect
        self.session: TierSession | None = None
        self.stopping = False

    def connect(self) -> TierSession:
        """Open a session. Raise OSError or TierFaultError."""
        self.session = session = self._connect()
        # Either `stop` finds the session and aborts it, or this sees that the thread is to end.
        if not self.stopping:
            session.prepare()
        return session

    def disconnect(self) -> None:
        """Close the session, if there is one."""
        if self.session is not None:
            self.session.close()
            self.session = None

    def stop(self) -> None:
        """Abort the call in progress."""
        self.stopping = True
        session = self.session
        if session is not None:
            session.abort()
