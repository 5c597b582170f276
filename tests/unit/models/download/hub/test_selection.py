"""Choice of a model's files among those of a repository."""

import pytest

from models.download.hub.repository import HubName, RepoFile, Repository
from models.download.hub.selection import description_files, gguf_file, quantization
from models.errors import ModelNotFoundError


def repository(*paths: str) -> Repository:
    return Repository("org/m", "c" * 40, tuple(RepoFile(path, 1, "", "d" * 40) for path in paths), "", None)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("org/m", HubName("org/m")),
        ("org/m:Q4_K_M", HubName("org/m", "Q4_K_M")),
        ("org/m:Q4/m-Q4_0.gguf", HubName("org/m", "Q4/m-Q4_0.gguf")),
        ("m", None),
        ("/org/m", None),
        ("org/m.gguf", None),
        ("org/m:", None),
        ("a/b/c", None),
    ],
)
def test_hub_names_are_distinguished_from_other_names(text: str, name: HubName | None) -> None:
    assert HubName.parse(text) == name


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ("m-Q4_K_M.gguf", "Q4_K_M"),
        ("m.Q8_0.gguf", "Q8_0"),
        ("q4/m-UD-Q4_K_XL.gguf", "UD-Q4_K_XL"),
        ("m-iq4_nl.gguf", "iq4_nl"),
        ("m-BF16-00001-of-00002.gguf", "BF16"),
        ("m-MXFP4_MOE.gguf", "MXFP4_MOE"),
        ("Qwen3-0.6B.gguf", ""),
    ],
)
def test_quantization_is_read_from_the_name(path: str, label: str) -> None:
    assert quantization(path) == label


def test_gguf_file_is_found_by_quantization_or_path() -> None:
    repo = repository("m-Q4_K_M.gguf", "m-UD-Q4_K_M.gguf", "old/m-f16.gguf", "mmproj-m-f16.gguf")
    assert gguf_file(repo, "q4_k_m").path == "m-Q4_K_M.gguf"
    assert gguf_file(repo, "UD-Q4_K_M").path == "m-UD-Q4_K_M.gguf"
    assert gguf_file(repo, "F16").path == "old/m-f16.gguf"
    assert gguf_file(repo, "old/m-f16.gguf").path == "old/m-f16.gguf"


def test_ambiguous_quantization_lists_names_that_work() -> None:
    repo = repository("a-Q4_0.gguf", "b-Q4_0.gguf", "a-Q8_0.gguf")
    with pytest.raises(ModelNotFoundError) as caught:
        gguf_file(repo, "Q4_0")
    assert str(caught.value) == "org/m has several files for 'Q4_0'; use org/m:a-Q4_0.gguf, org/m:b-Q4_0.gguf"
    assert gguf_file(repo, "b-Q4_0.gguf").path == "b-Q4_0.gguf"


def test_split_gguf_file_is_refused() -> None:
    repo = repository("m-Q4_0-00001-of-00002.gguf", "m-Q4_0-00002-of-00002.gguf")
    with pytest.raises(ModelNotFoundError, match="one part of a split model, which is not supported"):
        gguf_file(repo, "Q4_0")


def test_repository_without_folder_lists_its_gguf_files() -> None:
    with pytest.raises(ModelNotFoundError, match=r"no config\.json; for its GGUF files use org/m:Q4_0, org/m:Q8_0"):
        description_files(repository("m-Q4_0.gguf", "m-Q8_0.gguf", "README.md"))


def test_description_of_a_model_for_embeddings_has_its_pooling() -> None:
    found = description_files(repository("1_Pooling/config.json", "2_Dense/config.json", "config.json", "onnx/a.json"))
    assert [file.path for file in found] == ["config.json", "1_Pooling/config.json"]


def test_description_has_the_template_for_tools() -> None:
    files = ("additional_chat_templates/rag.jinja", "additional_chat_templates/tool_use.jinja", "chat_template.jinja")
    found = description_files(repository("config.json", *files))
    assert [file.path for file in found] == ["config.json", *files[1:]]


def test_repository_without_gguf_files_says_so() -> None:
    with pytest.raises(ModelNotFoundError, match=r"no \.gguf file: use org/m without :Q4_0"):
        gguf_file(repository("config.json", "model.safetensors"), "Q4_0")
