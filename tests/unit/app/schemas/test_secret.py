"""Secrets in request bodies."""

from typing import Annotated

import pytest
from pydantic import Field, SecretStr

from app.schemas.admin import LoginFields, PasswordLoginFields
from app.schemas.parsing import RequestModel, parse_body
from app.schemas.secret import SecretText, has_secret, types_in
from engine.api.errors import InvalidRequestError
from tests.unit.costs.test_every_body import MODELS

NAMES = {"password", "secret", "code", "key"}
NO_SECRETS = {"prompt_cache_key", "ErrorFields.code", "FailedSearch.error_code"}
"""Fields with such a name that name a prefix of prompts or a kind of error."""


class _Part(RequestModel):
    secret: Annotated[SecretStr, SecretText(8)]


class _Parts(RequestModel):
    parts: list[Annotated[_Part | None, Field()]]


class _Text(RequestModel):
    secret: Annotated[str, Field(max_length=8)]


def test_every_field_named_as_a_secret_has_the_type() -> None:
    wrong = [
        f"{model.__name__}.{name}"
        for model in MODELS
        for name, field in model.model_fields.items()
        if NAMES & set(name.split("_")) and SecretStr not in types_in(field.annotation)
    ]
    assert {name for name in wrong if not NO_SECRETS & {name, name.partition(".")[2]}} == set()


def test_secret_in_any_part_of_a_body_is_found() -> None:
    assert has_secret(LoginFields)
    assert has_secret(_Parts)
    assert not has_secret(_Text)


def test_secret_is_not_shown() -> None:
    fields = parse_body(PasswordLoginFields, b'{"name": "ada", "password": "twelve gulls", "code": "123456"}')
    assert (fields.password.get_secret_value(), fields.code.get_secret_value()) == ("twelve gulls", "123456")
    assert "gulls" not in f"{fields} {fields!r}"
    assert "123456" not in f"{fields} {fields!r}"


@pytest.mark.parametrize("body", [b'{"secret": "123456789"}', b'{"secret": 1}', b'{"secret": null}', b"{}"])
def test_errors_of_a_secret_are_those_of_a_text(body: bytes) -> None:
    with pytest.raises(InvalidRequestError) as of_secret:
        parse_body(_Part, body)
    with pytest.raises(InvalidRequestError) as of_text:
        parse_body(_Text, body)
    assert of_secret.value.message == of_text.value.message
