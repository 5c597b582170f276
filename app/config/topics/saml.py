"""Settings of a SAML provider at which people log in."""

from dataclasses import dataclass
from pathlib import Path

from app.config.options import any_path, any_text, setting


@dataclass(frozen=True, kw_only=True)
class SamlSettings:
    """Logins at a SAML 2.0 provider. Without `saml_metadata_file` there are none."""

    saml_metadata_file: Path | None = setting(
        None,
        any_path,
        "FILE",
        "metadata (XML) of the SAML provider at which people log in; needs `--public-url` "
        "([accounts](accounts.md#a-saml-provider))",
        default_text="none",
    )
    saml_subject_attribute: str = setting(
        "", any_text, "ATTRIBUTE", "attribute that names a person and never changes", "the NameID"
    )
    saml_groups_attribute: str = setting("groups", any_text, "ATTRIBUTE", "attribute with a person's groups")
