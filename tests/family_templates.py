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

QWEN3: Final = HERMES.replace(
    "assistant\\n' }}{%- endif %}",
    """assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}""",
)


GRANITE4: Final = (
    HERMES.replace("<|im_start|>' + message.role + '\\n'", "<|start_of_role|>' + message.role + '<|end_of_role|>'")
    .replace("<|im_start|>user'", "<|start_of_role|>user<|end_of_role|>'")
    .replace("<|im_start|>assistant\\n", "<|start_of_role|>assistant<|end_of_role|>")
    .replace("<|im_start|>system\\n", "<|start_of_role|>system<|end_of_role|>")
    .replace("<|im_end|>", "<|end_of_text|>")
)

GLM45: Final = """[gMASK]<sop>
{%- if tools %}<|system|>
# Tools
<tools>
{% for tool in tools %}
{{ tool | tojson }}
{% endfor %}
</tools>
<tool_call>{function-name}
<arg_key>{arg-key-1}</arg_key>
<arg_value>{arg-value-1}</arg_value>
</tool_call>{%- endif -%}
{%- for m in messages %}
{%- if m.role == 'user' %}<|user|>
{{ m.content }}
{%- elif m.role == 'assistant' -%}
<|assistant|>
{{- '\\n<think></think>' }}
{%- if m.content %}{{ '\\n' + m.content.strip() }}{%- endif -%}
{% if m.tool_calls %}
{% for tc in m.tool_calls %}
{%- if tc.function %}{%- set tc = tc.function %}{%- endif %}
{{ '\\n<tool_call>' + tc.name }}
{% set _args = tc.arguments %}
{% for k, v in _args.items() %}
<arg_key>{{ k }}</arg_key>
<arg_value>{{ v | tojson if v is not string else v }}</arg_value>
{% endfor %}
</tool_call>{% endfor %}
{% endif %}
{%- elif m.role == 'tool' -%}
{%- if loop.first or (messages[loop.index0 - 1].role != "tool") %}{{- '<|observation|>' }}{%- endif %}
{{- '\\n<tool_response>\\n' }}
{{- m.content }}
{{- '\\n</tool_response>' }}
{%- elif m.role == 'system' -%}
<|system|>
{{ m.content }}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
<|assistant|>{{- '\\n<think></think>' if (enable_thinking is defined and not enable_thinking) else '' -}}
{%- endif -%}"""

GLM47: Final = (
    GLM45.replace("{function-name}\n", "{function-name}")
    .replace("</arg_key>\n", "</arg_key>")
    .replace("</arg_value>\n", "</arg_value>")
    .replace("\\n<tool_call>", "<tool_call>")
    .replace("'\\n<think>", "'<think>")
)

KIMI: Final = """{%- if tools -%}
<|im_system|>tool_declare<|im_middle|>{{ tools | tojson }}<|im_end|>
{%- endif -%}
{%- for message in messages -%}
{%- if message['role'] == 'tool' -%}
<|im_system|>{{ message.name }}<|im_middle|>## Return of {{ message.tool_call_id }}
{{ message.content }}<|im_end|>
{%- else -%}
<|im_{{ message.role }}|>{{ message.role }}<|im_middle|>{{ message.content }}
{%- if message.tool_calls -%}
<|tool_calls_section_begin|>
{%- for tool_call in message['tool_calls'] -%}
<|tool_call_begin|>{{ tool_call['id'] }}<|tool_call_argument_begin|>
{{- tool_call['function']['arguments'] | tojson -}}<|tool_call_end|>
{%- endfor -%}
<|tool_calls_section_end|>
{%- endif -%}
<|im_end|>
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}<|im_assistant|>assistant<|im_middle|>{%- endif -%}"""

