"""Bodies of the responses under /api, of /health and of /tokenize, and the data of the page's events.

A route builds its response as one of these TypedDicts, mypy checks the fields, and `app.openapi` describes them. Fields
marked NotRequired may be missing; the description gives the value that stands for a missing one. Times are Unix
seconds, durations milliseconds, counts tokens.
"""
