"""Chat templates in the shape of those of model families, short, for tests."""

from typing import Final

LLAMA3: Final = """{{- bos_token }}
{%- if not tools_in_user_message is defined %}
    {%- set tools_in_user_message = true %}
{%- endif %}
{%- if not tools is defined %}
    {%- set tools = none %}
{%- endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content'] | trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{%- if tools is not none %}
    {{- "Environment: ipython\\n" }}
{%- endif %}
{{- system_message + "<|eot_id|>" }}
{%- if tools_in_user_message and not tools is none %}
    {%- if messages | length != 0 %}
        {%- set first_user_message = messages[0]['content'] | trim %}
        {%- set messages = messages[1:] %}
    {%- else %}
        {{- raise_exception("Cannot put tools in the first user message when there's no first user message!") }}
    {%- endif %}
    {{- '<|start_header_id|>user<|end_header_id|>\\n\\n' -}}
    {%- for tool in tools %}
        {{- tool | tojson(indent=4) }}
        {{- "\\n\\n" }}
    {%- endfor %}
    {{- first_user_message + "<|eot_id|>" }}
{%- endif %}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' }}
        {{- message['content'] | trim + '<|eot_id|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}
            {{- raise_exception("This model only supports single tool-calls at once!") }}
        {%- endif %}
        {%- set tool_call = message.tool_calls[0].function %}
        {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' -}}
        {{- '{"name": "' + tool_call.name + '", ' }}
        {{- '"parameters": ' }}
        {{- tool_call.arguments | tojson }}
        {{- "}" }}
        {{- "<|eot_id|>" }}
    {%- elif message.role == "tool" or message.role == "ipython" %}
        {{- "<|start_header_id|>ipython<|end_header_id|>\\n\\n" }}
        {{- message.content | tojson }}
        {{- "<|eot_id|>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
{#- <|python_tag|> #}"""

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

GRANITE3: Final = """{%- if tools %}
    {{- '<|start_of_role|>available_tools<|end_of_role|>' + tools | tojson(indent=4) + '<|end_of_text|>\\n' }}
{%- endif %}
{%- if thinking %}{{- 'Respond to every user query.' }}{%- elif tools %}
    {{- "When a tool is required to answer the user's query, respond with <|tool_call|> and a JSON list." }}
{%- endif %}
{%- for message in messages %}
    {{- '<|start_of_role|>' + message['role'] + '<|end_of_role|>' + message['content'] + '<|end_of_text|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|start_of_role|>assistant<|end_of_role|>' }}{%- endif %}"""

_DEEPSEEK: Final = """{{- bos_token }}
{%- for message in messages %}
    {%- if message['role'] == 'system' %}
        {{- message['content'] }}
    {%- elif message['role'] == 'user' %}
        {{- '<｜User｜>' + message['content'] }}
    {%- elif message['role'] == 'assistant' and message['tool_calls'] is defined and message['tool_calls'] %}
        {{- '<｜Assistant｜>' + (message['content'] or '') + '<｜tool▁calls▁begin｜>' }}
        {%- for tool in message['tool_calls'] %}
            CALL
        {%- endfor %}
        {{- '<｜tool▁calls▁end｜><｜end▁of▁sentence｜>' }}
    {%- endif %}
    {%- if message['role'] == 'assistant' and message['content'] is not none AND_NO_CALLS %}
        {{- '<｜Assistant｜>' + message['content'] + '<｜end▁of▁sentence｜>' }}
    {%- endif %}
    {%- if message['role'] == 'tool' %}
        {{- '<｜tool▁output▁begin｜>' + message['content'] + '<｜tool▁output▁end｜>' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<｜Assistant｜>' }}{%- endif %}"""

DEEPSEEK3: Final = _DEEPSEEK.replace(
    "CALL\n",
    """{{- '\\n' if not loop.first }}
            {{- '<｜tool▁call▁begin｜>' + tool['type'] + '<｜tool▁sep｜>' + tool['function']['name'] }}
            {{- '\\n```json\\n' + tool['function']['arguments'] | tojson + '\\n```<｜tool▁call▁end｜>' }}
""",
).replace("AND_NO_CALLS", "")

