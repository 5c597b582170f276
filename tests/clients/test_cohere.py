"""Cohere's client against a running server: one test for each row of docs/reference/api."""

from tests.clients.environments import environment
from tests.clients.served import Run
from tests.integration.compatibility import row

COHERE = environment("cohere")
PACKAGE = COHERE.package("cohere")


@row(
    PACKAGE,
    "ClientV2(base_url=...).rerank(...)",
    "all documents with scores from 0 to 1, the best one first, and usage",
)
def test_documents_are_ranked(run: Run) -> None:
    seen = run(COHERE, "rerank.py")
    order, scores = zip(*seen["second"], strict=True)
    assert sorted(order) == [0, 1, 2]
    assert sorted(scores, reverse=True) == list(scores)
    assert 0 < scores[-1] < scores[0] < 1
    assert (seen["version"], seen["tokens"] > 300) == ("2", True)


@row(PACKAGE, "ClientV2.rerank(top_n=..., max_tokens_per_doc=...)", "the best ones, of documents that are cut")
def test_best_documents_are_returned_and_long_ones_cut(run: Run) -> None:
    seen = run(COHERE, "rerank.py")
    assert len(seen["cut"]) == 2
    assert seen["cut tokens"] < seen["tokens"] - 100


@row(PACKAGE, "Client(base_url=...).rerank(return_documents=True)", "the first version: the same order, with the texts")
def test_first_version_returns_documents(run: Run) -> None:
    seen = run(COHERE, "rerank.py")
    assert [index for index, _ in seen["first"]] == [index for index, _ in seen["second"]]
    assert dict(seen["first"])[1] == "Bread is made of flour."


@row(
    PACKAGE,
    "ClientV2.rerank(...)",
    "no documents: `BadRequestError`; another model: `NotFoundError`; a limit: `TooManyRequestsError`; a wrong key: "
    "`UnauthorizedError`",
)
def test_errors_have_coheres_classes(run: Run) -> None:
    assert run(COHERE, "rerank.py")["errors"] == {
        "no documents": "BadRequestError",
        "other model": "NotFoundError",
        "limited": "TooManyRequestsError",
        "wrong key": "UnauthorizedError",
    }
