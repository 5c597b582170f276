/** A file that cannot go with a message, and the reason. */
export class UnreadableFileError extends Error {
  constructor(readonly reason: "tooBig" | "tooBigPdf" | "noText" | "scanned" | "encrypted" | "broken") {
    super(reason);
  }
}
