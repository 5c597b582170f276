"""Notices of other servers of the database, by topic, and the handlers that follow them."""

from collections.abc import Callable, Iterable, Mapping

NoticeHandlers = Mapping[str, Callable[[str], None]]
"""Handlers by topic. Each is called with the text of a notice."""


class NoticeTable:
    """All handlers of a server. A topic may have several; a notice without one, from a newer server, is dropped."""

    def __init__(self, owners: Iterable[NoticeHandlers]) -> None:
        """Collect the handlers of all owners."""
        self._handlers = dict[str, list[Callable[[str], None]]]()
        for each in owners:
            for topic, handler in each.items():
                self._handlers.setdefault(topic, []).append(handler)

    def on_notice(self, topic: str, text: str) -> None:
        """Follow a notice."""
        for handler in self._handlers.get(topic, ()):
            handler(text)
