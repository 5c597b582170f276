"""Notices of other servers."""

from app.services import Services
from app.storage.connection import MISSED
from app.storage.notices import NoticeTable

pytest_plugins = ["tests.services_fixtures"]


def test_each_handler_of_a_topic_gets_the_text() -> None:
    told = list[tuple[str, str]]()
    one = {"a": lambda text: told.append(("one", text)), "b": lambda text: told.append(("b", text))}
    table = NoticeTable([one, {"a": lambda text: told.append(("other", text))}])
    for topic in ("a", "b", "of a newer server"):
        table.on_notice(topic, f"text of {topic}")
    assert told == [("one", "text of a"), ("other", "text of a"), ("b", "text of b")]


async def test_every_topic_of_a_server_has_its_handlers(services: Services) -> None:
    topics = [topic for handlers in services.records.notice_handlers for topic in handlers]
    assert sorted(set(topics)) == ["cancel", "chats", "deleted", "erased", "missed", "reading", "released", "runs"]
    assert topics.count(MISSED) == 2
