import { getDocument, GlobalWorkerOptions, type PDFDocumentProxy } from "pdfjs-dist";
import workerUrl from "pdfjs-dist/build/pdf.worker.min.mjs?url";

import { UnreadableFileError } from "./unreadable_file_error";

/** Character maps of East Asian fonts, for files that do not contain them. */
const CMAPS = import.meta.glob<string>("/node_modules/pdfjs-dist/cmaps/*.bcmap", { query: "?url", import: "default", eager: true });

/** Source of the files that pdf.js requests by name. Fonts are left out, as nothing is drawn. */
class CMapFiles {
  async fetch({ kind, filename }: { kind: string; filename: string }): Promise<Uint8Array> {
    const url = CMAPS[`/node_modules/pdfjs-dist/cmaps/${filename}`];
    if (kind !== "cMapUrl" || url === undefined) throw new Error(`there is no ${filename}`);
    return new Uint8Array(await (await fetch(url)).arrayBuffer());
  }
}

/** Extract the text of a PDF. limit: in UTF-16 units. Rejects with an UnreadableFileError. */
export async function textOfPdf(data: Uint8Array, limit: number): Promise<string> {
  GlobalWorkerOptions.workerSrc = workerUrl;
  // The content security policy allows no WebAssembly, which pdf.js uses for images only.
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
