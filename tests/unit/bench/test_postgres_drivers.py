"""The statements of the store as asyncpg takes them."""

from bench.postgres_drivers import Statement, numbered


def test_marks_are_numbered_in_the_order_of_parameters() -> None:
    assert numbered(Statement("a = ? AND b = ?", (7, "x"))) == ("a = $1 AND b = $2", 7, "x")
    named = Statement("a = :id AND b::text = :most OR c = :id", {"id": 7, "most": "x"})
    assert numbered(named) == ("a = $1 AND b::text = $2 OR c = $1", 7, "x")
