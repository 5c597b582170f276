"""Bounds on what one client may send, in bytes, counts and seconds. Each is checked before any work starts."""

MAX_URL_BYTES = 8 << 10
MAX_HEADERS = 100
MAX_HEADER_BYTES = 32 << 10
"""Names and values of all headers of a request together."""

MAX_PIPELINED = 16
"""Requests that wait on a connection while an earlier one of it is answered."""

MAX_BODY_BYTES = 4 << 20
MAX_CONTAINERS = 1 << 14
MAX_STRINGS = 1 << 16
MAX_VALUES = 1 << 18
"""Lists and objects, strings (names of fields, too), and values of any kind in a JSON body."""

MAX_STOP_STRINGS = 128
MAX_STOP_LENGTH = 256
MAX_STOP_TOKENS = 128
MAX_BIASED_TOKENS = 1024
MAX_ALLOWED_TOKENS = 1 << 16
MAX_BAD_WORDS = 128
MAX_BAD_WORD_LENGTH = 256
MAX_BUDGET_MESSAGE = 1024
"""Characters that are added to thoughts which a budget ends."""
MAX_MESSAGES = 4096
"""Maximum length of a list of messages, and of any other list of objects without a separate bound."""

MAX_FIELDS = 256
"""Maximum number of fields of an object that ignores unknown names."""

MAX_PROMPTS = 128
MAX_ANSWERS = 128
"""Maximum number of answers to all prompts of a request, whatever the server's own limit for one prompt."""

MAX_EMBEDDED = 2048
"""Texts that one request may embed, as at OpenAI."""

MAX_RANKED = 1000
"""Documents that one request may rank, as at Cohere."""

MAX_TOP_LOGPROBS = 20
MAX_TITLE_LENGTH = 200
MAX_FOLDER_NAME = 100
MAX_FOLDER_DEPTH = 5
"""Levels of folders inside each other."""
MAX_FOLDERS = 200
"""Folders of a tenant, and folders with a system prompt in an imported file."""
MAX_FOLDER_PROMPT = 1 << 16
"""Length of a folder's system prompt. All of them are read whenever the folders are listed."""

MAX_TAGS = 20
MAX_TAG_LENGTH = 50
MAX_BULK = 500
"""Conversations that one request may change."""
MAX_EXPORTED = 50_000
"""Conversations that one request may name for an export, which is written while it is read."""
MAX_TITLE_SOURCE = 1_000
"""Maximum length of the text that a new conversation is titled with."""

MAX_REQUEST_ID_LENGTH = 128
MAX_TIMEOUT_SECONDS = 86_400

MAX_METADATA_PAIRS = 16
MAX_METADATA_KEY = 64
MAX_METADATA_VALUE = 512
MAX_NEW_ITEMS = 20
MAX_ITEMS_PAGE = 100

MAX_LOGIN_BYTES = 4 << 10
"""Size of a login request, whose client has not authenticated yet."""

MAX_DISCARDED_BYTES = 128 << 20
DISCARD_SECONDS = 5.0
"""Bytes read and time spent to discard a body that is too large, so that its sender sees the response. A body that no
route reads may take as long after the response."""

LINGER_SECONDS = 2.0
"""Time for which the server discards what a client sends after its last response."""

MAX_PAGE = 500
MAX_OFFSET = 10_000_000
"""Conversations of a list that a page may be behind."""

MAX_PLACES = 100
"""Conversations for which one request may ask where their KV is. The token ids of all of them are read for it."""

MAX_QUERY_LENGTH = 256
MAX_SAVED_PROMPT_LENGTH = 1 << 16
MAX_SUMMARY_LENGTH = 1 << 14
MAX_RATING_NOTE = 2000
MAX_MERGED = 8

MIN_PASSWORD = 10
MAX_PASSWORD = 256

MAX_FILE_NAME = 255
MAX_DOCUMENT_BYTES = 32 << 20
MAX_DOCUMENT_TEXT = 1 << 19
"""Size of a document whose text is read, and maximum length of that text."""

MAX_IMPORT_BYTES = 64 << 20
MAX_IMPORTED = 120_000
"""Conversations and messages of one file. While answers are computed, an import of this size takes minutes."""

HEAD_SECONDS = 10.0
"""Time for the request line and the headers, from the connection or from their first byte on."""

BODY_SECONDS = 30.0
"""Time for the whole body. The largest one needs 140 kB/s, a file to import 2 MB/s."""

WRITE_SECONDS = 20.0
"""Time for a client to read any of the sent bytes, while nothing more is written."""

DRAIN_SECONDS = 60.0
"""Time for a client to read most of the sent bytes, before more is written."""

EXIT_SECONDS = 1.5
"""Time for an answer to be sent to its end once the server exits. Less than `CLOSE_SECONDS` of `app/server.py`."""

MAX_UNSENT_BYTES = 64 << 10
"""Unsent bytes of a connection in the kernel. A client that does not read is noticed before it fills megabytes."""

KEEP_ALIVE_SECONDS = 75
"""Time for which an idle connection stays open. Clients and proxies keep theirs for less (5 to 60 s), so the end that
reuses a connection is also the end that closes it."""

MAX_USE_DAYS = 366
"""Days for which a tenant's use is kept and shown, today included."""

MAX_PROVISIONING_BYTES = 4 << 20
"""Bytes of a request of SCIM: a group with 20,000 members."""

MAX_SAML_BYTES = 256 << 10
"""Bytes of the form with a response of SAML."""
