import { dialogTexts } from "../../i18n/dialogs";
import { fileTexts } from "../../i18n/files";
import { ApiError, describeError, type Problem } from "../api/errors";
import { sentences } from "../format/sentences";
import { ZipError } from "./zip";

/** Codes of files that are in no state to be read. The server's English sentence has the details. */
const DAMAGED: readonly (string | null)[] = ["invalid_json", "invalid_request_error"];

/** Describe why a file of chats was not read, with its name and what the person can do about it. */
export function importProblem(name: string, error: unknown): Problem {
  const { zip } = dialogTexts().import;
  const { notRead, unreadable } = fileTexts();
  if (error instanceof ZipError) return { what: zip[error.reason](name), todo: "" };
  if (error instanceof DOMException) return { what: unreadable.gone(name), todo: "" };
  if (error instanceof ApiError && error.code === "body_too_large") return { what: zip.tooBig(name), todo: "" };
  if (error instanceof ApiError && DAMAGED.includes(error.code)) return { what: unreadable.broken(name), todo: `(${error.message})` };
  const { what, todo } = describeError(error);
  // A request that the server refuses for its contents is not to be changed in a message or in the settings.
  const isRefused = error instanceof ApiError && error.status === 400;
  return { what: notRead(name), todo: isRefused ? what : sentences(what, todo) };
}
