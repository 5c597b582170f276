import { flushSync, mount, unmount } from "svelte";
import { expect, it, vi } from "vitest";

import { parsedLetters } from "../../../parsed_letters";
import Host from "./Host.svelte";

it("redraws a growing text at most 30 times a second, and its end at once", () => {
  let frames: FrameRequestCallback[] = [];
  vi.stubGlobal("requestAnimationFrame", (frame: FrameRequestCallback) => frames.push(frame));
  const props = $state({ texts: [""], writing: true });
  const host = mount(Host, { target: document.body, props });
  const shown = () => document.querySelector(".markdown")!.textContent.trim();
  const passFrame = (now: number) => {
    const due = frames;
    frames = [];
    for (const frame of due) frame(now);
    flushSync();
  };
  const grow = (text: string) => {
    props.texts = [text];
    flushSync();
  };
  flushSync();
  passFrame(1_000);

  grow("one");
  passFrame(1_017);
  expect(shown()).toBe("");
  grow("one two");
  passFrame(1_033);
  expect(shown()).toBe("one two");

  grow("one two three");
  passFrame(1_050);
  expect(shown()).toBe("one two");
  props.writing = false;
  flushSync();
  expect(shown()).toBe("one two three");

  void unmount(host);
  vi.unstubAllGlobals();
});

it("rests after a redraw as long as the redraw took, times four", () => {
  let frames: FrameRequestCallback[] = [];
  const tasks: (() => void)[] = [];
  vi.stubGlobal("requestAnimationFrame", (frame: FrameRequestCallback) => frames.push(frame));
  vi.stubGlobal("setTimeout", (task: () => void) => tasks.push(task));
  const clock = vi.spyOn(performance, "now").mockReturnValue(0);
  const props = $state({ texts: [""], writing: true });
  const host = mount(Host, { target: document.body, props });
  const passFrame = (now: number, text: string) => {
    props.texts = [text];
    flushSync();
    const due = frames;
    frames = [];
    for (const frame of due) frame(now);
    flushSync();
    return document.querySelector(".markdown")!.textContent.trim();
  };
  flushSync();
  passFrame(1_000, "one");
  clock.mockReturnValue(100);
  for (const task of tasks) task();
  expect(passFrame(1_490, "two")).toBe("one");
  expect(passFrame(1_510, "three")).toBe("three");
  void unmount(host);
  vi.unstubAllGlobals();
});

it("draws less in one step on a slow processor, and more on a quick one", () => {
  vi.stubGlobal("IntersectionObserver", class { observe() {} unobserve() {} });
  let frames: FrameRequestCallback[] = [];
  let tasks: (() => void)[] = [];
  vi.stubGlobal("requestAnimationFrame", (frame: FrameRequestCallback) => frames.push(frame));
  vi.stubGlobal("setTimeout", (task: () => void) => tasks.push(task));
  let now = 0;
  vi.spyOn(performance, "now").mockImplementation(() => now);
  const host = mount(Host, { target: document.body, props: { texts: ["word ".repeat(1_590)], writing: true } });
  flushSync();
  let letters = document.querySelector(".markdown")!.textContent.length;
  /** Pass a frame whose tasks take some time. Return by how many letters the drawn text grew. */
  const drawn = (milliseconds: number) => {
    now += 1_000_000;
    const due = frames;
    frames = [];
    for (const frame of due) frame(now);
    flushSync();
    now += milliseconds;
    for (const task of tasks) task();
    tasks = [];
    const before = letters;
    letters = document.querySelector(".markdown")!.textContent.length;
    return letters - before;
  };
  expect([1, 1, 300, 300, 300, 300].map(drawn)).toEqual([500, 1_000, 2_000, 1_000, 500, 500]);
  void unmount(host);
  vi.unstubAllGlobals();
});

