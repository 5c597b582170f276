import { expect, it } from "vitest";

import { ApiError, UnreachableError } from "../../../src/services/api/errors";
import { importProblem } from "../../../src/services/transfer/import_problem";
import { ZipError } from "../../../src/services/transfer/zip";

function told(error: unknown): string {
  const { what, todo } = importProblem("old.json", error);
  return `${what} ${todo}`.trim();
}

function refused(status: number, code: string, message: string): ApiError {
  return new ApiError(status, { message, code });
}

it("names the file, and says what to do with it", () => {
  expect(told(new ZipError("none"))).toBe("old.json contains no conversations.json.");
  expect(told(refused(413, "body_too_large", "The body is too large."))).toBe("old.json is too big: at most 64 MiB of JSON.");
  expect(told(refused(400, "invalid_json", "The body is not valid JSON"))).toBe(
    "old.json is damaged and cannot be read. Save or download it again. (The body is not valid JSON)",
  );
  expect(told(refused(400, "unknown_format", "The file is no export that Ebb can read."))).toBe(
    "old.json was not read. The file is no export that Ebb can read.",
  );
  expect(told(new DOMException("gone", "NotReadableError"))).toMatch(/^old\.json cannot be opened\./);
});

it("advises how to try again when the file is not at fault", () => {
  expect(told(new UnreachableError())).toBe("old.json was not read. The server cannot be reached. Make sure that Ebb is running, then try again.");
  expect(told(refused(429, "overloaded", "The server is busy."))).toBe("old.json was not read. The server is busy. Wait a moment, then try again.");
});
