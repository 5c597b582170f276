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
    const utf16 = (text: string, littleEndian: boolean) => {
      const view = new DataView(new ArrayBuffer(2 * text.length));
      for (let at = 0; at < text.length; at++) view.setUint16(2 * at, text.charCodeAt(at), littleEndian);
      return view.buffer;
    };
    for (const littleEndian of [true, false]) {
      expect((await readFile(new File([utf16("\ufeffEbbe 潮", littleEndian)], "a.txt"))).text).toBe("Ebbe 潮");
    }
    expect((await readFile(new File([new Uint8Array([0x93, 0x46, 0xe9, 0x94])], "a.txt"))).text).toBe("“Fé”");
    const refused = (parts: BlobPart[], type: string) => expect(readFile(new File(parts, "a", { type }))).rejects;
    await refused([new Uint8Array([0xff, 0xfe, 0x00])], "").toThrow("noText");
    await refused([new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])], "image/png").toThrow("noText");
    await refused(["a\0b"], "text/plain").toThrow("noText");
    await refused([new Uint8Array(MAX_BYTES + 1)], "text/plain").toThrow("tooBig");
    await refused([new Uint8Array(MAX_PDF_BYTES + 1)], "application/pdf").toThrow("tooBigPdf");
  });
});