it("draws much text that arrives at once over several frames", () => {
  vi.stubGlobal("IntersectionObserver", class { observe() {} unobserve() {} });
  let frames: FrameRequestCallback[] = [];
  vi.stubGlobal("requestAnimationFrame", (frame: FrameRequestCallback) => frames.push(frame));
  let now = 1_000;
  const props = $state({ texts: ["first\n\n"], writing: false });
  const host = mount(Host, { target: document.body, props });
  flushSync();
  const count = () => document.querySelectorAll(".markdown p, .markdown li, .markdown tr").length;
  const most = (text: string) => {
    props.texts = [text];
    flushSync();
    const counts = [count()];
    for (; frames.length > 0; now += 1_000) {
      const due = frames;
      frames = [];
      for (const frame of due) frame(now);
      flushSync();
      counts.push(count());
    }
    return Math.max(...counts.map((drawn, index) => drawn - (counts[index - 1] ?? 0)));
  };
  const paragraphs = "first\n\n" + "a paragraph\n\n".repeat(600);
  expect(most(paragraphs)).toBeLessThan(60);
  expect(count()).toBe(601);
  const list = paragraphs + "- an item\n".repeat(600);
  expect(most(list)).toBeLessThan(650);
  expect(count()).toBe(1_201);
  expect(document.querySelector(".markdown")!.textContent.match(/an item/g)).toHaveLength(600);
  void unmount(host);
  vi.unstubAllGlobals();
});

it("draws a long list from its end, and puts nothing into the page for items that are not drawn yet", () => {
  vi.stubGlobal("IntersectionObserver", class { observe() {} unobserve() {} });
  let frames: FrameRequestCallback[] = [];
  vi.stubGlobal("requestAnimationFrame", (frame: FrameRequestCallback) => frames.push(frame));
  const text = Array.from({ length: 500 }, (_, number) => `${number + 1}. item ${number}\n`).join("");
  const host = mount(Host, { target: document.body, props: { texts: [text], writing: false } });
  flushSync();
  const list = document.querySelector(".markdown ol")!;
  const numbers = () => [...list.children].map(({ textContent }) => Number(textContent.replace("item ", "")));
  for (let drawn = 0; frames.length > 0; drawn = list.children.length) {
    expect(list.children.length - drawn).toBeLessThan(50);
    expect(list.childNodes.length - list.children.length).toBeLessThan(150);
    expect(numbers().at(-1)).toBe(499);
    expect(numbers()[0]).toBe(Number(list.getAttribute("start")) - 1);
    const due = frames;
    frames = [];
    for (const frame of due) frame(0);
    flushSync();
  }
  expect(numbers()).toEqual(Array.from({ length: 500 }, (_, number) => number));
  expect(list.getAttribute("start")).toBeNull();
  void unmount(host);
  vi.unstubAllGlobals();
});

it.each([
  ["blocks", "a paragraph\n\n", ".markdown"],
  ["blocks in a quote", "> a paragraph\n>\n", ".markdown blockquote"],
  ["rows", "| a row |\n", ".markdown table", "| head |\n|---|\n"],
  ["footnotes", "[^1]: a note\n", ".markdown section"],
  ["letters", "a word ", ".markdown p"],
])("puts nothing into the page for %s that are not drawn yet", async (_name, unit, parent, before = "") => {
  vi.stubGlobal("IntersectionObserver", class { observe() {} unobserve() {} });
  vi.stubGlobal("requestAnimationFrame", () => 1);
  const host = mount(Host, { target: document.body, props: { texts: [before + unit.repeat(20_000)], writing: false } });
  await vi.waitFor(() => expect(document.querySelector(parent)?.textContent).toBeTruthy(), 10_000);
  expect(document.querySelector(parent)!.childNodes.length).toBeLessThan(350);
  void unmount(host);
  vi.unstubAllGlobals();
});

