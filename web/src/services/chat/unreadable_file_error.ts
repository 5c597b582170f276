/** A file that cannot go with a message, and the reason. */
export class UnreadableFileError extends Error {
  constructor(readonly reason: "tooBig" | "tooBigPdf" | "noText" | "scanned" | "empty" | "tooCostly" | "old" | "encrypted" | "broken" | "gone") {
    super(reason);
  }
}
