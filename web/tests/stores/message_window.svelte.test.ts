import { describe, expect, it } from "vitest";

import { MessageWindow } from "../../src/stores/message_window.svelte";

const SCREEN = { now: false };

describe("the window of mounted messages", () => {
  const chat = (count: number, content = "") => Array.from({ length: count }, () => ({ content }));

  it("holds all of a short chat", () => {
    expect(new MessageWindow(() => chat(20), SCREEN).from).toBe(0);
  });

  it("holds the end, grows by a message, and extends to a given one", () => {
    const messages = chat(2_000);
    const shown = new MessageWindow(() => messages, SCREEN);
    expect(shown.from).toBe(1_980);
    shown.reveal();
    expect(shown.from).toBe(1_979);
    shown.revealTo(1_001);
    expect(shown.from).toBe(1_001);
    shown.reset();
    expect(shown.from).toBe(1_980);
  });

  it("has sections of 32 messages, whose bounds never move", () => {
    const messages = $state(chat(70));
    const shown = new MessageWindow(() => messages, SCREEN);
    shown.revealTo(29);
    const bounds = () => shown.sections.map(({ number, from, to }) => [number, from, to]);
    expect(bounds()).toEqual([[0, 29, 32], [1, 32, 64], [2, 64, 70]]);
    shown.reveal();
    messages.push(...chat(2));
    expect(bounds()).toEqual([[0, 30, 32], [1, 32, 64], [2, 64, 72]]);
    shown.reveal();
    expect(bounds()).toEqual([[0, 29, 32], [1, 32, 64], [2, 64, 72]]);
  });

  it("starts smaller with long messages, and never shrinks", () => {
    const messages = $state(chat(40, "long ".repeat(75)));
    const shown = new MessageWindow(() => messages, SCREEN);
    expect(shown.from).toBe(36);
    expect(shown.sections).toEqual([{ number: 1, from: 36, to: 40 }]);
    shown.revealTo(0);
    expect(shown.from).toBe(0);
    shown.reset();
    expect(shown.from).toBe(36);
    messages[39]!.content += "longer ".repeat(1_000);
    expect(shown.from).toBe(36);
    messages.push(...chat(2));
    expect(shown.from).toBe(38);
  });

  it("holds everything while printing", () => {
    const paper = $state({ now: false });
    const messages = chat(2_000);
    const shown = new MessageWindow(() => messages, paper);
    paper.now = true;
    expect(shown.from).toBe(0);
    paper.now = false;
    expect(shown.from).toBe(1_980);
  });

  it("holds the first messages of an empty chat", () => {
    const messages = $state(chat(0));
    const shown = new MessageWindow(() => messages, SCREEN);
    expect(shown.sections).toEqual([]);
    messages.push(...chat(6, "long ".repeat(1_000)));
    expect(shown.from).toBe(4);
  });
});