it.each([
  ["blocks", "a **short** paragraph\n\n"],
  ["texts", "**very** "],
] as const)("parses %s that are complete in steps", (parsed, unit) => {
  vi.stubGlobal("IntersectionObserver", class { observe() {} unobserve() {} });
  vi.stubGlobal("requestAnimationFrame", () => 1);
  const tasks: (() => void)[] = [];
  vi.stubGlobal("setTimeout", (task: () => void) => tasks.push(task));
  vi.spyOn(performance, "now").mockReturnValue(0);
  const text = unit.repeat(10_000);
  let host: object = {};
  const steps = [() => (host = mount(Host, { target: document.body, props: { texts: [`${text}\n\nThe end.`] } }))];
  for (const step of steps) {
    const letters = parsedLetters(() => {
      step();
      flushSync();
    });
    expect(letters[parsed]).toBeLessThan(0.7 * text.length);
    steps.push(...(tasks.splice(0) as typeof steps));
  }
  expect(steps.length).toBeGreaterThan(3);
  expect(document.querySelector(".markdown")!.textContent).toContain("The end.");
  void unmount(host);
  vi.unstubAllGlobals();
});

it("parses much text that arrives at once in steps, also after its end, but not for a printer", () => {
  vi.stubGlobal("IntersectionObserver", class { observe() {} unobserve() {} });
  let frames: FrameRequestCallback[] = [];
  vi.stubGlobal("requestAnimationFrame", (frame: FrameRequestCallback) => frames.push(frame));
  const props = $state({ texts: [""], writing: true, printing: false });
  const host = mount(Host, { target: document.body, props });
  flushSync();
  const count = () => document.querySelectorAll(".markdown p").length;
  props.texts = ["a paragraph\n\n".repeat(1_500)];
  for (let now = 1_000; frames.length > 0; now += 1_000) {
    const due = frames;
    frames = [];
    const { blocks } = parsedLetters(() => {
      for (const frame of due) frame(now);
      flushSync();
    });
    expect(blocks).toBeLessThan(5_000);
    props.writing = false;
  }
  expect(count()).toBe(1_500);
  props.texts = ["another paragraph\n\n".repeat(2_000)];
  flushSync();
  expect(count()).toBeLessThan(1_600);
  flushSync(() => (props.printing = true));
  expect(count()).toBe(2_000);
  void unmount(host);
  vi.unstubAllGlobals();
});

it("repeats no word after a translator of the browser has replaced the texts", () => {
  const parts = ["# Rivers\n\n", "- Rhône River 3\n- Loš", "oboard Mountains\n\n", "| a | b |\n|---|---|\n| c ", "| d |\n\n", "Text of *words*", " and more.\n\n"];
  const notes = "<details><summary>More</summary>\n\ninside[^1]\n\n</details>\n\n[^1]: a note";
  const props = $state({ texts: [""], writing: false });
  const host = mount(Host, { target: document.body, props });
  for (const part of [...parts, notes]) {
    props.texts = [props.texts[0] + part];
    flushSync();
    translate(document.querySelector(".markdown")!);
  }
  props.texts = [`${props.texts[0]} at its end`];
  flushSync();
  const shown = document.querySelector(".markdown")!.textContent.replace(/\s+/g, " ");
  for (const word of ["Rivers", "Rhône River 3", "Lošoboard Mountains", "words", "and more", "More", "inside", "a note at its end"]) {
    expect(shown.split(word), word).toHaveLength(2);
  }
  void unmount(host);
});

/** Do what translators of browsers do: put each text into elements of their own. */
function translate(root: Element): void {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const texts: Text[] = [];
  while (walker.nextNode() !== null) if (walker.currentNode.nodeValue!.trim() !== "") texts.push(walker.currentNode as Text);
  for (const text of texts) {
    const font = document.createElement("font");
    font.append(text.nodeValue!);
    text.replaceWith(font);
  }
}

it("leaves a foldable part as the person left it", async () => {
  const props = $state({ texts: ["<details>\n<summary>More</summary>\n\none\n"], writing: true });
  const host = mount(Host, { target: document.body, props });
  flushSync();
  const details = await vi.waitFor(() => {
    const found = document.querySelector("details");
    expect(found).not.toBeNull();
    return found!;
  });
  details.open = true;
  props.texts = ["<details>\n<summary>More</summary>\n\none\n\ntwo\n"];
  flushSync();
  await vi.waitFor(() => expect(document.querySelector("details")!.textContent).toContain("two"));
  expect([document.querySelector("details"), details.open]).toEqual([details, true]);
  void unmount(host);
});
