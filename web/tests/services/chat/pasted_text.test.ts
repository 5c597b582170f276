import { expect, it } from "vitest";

import { MAX_PASTED_BYTES, pastedFile, pastedFiles } from "../../../src/services/chat/pasted_text";

const nameOf = (number: number) => `Pasted ${number}`;

it("keeps a short paste in the field", () => {
  expect(pastedFile("a".repeat(MAX_PASTED_BYTES), [], nameOf)).toBeNull();
});

it("makes a file of a paste that is long in bytes", () => {
  const text = "潮\r\n".repeat(MAX_PASTED_BYTES / 5) + "\n";
  expect(pastedFile(text, [], nameOf)).toEqual({ name: "Pasted 1", text: text.replaceAll("\r", ""), pasted: true });
});

it("gives each paste a name of its own", () => {
  const files = [1, 3].map((number) => ({ name: nameOf(number), text: "a" }));
  expect(pastedFile("a".repeat(MAX_PASTED_BYTES + 1), files, nameOf)?.name).toBe("Pasted 2");
});

it("takes files that come alone or with their names, and no picture of a text", () => {
  const files = ["tides.pdf", "log.csv"].map((name) => new File([], name));
  expect(pastedFiles("", files)).toBe(files);
  expect(pastedFiles("tides.pdf\rlog.csv", files)).toBe(files);
  expect(pastedFiles("/home/ada/tides.pdf\r\n/home/ada/log.csv\r\n", files)).toBe(files);
  expect(pastedFiles("day\twind\nmonday\t4", [new File([], "image.png")])).toEqual([]);
  expect(pastedFiles("day\twind", [])).toEqual([]);
});
