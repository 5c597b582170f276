"""Rights: the features that the people of a group may use, beyond chatting."""

from typing import Final, Literal, get_args

Right = Literal["keys", "share-links", "temporary-chats", "files", "import", "export"]
"""Features.

keys: own API keys. share-links: links to chats. temporary-chats: chats that no list shows. files: documents whose text
the server reads, and kept files. import, export: chats as files.
"""

Rights = frozenset[Right]
RIGHTS: Final[tuple[Right, ...]] = get_args(Right)
ALL_RIGHTS: Final[Rights] = frozenset(RIGHTS)
