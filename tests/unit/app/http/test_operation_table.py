"""Access, counting and logging of a request, decided before it is routed."""

import re

from app.http.operation_table import OperationTable
from app.openapi import operations as description
from app.routes import scim
from app.routes.api import OPERATIONS
from app.routes.pages import file_routes, is_page_file, page_operations

ALL = (*OPERATIONS, *description, *scim.operations, *page_operations())
TABLE = OperationTable(ALL, is_page_file)


def a_path(pattern: str) -> str:
    return re.sub(r"{\w+(:\w+)?}", "x", pattern)


def test_all_operations_of_a_path_have_its_access() -> None:
    for each in ALL:
        path = a_path(each.path)
        matching = [other for found in TABLE._matching(path) for other in found]
        assert each in matching
        assert {(other.access, other.counts) for other in matching} == {(each.access, each.counts)}, path


def test_unknown_path_needs_a_key() -> None:
    for path in ("/nothing", "/api/nothing", "/v1/nothing", "/api/login/nothing", "/share/a/b", "/health/", "/metric"):
        assert TABLE.access_of(path) == "user"
        assert TABLE.counts(path)


def test_path_is_matched_as_the_router_matches_it() -> None:
    # The router takes a line feed at the end of a path for its end.
    assert TABLE.access_of("/metrics\n") == "admin"
    assert TABLE.access_of("/api/live\n") == "admin"
    assert not TABLE.logs_body("POST", "/api/login\n")
    assert TABLE.logs_body("POST", "/api/conversations/bulk")


def test_no_operation_but_the_views_has_the_path_of_a_file() -> None:
    open_paths = {each.path for each in ALL if each.access == "open"}
    assert {each.path for each in ALL if is_page_file(a_path(each.path))} <= open_paths
    assert [route for route in file_routes() if getattr(route, "path", "") in open_paths] == []


def test_body_with_a_secret_or_of_no_operation_is_not_logged() -> None:
    for method, path in (
        ("POST", "/api/login"),
        ("POST", "/api/login/password"),
        ("PUT", "/api/account/password"),
        ("POST", "/login/saml"),
        ("POST", "/scim/v2/Users"),
        ("PATCH", "/scim/v2/Users/1"),
        ("PUT", "/api/login"),
        ("POST", "/api/logins"),
        ("POST", "/api/tags"),
        ("other", "/api/conversations"),
    ):
        assert not TABLE.logs_body(method, path), path
    for path in ("/v1/chat/completions", "/api/conversations/conv_1/messages", "/api/document-text", "/api/import"):
        assert TABLE.logs_body("POST", path), path
