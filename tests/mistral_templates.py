"""Chat templates in the shape of Mistral's, by the version of its tokenizer, short, for tests."""

from typing import Final

_MISTRAL: Final = """{{- bos_token }}
{%- if tools %}[AVAILABLE_TOOLS]{{ tools | tojson }}[/AVAILABLE_TOOLS]{% endif %}
{%- for message in messages %}
    {%- if message['role'] == 'user' %}
        {{- '[INST]' + message['content'] + '[/INST]' }}
    {%- elif message['role'] == 'system' %}
        {{- '[SYSTEM_PROMPT]' + message['content'] + '[/SYSTEM_PROMPT]' }}
    {%- elif message['role'] == 'assistant' %}
        {{- message['content'] }}
        CALLS
        {{- eos_token }}
    {%- elif message['role'] == 'tool' %}
        RESULT
    {%- endif %}
{%- endfor %}"""

_CHECKED_ID: Final = (
    """{%- if tool_call.id | length != 9 %}{{- raise_exception("ids have 9 characters") }}{%- endif %}"""
)

MISTRAL13: Final = _MISTRAL.replace(
    "CALLS",
    """{%- for tool_call in message['tool_calls'] or [] %}
            {{- '[TOOL_CALLS]' + tool_call['function']['name'] + '[ARGS]' }}
            {{- tool_call['function']['arguments'] | tojson }}
        {%- endfor %}""",
).replace("RESULT", "{{- '[TOOL_RESULTS]' + message['content'] + '[/TOOL_RESULTS]' }}")

MISTRAL11: Final = _MISTRAL.replace(
    "CALLS",
    """{%- for tool_call in message['tool_calls'] or [] %}
            CHECKED
            {{- '[TOOL_CALLS]' + tool_call['function']['name'] + '[CALL_ID]' + tool_call['id'] }}
            {{- '[ARGS]' + tool_call['function']['arguments'] | tojson }}
        {%- endfor %}""".replace("CHECKED", _CHECKED_ID),
).replace(
    "RESULT",
    "{{- '[TOOL_RESULTS]' + message['tool_call_id'] + '[TOOL_CONTENT]' + message['content'] + '[/TOOL_RESULTS]' }}",
)

MISTRAL3: Final = _MISTRAL.replace(
    "CALLS",
    """{%- for tool_call in message['tool_calls'] or [] %}
            CHECKED
            {{- '[TOOL_CALLS][' if loop.first else ', ' }}
            {{- (tool_call.function | tojson)[:-1] + ', "id": "' + tool_call.id + '"}' }}
            {{- ']' if loop.last }}
        {%- endfor %}""".replace("CHECKED", _CHECKED_ID),
).replace(
    "RESULT",
    """{{- '[TOOL_RESULTS]{"content": ' + message.content }}
        {{- ', "call_id": "' + message.tool_call_id + '"}[/TOOL_RESULTS]' }}""",
)
