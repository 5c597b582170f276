import { describe, expect, it } from "vitest";

import { joined, MAX_BYTES, readText, split } from "../src/services/attachments";

describe("files inside a message", () => {
  const files = [
    { name: "log.txt", text: "fog\n\nthen wind" },
    { name: "table.csv", text: "a,b\n1,2" },
  ];

  it.each(["What is this?", "", 'Two\n\nparagraphs and <file name="x">'])("are found again after %j", (text) => {
    expect(split(joined(text, files))).toEqual({ text, files });
    expect(split(joined(text, []))).toEqual({ text, files: [] });
  });

  it("must be text, and not too much of it", async () => {
    expect(await readText(new File(["a\r\nb\n"], "a.txt"))).toEqual({ name: "a.txt", text: "a\nb" });
    await expect(readText(new File([new Uint8Array([0xff, 0xfe, 0x00])], "b.bin"))).rejects.toThrow(TypeError);
    await expect(readText(new File(["a\0b"], "c.bin"))).rejects.toThrow(TypeError);
    await expect(readText(new File([new Uint8Array(MAX_BYTES + 1)], "d.txt"))).rejects.toThrow(RangeError);
  });
});