DEEPSEEK31: Final = _DEEPSEEK.replace(
    "CALL\n",
    """{{- '<｜tool▁call▁begin｜>' + tool['function']['name'] + '<｜tool▁sep｜>' }}
            {{- tool['function']['arguments'] | tojson + '<｜tool▁call▁end｜>' }}
""",
).replace("AND_NO_CALLS", "and not message['tool_calls']")

PHI4_MINI: Final = (
    "{% for message in messages %}"
    "{% if message['role'] == 'system' and 'tools' in message and message['tools'] is not none %}"
    "{{ '<|' + message['role'] + '|>' + message['content'] + '<|tool|>' + message['tools'] + '<|/tool|>' + '<|end|>' }}"
    "{% else %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)

QWEN3_CODER: Final = """{%- if tools %}
    {{- "<|im_start|>system\\n# Tools\\n\\n<tools>" }}
    {%- for tool in tools %}{{- "\\n<function>\\n<name>" ~ tool.function.name ~ "</name>\\n</function>" }}{%- endfor %}
    {{- "\\n</tools>\\n<tool_call>\\n<function=example>\\n<parameter=a>\\n1\\n</parameter>\\n<|im_end|>\\n" }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == "assistant" and message.tool_calls is defined and message.tool_calls %}
        {{- '<|im_start|>' + message.role }}
        {%- if message.content %}{{- '\\n' + message.content | trim + '\\n' }}{%- endif %}
        {%- for tool_call in message.tool_calls %}
            {%- set tool_call = tool_call.function %}
            {{- '\\n<tool_call>\\n<function=' + tool_call.name + '>\\n' }}
            {%- for args_name, args_value in tool_call.arguments | items %}
                {{- '<parameter=' + args_name + '>\\n' }}
                {%- set args_value = args_value if args_value is string else args_value | tojson %}
                {{- args_value + '\\n</parameter>\\n' }}
            {%- endfor %}
            {{- '</function>\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == "tool" %}
        {%- if loop.first or messages[loop.index0 - 1].role != "tool" %}{{- '<|im_start|>user\\n' }}{%- endif %}
        {{- '<tool_response>\\n' + message.content + '\\n</tool_response>\\n' }}
        {%- if loop.last or messages[loop.index0 + 1].role != "tool" %}{{- '<|im_end|>\\n' }}{%- endif %}
    {%- else %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"""

HERMES: Final = """{%- if tools %}
    {{- '<|im_start|>system\\n# Tools\\n\\n<tools>' }}
    {%- for tool in tools %}{{- '\\n' + tool | tojson }}{%- endfor %}
    {{- '\\n</tools>\\n\\n{"name": <function-name>, "arguments": <args-json-object>}<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == 'tool' %}
        {%- if loop.first or messages[loop.index0 - 1].role != 'tool' %}{{- '<|im_start|>user' }}{%- endif %}
        {{- '\\n<tool_response>\\n' + message.content + '\\n</tool_response>' }}
        {%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{- '<|im_end|>\\n' }}{%- endif %}
    {%- else %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content }}
        {%- for tool_call in message.tool_calls or [] %}
            {{- '\\n' if message.content or not loop.first }}
            {{- '<tool_call>\\n{"name": "' + tool_call.function.name + '", "arguments": ' }}
            {{- tool_call.function.arguments | tojson + '}\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"""


GRANITE4: Final = (
    HERMES.replace("<|im_start|>' + message.role + '\\n'", "<|start_of_role|>' + message.role + '<|end_of_role|>'")
    .replace("<|im_start|>user'", "<|start_of_role|>user<|end_of_role|>'")
    .replace("<|im_start|>assistant\\n", "<|start_of_role|>assistant<|end_of_role|>")
    .replace("<|im_start|>system\\n", "<|start_of_role|>system<|end_of_role|>")
    .replace("<|im_end|>", "<|end_of_text|>")
)
