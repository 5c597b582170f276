"""Metadata that clients attach to a response or a conversation."""

from typing import Annotated

from pydantic import Field

from app.domain.bounds import MAX_METADATA_KEY, MAX_METADATA_PAIRS, MAX_METADATA_VALUE

Key = Annotated[str, Field(max_length=MAX_METADATA_KEY)]
Value = Annotated[str, Field(max_length=MAX_METADATA_VALUE)]
Metadata = Annotated[dict[Key, Value], Field(max_length=MAX_METADATA_PAIRS)]
