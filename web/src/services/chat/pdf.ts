import { getDocument, GlobalWorkerOptions, type PDFDocumentProxy } from "pdfjs-dist";
import workerUrl from "pdfjs-dist/build/pdf.worker.min.mjs?url";

import { UnreadableFileError } from "./unreadable_file_error";

/** Which characters the codes of East Asian fonts stand for, where a file does not say so itself. */
const CMAPS = import.meta.glob<string>("/node_modules/pdfjs-dist/cmaps/*.bcmap", { query: "?url", import: "default", eager: true });

/** Hands pdf.js the files that it asks for by name; fonts are not among them, since nothing is drawn. */
class CMapFiles {
  async fetch({ kind, filename }: { kind: string; filename: string }): Promise<Uint8Array> {
    const url = CMAPS[`/node_modules/pdfjs-dist/cmaps/${filename}`];
    if (kind !== "cMapUrl" || url === undefined) throw new Error(`there is no ${filename}`);
    return new Uint8Array(await (await fetch(url)).arrayBuffer());
  }
}

/** The text of a PDF, its pages apart. Rejects with an UnreadableFileError; limit: of its UTF-16 units. */
export async function textOfPdf(data: Uint8Array, limit: number): Promise<string> {
  GlobalWorkerOptions.workerSrc = workerUrl;
  // The content security policy allows no WebAssembly; pdf.js has it for pictures only.
  const task = getDocument({ data, BinaryDataFactory: CMapFiles, useWasm: false, verbosity: 0 });
  try {
    const text = await textOfPages(await task.promise, limit);
    if (text === "") throw new UnreadableFileError("scanned");
    return text;
  } catch (error) {
    if (error instanceof Error && error.name === "PasswordException") throw new UnreadableFileError("encrypted");
    if (error instanceof Error && error.name === "InvalidPDFException") throw new UnreadableFileError("broken");
    throw error;
  } finally {
    void task.destroy();
  }
}

async function textOfPages(pdf: PDFDocumentProxy, limit: number): Promise<string> {
  const pages: string[] = [];
  let length = 0;
  for (let number = 1; number <= pdf.numPages; number++) {
    const { items } = await (await pdf.getPage(number)).getTextContent();
    const page = items.map((item) => ("str" in item ? item.str + (item.hasEOL ? "\n" : "") : "")).join("").trim();
    if (page === "") continue;
    length += page.length;
    if (length > limit) throw new UnreadableFileError("tooBig");
    pages.push(page);
  }
  return pages.join("\n\n");
}
