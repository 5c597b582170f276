"""Operations by path: access, counting and logging of a request are decided before it is routed."""

import re
from collections.abc import Callable, Iterable, Iterator

from starlette.routing import compile_path

from app.http.operation import Access, Operation


class OperationTable:
    """Operations of a server, each found by the paths that the router gives it."""

    def __init__(self, operations: Iterable[Operation], is_file: Callable[[str], bool] = lambda _: False) -> None:
        """Make the table.

        is_file: returns whether a path is that of a file of the page, which is open.
        """
        self._by_path = dict[str, list[Operation]]()
        for each in operations:
            self._by_path.setdefault(each.path, []).append(each)
        self._by_beginning = dict[str, list[tuple[re.Pattern[str], list[Operation]]]]()
        for path, found in self._by_path.items():
            beginning, brace, _ = path.partition("{")
            if brace:
                self._by_beginning.setdefault(beginning, []).append((compile_path(path)[0], found))
        self._is_file = is_file

    def access_of(self, path: str) -> Access:
        """Return the access level that `path` requires, whatever the method. An unknown path requires a key."""
        if self._is_file(path):
            return "open"
        operation = self._any_at(path)
        return operation.access if operation is not None else "user"

    def counts(self, path: str) -> bool:
        """Return whether an open request of `path` counts against the limit of its tenant."""
        operation = self._any_at(path)
        return operation is None or operation.counts

    def logs_body(self, method: str, path: str) -> bool:
        """Return whether the body of a request may be logged. A body of an unknown operation may not."""
        found = (each for operations in self._matching(path) for each in operations if method in each.methods)
        operation = next(found, None)
        return operation is not None and operation.logs_body

    def _any_at(self, path: str) -> Operation | None:
        return next((operations[0] for operations in self._matching(path)), None)

    def _matching(self, path: str) -> Iterator[list[Operation]]:
        """Yield the operations of each pattern that a path matches, the exact path first."""
        # The router takes a line feed at the end of a path for its end.
        if (exact := self._by_path.get(path.removesuffix("\n"))) is not None:
            yield exact
        for beginning, patterns in self._by_beginning.items():
            if path.startswith(beginning):
                yield from (operations for pattern, operations in patterns if pattern.match(path))
