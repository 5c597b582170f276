"""Announcements of changes: each name once, a bound for slow readers, and no tenant but the own."""

from app.runs.changes import MAX_PENDING, Changes


def test_follower_keeps_each_name_once_and_forgets_sent_ones() -> None:
    changes = Changes()
    with changes.followed("alice") as follower:
        for name in ("a", "b", "a"):
            changes.announce("alice", name)
        changes.announce("bob", "c")
        assert follower.take() == {"a": False, "b": False}
        assert follower.take() == {}


def test_answer_that_begins_and_ends_unread_is_announced() -> None:
    changes = Changes()
    with changes.followed("alice") as follower:
        changes.announce("alice", "a", False)
        changes.announce("alice", "a", True)
        changes.announce("alice", "a", False)
        assert follower.take() == {"a": True}
        changes.announce("alice", "a", False)
        assert follower.take() == {"a": False}


def test_slow_follower_is_asked_to_read_everything() -> None:
    changes = Changes()
    with changes.followed("alice") as follower:
        for number in range(MAX_PENDING + 5):
            changes.announce("alice", str(number))
        assert follower.take() is None
        changes.announce("alice", "a")
        assert follower.take() == {"a": False}
        changes.announce("alice")
        changes.announce("alice", "b")
        assert follower.take() is None


async def test_left_follower_is_forgotten_and_stop_wakes_the_others() -> None:
    changes = Changes()
    with changes.followed("alice"):
        pass
    changes.announce("alice", "a")
    with changes.followed("alice") as follower:
        assert follower.take() == {}
        changes.stop()
        assert not await follower.wait()
