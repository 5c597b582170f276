"""Objects within a request that this server leaves out. The response names them in `X-Ebb-Ignored`, by their type."""

from typing import Any, ClassVar

from pydantic import ValidationInfo, model_validator

from app.schemas.parsing import IgnoredFields, RequestModel


class LeftOut(RequestModel):
    """An object of which only the type is kept.

    place: the field that has such objects, for the name in the response.
    """

    place: ClassVar[str] = "content"

    type: str

    @model_validator(mode="before")
    @classmethod
    def _supported(cls, value: Any, info: ValidationInfo) -> Any:
        """Add the object to the ignored fields, and return the fields that the request keeps of it."""
        if not isinstance(value, dict) or not isinstance(value.get("type"), str):
            return value
        if isinstance(info.context, IgnoredFields):
            info.context.add(f"{cls.place}.{value['type']}")
        return cls._kept(value)

    @classmethod
    def _kept(cls, value: dict[str, Any]) -> dict[str, Any]:
        return {"type": value["type"]}
