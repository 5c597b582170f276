import { describe, expect, it } from "vitest";

import { ApiError } from "../../../src/services/api/errors";
import { joinContent, splitContent } from "../../../src/services/chat/attachments";
import { MAX_BYTES, MAX_DOCUMENT_BYTES, readFile } from "../../../src/services/chat/file_reading";

describe("files inside a message", () => {
  const files = [
    { name: "log.txt", text: "fog\n\nthen wind" },
    { name: "table.csv", text: "a,b\n1,2" },
  ];

  it.each(["What is this?", "", 'Two\n\nparagraphs and <file name="x">'])("are split off again after %j", (text) => {
    expect(splitContent(joinContent(text, files))).toEqual({ text, files });
    expect(splitContent(joinContent(text, []))).toEqual({ text, files: [] });
  });

  const read = (parts: BlobPart[], name: string, type = "") => readFile(new File(parts, name, { type }), documents);
  let answer: string | Error = "";
  const asked: boolean[] = [];
  const documents = {
    documentText: (_file: Blob, isHtml: boolean) => {
      asked.push(isHtml);
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    },
  };

  it("may be documents, which the server reads", async () => {
    answer = "High water";
    expect(await read(["PK\x03\x04…"], "tides.docx")).toEqual({ name: "tides.docx", text: "High water" });
    expect((await read(["<p>High water"], "page.html")).text).toBe("High water");
    expect(asked).toEqual([false, true]);
    answer = new ApiError(422, { message: "", code: "document_encrypted" });
    await expect(read(["PK\x03\x04…"], "tides.epub")).rejects.toThrow("encrypted");
    answer = new ApiError(500, { message: "Broken" });
    await expect(read(["PK\x03\x04…"], "tides.epub")).rejects.toThrow("Broken");
    const ole = new Uint8Array([0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1]);
    await expect(read([ole], "tides.doc")).rejects.toThrow("old");
    await expect(read([ole, "E\0n\0c\0r\0y\0p\0t\0e\0d\0P\0a\0c\0k\0a\0g\0e\0"], "tides.docx")).rejects.toThrow("encrypted");
  });

  it("must be text within the limits", async () => {
    expect(await read(["a\r\nb\n"], "a.txt")).toEqual({ name: "a.txt", text: "a\nb" });
    const utf16 = (text: string, littleEndian: boolean) => {
      const view = new DataView(new ArrayBuffer(2 * text.length));
      for (let at = 0; at < text.length; at++) view.setUint16(2 * at, text.charCodeAt(at), littleEndian);
      return view.buffer;
    };
    for (const littleEndian of [true, false]) {
      expect((await read([utf16("\ufeffEbbe 潮", littleEndian)], "a.txt")).text).toBe("Ebbe 潮");
      expect((await read([utf16("Flut und Ebbe", littleEndian)], "a.txt")).text).toBe("Flut und Ebbe");
    }
    expect((await read([new Uint8Array([0x93, 0x46, 0xe9, 0x94])], "a.txt")).text).toBe("“Fé”");
    const refused = (parts: BlobPart[], type: string) => expect(read(parts, "a", type)).rejects;
    await refused([new Uint8Array([0xff, 0xfe, 0x00])], "").toThrow("noText");
    await refused([new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])], "image/png").toThrow("noText");
    await refused(["a\0b"], "text/plain").toThrow("noText");
    await refused([new Uint8Array(MAX_BYTES + 1)], "text/plain").toThrow("tooBig");
    await refused([new Uint8Array(MAX_DOCUMENT_BYTES + 1)], "application/pdf").toThrow("tooBigPdf");
  });
});
