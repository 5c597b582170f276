import { describe, expect, it } from "vitest";

import { joinContent, MAX_BYTES, MAX_PDF_BYTES, readFile, splitContent } from "../../../src/services/chat/attachments";

describe("files inside a message", () => {
  const files = [
    { name: "log.txt", text: "fog\n\nthen wind" },
    { name: "table.csv", text: "a,b\n1,2" },
  ];

  it.each(["What is this?", "", 'Two\n\nparagraphs and <file name="x">'])("are split off again after %j", (text) => {
    expect(splitContent(joinContent(text, files))).toEqual({ text, files });
    expect(splitContent(joinContent(text, []))).toEqual({ text, files: [] });
  });

  it("must be text within the limits", async () => {
    expect(await readFile(new File(["a\r\nb\n"], "a.txt"))).toEqual({ name: "a.txt", text: "a\nb" });
    const refused = (parts: BlobPart[], type: string) => expect(readFile(new File(parts, "a", { type }))).rejects;
    await refused([new Uint8Array([0xff, 0xfe, 0x00])], "").toThrow("noText");
    await refused(["a\0b"], "text/plain").toThrow("noText");
    await refused([new Uint8Array(MAX_BYTES + 1)], "text/plain").toThrow("tooBig");
    await refused([new Uint8Array(MAX_PDF_BYTES + 1)], "application/pdf").toThrow("tooBigPdf");
  });
});
