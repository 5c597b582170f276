import DOMPurify from "dompurify";
import { describe, expect, it, onTestFinished, vi } from "vitest";

import { hasChemistry, loadMath } from "../../../src/services/markdown/math";
import { GrowingText } from "../../../src/services/markdown/growing_text";
import { outline, renderPieces, sanitise, warmUp } from "../../../src/services/markdown/render";
import { setMath } from "../../../src/services/markdown/typeset";
import { drawn as render } from "../../drawn";

/** Return the rendered HTML of a text without blocks. */
const inline = (source: string) => renderPieces({ source, references: null, notes: null }).map(sanitise).join("");

const HOSTILE = [
  "<script>window.hacked = 1</script>",
  '<img src=x onerror="window.hacked=1">',
  "text <svg onload=alert(1)> text",
  "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
  "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
  "[a](javascript:alert(1))",
  "[a](JaVaScRiPt&colon;alert(1))",
  "[a](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
  "[a](vbscript:msgbox)",
  '[a](https://x.test "onmouseover=alert(1)")',
  '[a](https://x.test "<a href= onmouseover=alert(1) x=")',
  "[a](https://x.test '<a href=\" autofocus onfocus=alert(1) x=\"')",
  '[a](<https://x.test/" onmouseover="alert(1)>)',
  "![a](https://x.test/pixel.png)",
  '![a" onerror="alert(1)](x)',
  "![a](javascript:alert(1))",
  "<a href='javascript:alert(1)'>a</a>",
  "<form action=https://x.test><input name=q><button>go</button></form>",
  "<style>body{display:none}</style>",
  '| a |\n|---|\n| <img src=x onerror="alert(1)"> |',
  "# <b onclick=alert(1)>title</b>",
  "<https://x.test/<script>alert(1)</script>>",
  "`<img src=x onerror=alert(1)>`",
  "<kbd onclick=alert(1)>x</kbd> <sub><img src=x onerror=alert(1)></sub> <mark style='position:fixed'>x</mark>",
  '<div><img src=x onerror=alert(1)><a href="javascript:alert(1)">a</a></div>',
  "<details ontoggle=alert(1) open>\n<summary>a</summary>\n</details>",
  "<table background='javascript:alert(1)'><tr><td style='background:url(//x.test)'>a</td></tr></table>",
  "<p><noscript><p title='</noscript><img src=x onerror=alert(1)>'></p>",
  "<div>\n<svg><style><img src=x onerror=alert(1)></style></svg>\n</div>",
  '<img src="https://x.test/pixel.png" alt="<b onclick=alert(1)>">',
  '<span class="math">x</span> <sup class="footnote">1 1</sup>',
  "x[^1] [^<script>alert(1)</script>]",
];

