from app.http.error_formats import OLLAMA_BLOBS, OLLAMA_PATHS, is_ollama, ollama_error
from app.routes import ollama, ollama_embeddings
from app.routes.api import OPERATIONS
from engine.api.errors import InvalidRequestError

OLLAMAS = (*ollama.operations, *ollama_embeddings.operations)


def test_paths_are_those_of_the_routes() -> None:
    found = {each.path for each in OLLAMAS}
    assert found == OLLAMA_PATHS | {f"{OLLAMA_BLOBS}{{digest}}"}


def test_no_other_route_has_errors_in_ollamas_shape() -> None:
    others = [each.path for each in OPERATIONS if each not in OLLAMAS]
    assert [path for path in others if is_ollama(path)] == []
    assert is_ollama("/api/blobs/sha256:00")
    assert not is_ollama("/api/chats")


def test_message_names_the_field_once() -> None:
    assert ollama_error(InvalidRequestError("must be 1 or more", param="options.num_predict")) == {
        "error": "options.num_predict: must be 1 or more"
    }
    assert ollama_error(InvalidRequestError("model is required", param="model")) == {"error": "model is required"}