GEMMA4: Final = """{%- macro argument(value) -%}
    {%- if value is string -%}{{ '<|"|>' + value + '<|"|>' }}
    {%- elif value is mapping -%}
        {{- '{' -}}{%- for key, each in value | dictsort -%}
            {{- key + ':' + argument(each) -}}{{- ',' if not loop.last -}}
        {%- endfor -%}{{- '}' -}}
    {%- else -%}{{ value | tojson }}{%- endif -%}
{%- endmacro -%}
{{- bos_token -}}
{%- if tools or messages[0]['role'] == 'system' or enable_thinking -%}
    {{- '<|turn>system\\n' -}}
    {%- if enable_thinking -%}{{- '<|think|>\\n' -}}{%- endif -%}
    {%- if messages[0]['role'] == 'system' -%}
        {{- messages[0]['content'] | trim -}}{%- set messages = messages[1:] -%}
    {%- endif -%}
    {%- for tool in tools or [] -%}
        {{- '<|tool>declaration:' + tool.function.name + '{}<tool|>' -}}
    {%- endfor -%}
    {{- '<turn|>\\n' -}}
{%- endif -%}
{%- set state = namespace(opened=false) -%}
{%- for message in messages -%}
    {%- if message['role'] == 'tool' -%}
        {{- '<|tool_response>response:' + message['name'] + '{value:' + argument(message['content']) -}}
        {{- '}<tool_response|>' -}}
    {%- else -%}
        {%- set role = 'model' if message['role'] == 'assistant' else message['role'] -%}
        {%- if not (state.opened and role == 'model') -%}{{- '<|turn>' + role + '\\n' -}}{%- endif -%}
        {%- for tool_call in message['tool_calls'] or [] -%}
            {{- '<|tool_call>call:' + tool_call.function.name + argument(tool_call.function.arguments) -}}
            {{- '<tool_call|>' -}}
        {%- endfor -%}
        {{- message['content'] | trim -}}
        {%- set state.opened = message['tool_calls'] | length > 0 if message['tool_calls'] else false -%}
        {%- if not state.opened -%}{{- '<turn|>\\n' -}}{%- endif -%}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt and not state.opened -%}
    {{- '<|turn>model\\n' -}}
    {%- if not enable_thinking -%}{{- '<|channel>thought\\n<channel|>' -}}{%- endif -%}
{%- endif -%}"""

OLMO3: Final = """{%- for message in messages -%}
    {%- if message['role'] == 'system' -%}
        {{- '<|im_start|>system\\n' + message['content'] -}}
        {%- if tools -%}{{- ' <functions>' + tools | tojson + '</functions>' -}}{%- endif -%}
        {{- '<|im_end|>\\n' -}}
    {%- elif message['role'] == 'assistant' -%}
        {{- '<|im_start|>assistant\\n' + (message['content'] or '') -}}
        {#- calls come as <function_calls> in the content -#}
        {{- '<|im_end|>\\n' -}}
    {%- else -%}
        {{- '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' -}}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n<think>' -}}{%- endif -%}"""

LLAMA4: Final = """{{- bos_token }}
{%- if tools %}
    {{- "<|header_start|>system<|header_end|>\\n\\nAnswer with a list: [func(name=value)]\\n\\n" }}
    {{- tools | tojson(indent=4) + "<|eot|>" }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == 'tool' or message.role == 'ipython' %}
        {{- "<|header_start|>ipython<|header_end|>\\n\\n" + message.content | tojson + "<|eot|>" }}
    {%- else %}
        {{- '<|header_start|>' + message['role'] + '<|header_end|>\\n\\n' + message['content'] + '<|eot|>' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|header_start|>assistant<|header_end|>\\n\\n' }}{%- endif %}"""

GRANITE33: Final = """{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content'] %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = 'You are Granite.' %}
    {%- if thinking %}
        {%- set system_message = system_message + ' Write your thoughts between <think></think> and write your response
between <response></response> for each user query.' %}
    {%- endif %}
{%- endif %}
{{- '<|start_of_role|>system<|end_of_role|>' + system_message + '<|end_of_text|>\\n' }}
{%- for message in messages %}
    {{- '<|start_of_role|>' + message['role'] + '<|end_of_role|>' + message['content'] + '<|end_of_text|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|start_of_role|>assistant<|end_of_role|>' }}{%- endif %}"""

GRANITE32: Final = GRANITE33.replace("between <think></think>", 'after "Here is my thought process:"').replace(
    "between <response></response>", 'after "Here is my response:"'
)

GEMMA2: Final = """{{ bos_token }}
{%- if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}
{%- for message in messages %}
{%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
{{- raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}
{%- set role = 'model' if message['role'] == 'assistant' else message['role'] %}
{{- '<start_of_turn>' + role + '\\n' + message['content'] | trim + '<end_of_turn>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}"""