describe("a model's output", () => {
  it.each(HOSTILE)("is harmless: %s", (text) => {
    const host = render(text);
    expect(host.querySelectorAll("script,img,svg,iframe,style,form,button,math,object,embed,link,meta")).toHaveLength(0);
    for (const element of host.querySelectorAll("*")) {
      for (const { name } of element.attributes) {
        expect(name.startsWith("on") || ["style", "src", "srcdoc", "id"].includes(name)).toBe(false);
      }
    }
    for (const link of host.querySelectorAll("a[href]")) {
      expect(link.getAttribute("href")).toMatch(/^(https?:|mailto:)/);
    }
  });

  it("shows raw HTML as text", () => {
    expect(render("a <blink>bold</blink> word").textContent?.trim()).toBe("a <blink>bold</blink> word");
    expect(render("<form>\nblock\n</form>").textContent?.trim()).toBe("<form>\nblock\n</form>");
    expect(render("<div><button>a</button></div>").textContent?.trim()).toBe("<div><button>a</button></div>");
  });

  it("keeps the few elements within text that answers may use", () => {
    const text = "H<sub>2</sub>O, x<sup>**2**</sup>, <kbd>Ctrl</kbd><br/><mark>this <sub>too</sub></mark>";
    expect(render(text).innerHTML.trim()).toBe(
      "<p>H<sub>2</sub>O, x<sup><strong>2</strong></sup>, <kbd>Ctrl</kbd><br><mark>this <sub>too</sub></mark></p>",
    );
    expect(render("<br>\n\n<kbd>a</kbd>").querySelectorAll("p > br, p > kbd")).toHaveLength(2);
  });

  it("drops the attributes of elements within text", () => {
    const text = '<kbd class="scrim">a</kbd> <u style="position:fixed" onclick=alert(1)>b <b>c</b></u> <abbr title="x">d</abbr>';
    expect(render(text).innerHTML.trim()).toBe("<p><kbd>a</kbd> <u>b <b>c</b></u> <abbr>d</abbr></p>");
  });

  it("keeps links and images of HTML by the rules of Markdown", () => {
    const link = render('<a href="https://x.test/?a=1&amp;b=2" onclick=alert(1)>a **b**</a>').querySelector("a");
    expect([link?.getAttribute("href"), link?.innerHTML, link?.target]).toEqual(["https://x.test/?a=1&b=2", "a <strong>b</strong>", "_blank"]);
    expect(render("<a href=javascript:alert(1)>a</a>").querySelector("a")).toBeNull();
    expect(render('<img src="https://x.test/a.png" alt="Tide">').querySelector("a")?.textContent).toBe("Tide");
    expect(render(`<img src="data:image/png;base64,iVBORw0KGgo=" alt="Tide">`).querySelector("img")?.alt).toBe("Tide");
  });

  it("keeps harmless blocks of HTML, without classes, styles and handlers", () => {
    const table = render('<table class="scrim" style="position:fixed">\n<tr><td colspan=2 onclick=alert(1)>a <i>b</i></td></tr>\n</table>');
    expect(table.firstElementChild!.innerHTML.replaceAll("\n", "")).toBe(
      '<div class="table" dir="auto"><table><tbody><tr><td colspan="2">a <i>b</i></td></tr></tbody></table></div>',
    );
    const centred = render('<div align="center" id="x">\n  <h1>Ebb</h1>\n  <img src="https://x.test/a.png" alt="Tide">\n</div>');
    expect(centred.querySelector("div[align]")?.getAttributeNames()).toEqual(["align"]);
    expect([...centred.querySelectorAll("p > strong, a")].map((element) => element.textContent)).toEqual(["Ebb", "Tide"]);
    expect(render("<ul>\n<li>a\n<li>b <a href='/api/conversations'>c</a>\n</ul>").querySelectorAll("li, a")).toHaveLength(2);
  });

  it("leaves out a tag of a block that is still being written", () => {
    expect(render("<p>a <stro").textContent).toBe("a ");
    expect(render("<p>a <button>").textContent).toBe("<p>a <button>");
  });

  it.each(["a <sub>b", "a </sub> b", "<mark>a</sub>", "<math>a</math>"])(
    "shows tags as text unless they form an allowed element: %s",
    (text) => expect(render(text).textContent?.trim()).toBe(text),
  );

  it.each(["[a](docs/x.md)", "[a](javascript:alert(1))", "[a](#part)", "![a](x.png)", "[a](//x.test)"])(
    "does not look like a link without a usable address: %s",
    (text) => {
      expect(render(text).querySelector("a")).toBeNull();
      expect(render(text).textContent?.trim()).toBe("a");
    },
  );

  it("shows images that are part of it, and links others", () => {
    const address = "data:image/png;base64,iVBORw0KGgo=";
    const image = render(`![a <wave>](${address})`).querySelector("img");
    expect([image?.getAttribute("src"), image?.alt]).toEqual([address, "a <wave>"]);
    for (const other of ["data:image/svg+xml;base64,PHN2Zz4=", "data:text/html;base64,PGI+", "/api/conversations", "blob:x"]) {
      expect(render(`![a](${other})`).querySelector("img, a")).toBeNull();
    }
    expect(render("![a](https://x.test/a.png)").querySelector("a")?.getAttribute("href")).toBe("https://x.test/a.png");
    expect(sanitise('<img src="https://x.test/a.png"><img src="/a.png"><img>')).toBe("");
  });

  it("opens links in a new tab that cannot reach back", () => {
    const link = render("[tides](https://example.org/tides)").querySelector("a");
    expect(link?.getAttribute("href")).toBe("https://example.org/tides");
    expect(link?.target).toBe("_blank");
    expect(link?.rel).toBe("noopener noreferrer");
  });

  it("does so for every link, in any order of attributes", () => {
    const host = document.createElement("div");
    host.innerHTML = sanitise('<a title="t" href="https://x.test">a</a> <a\nhref="https://x.test">b</a> <a>c</a>');
    expect([...host.querySelectorAll("a")].map(({ target, rel }) => [target, rel])).toEqual([
      ["_blank", "noopener noreferrer"],
      ["_blank", "noopener noreferrer"],
      ["", ""],
    ]);
  });

  it("keeps the title of a link that looks like HTML", () => {
    const title = "<a href= onmouseover=alert(1) x=";
    const link = render(`[a](https://x.test "${title}")`).querySelector("a");
    expect([link?.title, link?.target, link?.getAttributeNames().sort()]).toEqual([title, "_blank", ["href", "rel", "target", "title"]]);
  });

  it("keeps the disabled checkboxes of a task list", () => {
    const boxes = [...render("- [x] done\n- [ ] open").querySelectorAll("input")];
    expect(boxes.map(({ type, checked, disabled }) => [type, checked, disabled])).toEqual([
      ["checkbox", true, true],
      ["checkbox", false, true],
    ]);
  });

  it("keeps tables with their alignment", () => {
    const cells = render("| a | b |\n|:--|--:|\n| 1 | 2 |").querySelectorAll("td");
    expect([...cells].map((cell) => cell.getAttribute("align"))).toEqual(["left", "right"]);
  });
});

