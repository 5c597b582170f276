"""Chats as import files for the screenshots and the checks, one of them with every element of an answer."""

from typing import Any

CREATED = 1767225600.0
QUESTION = "Explain the tides to me, with the formula, a table and a bit of code."

ANSWER = r"""# Tides

The Moon pulls **more strongly** on the near side of the Earth than on its centre. The difference is the *tidal force*;
over a distance $r$ it falls with $1/r^3$:

$$
a_{\text{tide}} \approx \frac{2 G M R}{r^3}
$$

## How high they are

| Place | Range | Kind |
| :--- | ---: | :--- |
| Bay of Fundy | 16.3 m | twice a day |
| Saint-Malo | 12.2 m | twice a day |
| Gulf of Mexico | 0.6 m | once a day |

> Time and tide wait for no man.

To do before sailing:

- [x] look up high water
- [ ] check the wind
- [ ] tell somebody where you go

```python
def height(hours: float, mean: float = 5.0, range_m: float = 4.0) -> float:
    # Metres above the chart's zero, `hours` after high water.
    return mean + range_m / 2 * cos(2 * pi * hours / 12.42)
```

See [the rule of twelfths](https://example.org/twelfths) for a guess without a computer[^1]. Press <kbd>F5</kbd> for the
<mark>latest</mark> figures of H<sub>2</sub>O.

<details>
<summary>Why twice a day?</summary>

The Earth turns below two bulges of water.

</details>

<table>
<tr><th>Place</th><th align="right">Range</th></tr>
<tr><td>Bay of Fundy</td><td align="right">16 <b>m</b></td></tr>
</table>

```diff
- tide = low
+ tide = high
```

[^1]: Sailors used it long before computers.
"""


def showcase(title: str, archived: bool = False) -> dict[str, Any]:
    """Build an import file with one conversation: a question and two versions of its answer."""
    messages = [
        _message("msg_showcase_question_1", None, "user", QUESTION, CREATED),
        _message("msg_showcase_answer_1", "msg_showcase_question_1", "assistant", "The Moon pulls.", CREATED + 1),
        _message("msg_showcase_answer_2", "msg_showcase_question_1", "assistant", ANSWER, CREATED + 2),
    ]
    conversation: dict[str, Any] = {
        "id": f"conv_{title.replace(' ', '_')}",
        "title": title,
        "title_source": "user",
        "system_prompt": None,
        "params": {},
        "pinned": False,
        "archived": archived,
        "created_at": CREATED,
        "updated_at": CREATED,
        "head_id": "msg_showcase_answer_2",
        "messages": messages,
    }
    return {
        "format": "ebb-conversations",
        "format_version": 1,
        "exported_at": CREATED,
        "conversations": [conversation],
    }


def one_turn(title: str, question: str, answer: str) -> dict[str, Any]:
    """Build an import file with one conversation: a question and its answer."""
    file = showcase(title)
    file["conversations"][0] |= {
        "head_id": "msg_one_answer",
        "messages": [
            _message("msg_one_question", None, "user", question, CREATED),
            _message("msg_one_answer", "msg_one_question", "assistant", answer, CREATED + 1),
        ],
    }
    return file


def long_chat(title: str, messages: int) -> dict[str, Any]:
    """Build an import file with one conversation of `messages` short messages.

    The message ids contain the title, so they are unique among chats with different titles.
    """
    file = showcase(title)
    name = title.lower().replace(" ", "_")
    ids = [None, *(f"msg_{name}_{number}" for number in range(messages))]
    file["conversations"][0] |= {
        "head_id": ids[-1],
        "messages": [
            _message(str(ids[n + 1]), ids[n], ("user", "assistant")[n % 2], f"Message **{n}** of the log.", CREATED + n)
            for n in range(messages)
        ],
    }
    return file


def _message(id_: str, parent_id: str | None, role: str, content: str, created_at: float) -> dict[str, Any]:
    return {
        "id": id_,
        "parent_id": parent_id,
        "role": role,
        "content": content,
        "status": "complete",
        "created_at": created_at,
        "completed_at": created_at,
    }
