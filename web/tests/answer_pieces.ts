/** An answer with the usual kinds of blocks. */
export const ANSWER = `The first paragraph
goes over two lines.

A heading by its underline
--------------------------

1. one

2. two

   \`\`\`python
   print("in a list")

   print("after a blank line")
   \`\`\`

3. three

* a
* b

| a | b |
|---|---|
| 1 | 2 |

\`\`\`
a fence

with blank lines
\`\`\`

$$
\\begin{aligned}
a &= b \\\\

&= c
\\end{aligned}
$$

\\[
x^2

+ y^2
\\]

> quoted

See [it] and a note[^1].

[it]: https://example.org

[^1]: The note,

    with two paragraphs.

The end.`;

/** Lines, and parts of lines, of every construct. */
export const PIECES = [
  "Text before it:\n", "Text.\n\n", "\n", "\n\n", "- item\n", "1. first\n", "> quoted\n", "# Heading\n", "<div>\n", "---\n", "===\n",
  "```python\n", "```\n", "````\n", "~~~\n", "``", "   ```\n", "```markdown\n", "x = 1\n", "  indented\n", "    code\n", "\n  \n", "a ``` b\n",
  "| a | b |\n", "|---|--:|\n", "| 1 | *2* |\n", "| 3 `|` \n", "1 | 2 | 3\n", "|", "a: b\n", "$$\n", "\\[\n", "\\]\n", "$$x$$\n", "x^2\n",
  "<details>\n", "</details>\n", "<summary>s</summary>\n", "[^1]: note\n", "    more\n", "see[^1] <kbd>x</kbd>\n", "[a]: https://x.test\n", "[a] \n",
  "**bold** ", "*", "\t- tab\n", "<!-- ", "-->\n", "<script>\n", "- [x] done\n", "\"title\"\n",
];
