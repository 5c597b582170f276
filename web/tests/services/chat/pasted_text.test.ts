import { expect, it } from "vitest";

import { MAX_PASTED_BYTES, pastedFile } from "../../../src/services/chat/pasted_text";

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