GEMMA3: Final = """{{ bos_token }}
{%- if messages[0]['role'] == 'system' %}
    {%- set first_user_prefix = messages[0]['content'] + '\\n\\n' %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set first_user_prefix = "" %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- for message in loop_messages %}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
        {{- raise_exception("Conversation roles must alternate user/assistant/user/assistant/...") }}
    {%- endif %}
    {%- set role = 'model' if message['role'] == 'assistant' else message['role'] %}
    {{- '<start_of_turn>' + role + '\\n' + (first_user_prefix if loop.first else '') }}
    {{- message['content'] | trim + '<end_of_turn>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<start_of_turn>model\\n' }}{%- endif %}"""

HARMONY: Final = """{{- "<|start|>system<|message|>You are ChatGPT.\\nReasoning: " + (reasoning_effort or "medium") }}
{{- "\\n\\n# Valid channels: analysis, commentary, final.<|end|>" }}
{%- if messages[0].role == "system" %}
    {%- set developer_message = messages[0].content %}
    {%- set messages = messages[1:] %}
{%- endif %}
{%- if developer_message or tools %}
    {{- "<|start|>developer<|message|>" }}
    {%- if developer_message %}{{- "# Instructions\\n\\n" + developer_message + "\\n\\n" }}{%- endif %}
    {%- if tools %}
        {{- "namespace functions {\\n" }}
        {%- for tool in tools %}{{- "type " + tool.function.name + " = () => any;\\n" }}{%- endfor %}
        {{- "}" }}
    {%- endif %}
    {{- "<|end|>" }}
{%- endif %}
{%- set last_tool_call = namespace(name=none) %}
{%- for message in messages %}
    {%- if message.role == 'assistant' and message.tool_calls %}
        {%- set tool_call = message.tool_calls[0].function %}
        {%- if message.content %}
            {{- "<|start|>assistant<|channel|>analysis<|message|>" + message.content + "<|end|>" }}
        {%- endif %}
        {{- "<|start|>assistant to=functions." + tool_call.name + "<|channel|>commentary json<|message|>" }}
        {{- tool_call.arguments | tojson + "<|call|>" }}
        {%- set last_tool_call.name = tool_call.name %}
    {%- elif message.role == 'assistant' %}
        {{- "<|start|>assistant<|channel|>final<|message|>" + message.content + "<|end|>" }}
    {%- elif message.role == 'tool' %}
        {%- if last_tool_call.name is none %}
            {{- raise_exception("no previous assistant message with a tool call") }}
        {%- endif %}
        {{- "<|start|>functions." + last_tool_call.name + " to=assistant<|channel|>commentary<|message|>" }}
        {{- message.content | tojson + "<|end|>" }}
    {%- else %}
        {{- "<|start|>user<|message|>" + message.content + "<|end|>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- "<|start|>assistant" }}{%- endif %}"""

LLAMA4_JSON: Final = (
    LLAMA3.replace("start_header_id", "header_start")
    .replace("end_header_id", "header_end")
    .replace("<|eot_id|>", "<|eot|>")
    .replace("<|python_tag|>", "<|python_start|>")
)

PHI4: Final = (
    "{% for message in messages %}{% if message['role'] in ('system', 'user', 'assistant') %}"
    "{{ '<|im_start|>' + message['role'] + '<|im_sep|>' + message['content'] + '<|im_end|>' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant<|im_sep|>' }}{% endif %}"
)

PHI4_FUNCTOOLS: Final = """{%- if tools %}
    {{- '<|system|>To call functions, answer with functools[{"name": NAME, "arguments": ARGUMENTS}, ...]' }}
    {{- "<|tool|>" + tools | tojson + "<|/tool|><|end|>" }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == "assistant" and message.tool_calls %}
        {{- "<|assistant|>functools[" }}
        {%- for tool_call in message.tool_calls %}
            {%- set tool_call = tool_call.function %}
            {{- '{"name": "' + tool_call.name + '", "arguments": ' + tool_call.arguments | tojson + "}" }}
            {%- if not loop.last %}{{- ", " }}{%- endif %}
        {%- endfor %}
        {{- "]<|end|>" }}
    {%- elif message.role == "tool" %}
        {{- "<|tool_response|>" + message.content + "<|end|>" }}
    {%- else %}
        {{- "<|" + message.role + "|>" + message.content + "<|end|>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- "<|assistant|>" }}{%- endif %}"""