describe("TeX", () => {
  const set = (text: string) => {
    const host = document.createElement("div");
    host.innerHTML = setMath(render(text).innerHTML, (tex, display) => `<i class="${display}">${tex.length}</i>`);
    return host;
  };

  it.each([
    ["The area is $\\pi r^2$.", "false"],
    ["The area is \\(\\pi r^2\\).", "false"],
    ["$$\n\\pi r^2\n$$", "true"],
    ["\\[\n\\pi r^2\n\\]", "true"],
    ["In a row: $$\\pi r^2$$ here.", "true"],
  ])("is found in %s", (text, display) => {
    expect(set(text).querySelector("i")?.className).toBe(display);
    expect(set(text).querySelector("i")?.textContent).toBe(String("\\pi r^2".length));
  });

  it.each(["It costs $5 and then $10.", "From $5/$6.", "`$x$` is code", "a $ b $ c"])("is not found in %s", (text) => {
    expect(set(text).querySelector("i")).toBeNull();
  });

  it("reaches the typesetter unescaped, and is harmless if invalid", async () => {
    const seen: string[] = [];
    setMath(inline("$a<b&c$"), (tex) => (seen.push(tex), null));
    expect(seen).toEqual(["a<b&c"]);

    const typeset = await loadMath();
    for (const tex of ["\\href{javascript:alert(1)}{x}", "\\includegraphics{https://x.test/a.png}", "\\htmlStyle{x}{y}", "\\url{javascript:1}"]) {
      const host = document.createElement("div");
      host.innerHTML = typeset(tex, false) ?? "";
      expect(host.querySelectorAll("a, img, [href], [src]")).toHaveLength(0);
    }
    expect(typeset("\\frac{", false)).toBeNull();
    expect(typeset("\\def\\a{\\a\\a}\\a", false)).toBeNull();
    expect(setMath(inline("$\\frac{<img src=x onerror=alert(1)>$"), typeset)).not.toContain("<img");
  });
});

it("typesets chemical equations with a part of their own", async () => {
  const html = inline("$\\ce{2H2 + O2 -> 2H2O}$");
  expect(hasChemistry(html)).toBe(true);
  expect(hasChemistry(inline("$\\cent$"))).toBe(false);
  expect((await loadMath(true))("\\ce{2H2 + O2 -> 2H2O}", false)).toContain('class="katex"');
});

describe("the headings of an answer", () => {
  it("are below the page's own, and skip no level", () => {
    const levels = outline(new GrowingText().update("### A\n\n# B\n\ntext\n\n#### C\n\n## D"));
    expect(levels.filter((level) => level !== undefined)).toEqual([3, 3, 4, 4]);
  });
});

it("warms up in a task of its own, with all kinds of blocks, and leaves nothing in the document", async () => {
  const sanitized = vi.spyOn(DOMPurify, "sanitize");
  const changes: MutationRecord[] = [];
  const observer = new MutationObserver((records) => void changes.push(...records));
  observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  onTestFinished(() => observer.disconnect());

  const warm = warmUp();
  // Microtasks belong to the task that asked for the warm-up.
  await Promise.resolve();
  expect(sanitized).not.toHaveBeenCalled();
  await warm;
  const host = document.implementation.createHTMLDocument().createElement("div");
  host.innerHTML = sanitized.mock.results.map(({ value }) => value as string).join("");
  for (const kind of ["p a", "p strong", "p code", "table th", ".math"]) expect(host.querySelector(kind), kind).not.toBeNull();
  expect([...changes, ...observer.takeRecords()]).toEqual([]);
});
