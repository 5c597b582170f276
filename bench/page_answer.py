"""Streamed answers of the benchmarks of the page."""

import json
import re
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Self

MARKDOWN = r"""

## The tides, part after part

The Moon pulls **more strongly** on the near side of the Earth than on its centre; the difference is the *tidal force*,
and over a distance $r$ it falls with $1/r^3$. Twice a day the water rises and falls, and every harbour has hours of its
own: `high_water` comes some fifty minutes later each day, because the Moon has gone on meanwhile.

1. Look up high water for your harbour.
2. Count six hours on from there.
3. Apply the rule of twelfths in between.

| Hour | Change | Of the range |
| :--- | -----: | :----------- |
| 1    |      1 | a twelfth    |
| 2    |      2 | two twelfths |
| 3    |      3 | a quarter    |

```python
def height(hours: float, mean: float = 5.0, range_m: float = 4.0) -> float:
    # Metres above the chart's zero, hours after high water.
    return mean + range_m / 2 * cos(2 * pi * hours / 12.42)
```

> Time and tide wait for no man, and an answer that is being read waits for nobody either.
"""
"""Markdown with everything that an answer may contain. Longer answers repeat it."""


def code(lines: int) -> str:
    """Make a block of code with `lines` lines, a multiple of four."""
    functions = (
        f"def height_{number}(hours: float) -> float:\n"
        f"    # {number} metres above zero.\n"
        f"    return {number} * cos(hours)\n\n"
        for number in range(lines // 4)
    )
    return "".join(("```python\n", *functions, "```\n"))


def table(rows: int) -> str:
    """Make a table with `rows` rows below its head."""
    body = (f"| {number} | **{number % 12}** | `{number / 2}` twelfths |\n" for number in range(rows))
    return "".join(("| Hour | Change | Of the range |\n| :--- | ---: | :--- |\n", *body))


def drawings(parts: int) -> str:
    """Make `parts` sections that each have Markdown, a Mermaid diagram, a moving HTML page and an SVG image."""
    return "".join(f"{MARKDOWN}\n{_diagram(number)}\n{_MOVING_PAGE}\n{_image(number)}\n" for number in range(parts))


_MOVING_PAGE = """```html
<style> p { animation: tide 2s infinite alternate } @keyframes tide { to { transform: translateX(200px) } } </style>
<p> high water </p>
<script>
  let frames = 0;
  const count = () => { document.title = String(++frames); requestAnimationFrame(count); };
  count();
</script>
```
"""


def _diagram(number: int) -> str:
    steps = "".join(f"  S{step} -- after {step + number} hours --> S{step + 1}\n" for step in range(12))
    return f"```mermaid\nflowchart TD\n{steps}```\n"


def _image(number: int) -> str:
    bars = "".join(f'  <rect x="{10 * bar}" width="8" height="{(bar * number) % 90 + 5}" />\n' for bar in range(20))
    return f'```svg\n<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 100">\n{bars}</svg>\n```\n'


def words_of(text: str) -> tuple[str, ...]:
    """Cut a text into words, each with the space before it."""
    return tuple(re.findall(r"\s*\S+", text))


@dataclass(frozen=True, slots=True)
class Answer:
    """Streamed answer: the first `tokens` of `pieces`, which are repeated from the first after the last.

    has_drawings: whether the answer has Mermaid diagrams, which must be drawn, and previews of HTML and SVG, of which
    the first ones are opened while the answer continues.
    """

    name: str
    pieces: tuple[str, ...]
    tokens: int
    has_drawings: bool = False

    @classmethod
    def whole(cls, name: str, text: str, most: int, *, has_drawings: bool = False) -> Self:
        """Create an answer with all words of `text`, cut after `most` of them."""
        words = words_of(text)
        return cls(name, words, min(most, len(words)), has_drawings)

    def written(self, folder: Path) -> Path:
        """Create `folder` and write the answer's tokens to a file in it. Return the file's path."""
        folder.mkdir(parents=True)
        path = folder / "tokens.json"
        path.write_text(json.dumps(list(islice(cycle(self.pieces), self.tokens))), encoding="utf-8")
        return path
