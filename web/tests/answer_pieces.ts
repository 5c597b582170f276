import { readFileSync } from "node:fs";

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

/** Parts of texts, of which those around a word have it in a place that a reader sees. The server draws the same mixtures. */
interface Mixtures {
  around: string[];
  bare: string[];
}

const { around, bare } = JSON.parse(readFileSync("../tests/markdown/mixtures.json", "utf8")) as Mixtures;

/** Lines, and parts of lines, of every construct. */
export const PIECES: readonly string[] = bare;

/** Constructs around WORD, some without their end. */
export const AROUND: readonly string[] = around;
