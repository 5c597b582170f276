/**
 * The conversations in a ZIP archive. Only their JSON leaves the browser: an archive also has pictures, and may have gigabytes.
 *
 * The format is that of PKWARE's APPNOTE, sections 4.3.7, 4.3.12 and 4.3.14 to 4.3.16, and that of
 * ZIP64, section 4.5.3. Encryption is not supported.
 */

/** Maximum size of a JSON file, as the server accepts it. */
export const MAX_JSON_BYTES = 64 * 2 ** 20;

const CONVERSATIONS = /(?:^|\/)conversations(?:-\d+)?\.json$/;
/** Files of llama.cpp's page, each with the lines of one chat. */
const LINES = /\.jsonl$/;
const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const END_BYTES = 22;
/** Where the end of a ZIP64 archive is, directly before the end of the archive; and that end. */
const LOCATOR = 0x07064b50;
const LOCATOR_BYTES = 20;
const END_64 = 0x06064b50;
const END_64_BYTES = 56;
/** Value of a field whose value is in a ZIP64 field. */
const ELSEWHERE = 0xffffffff;
const SIZES_64 = 0x0001;
const MAX_COMMENT = 0xffff;
const STORED = 0;
const DEFLATED = 8;

export class ZipError extends Error {
  constructor(readonly reason: "none" | "broken" | "tooBig") {
    super(reason);
    this.name = "ZipError";
  }
}

interface Entry {
  name: string;
  method: number;
  compressed: number;
  offset: number;
}

/** Return the JSON files of conversations: those in an archive, or the file itself. Rejects with a ZipError. */
export async function conversationFiles(file: Blob): Promise<Blob[]> {
  const mark = await viewOf(file.slice(0, 4));
  if (mark.byteLength < 4 || mark.getUint32(0, true) !== LOCAL) {
    if (file.size > MAX_JSON_BYTES) throw new ZipError("tooBig");
    return [file];
  }
  let entries: Entry[];
  try {
    entries = await entriesOf(file);
  } catch {
    throw new ZipError("broken");
  }
  const named = (pattern: RegExp) => entries.filter(({ name }) => pattern.test(name)).sort((a, b) => (a.name < b.name ? -1 : 1));
  const lists = named(CONVERSATIONS);
  const wanted = lists.length > 0 ? lists : named(LINES);
  if (wanted.length === 0) throw new ZipError("none");
  const files: Blob[] = [];
  for (const entry of wanted) files.push(await contentOf(file, entry));
  return lists.length > 0 ? files : joined(files);
}

/** Join files of lines, as long as the server accepts the result. */
function joined(files: readonly Blob[]): Blob[] {
  const found: Blob[] = [];
  let pieces: Blob[] = [];
  let size = 0;
  for (const file of files) {
    if (size + file.size >= MAX_JSON_BYTES && pieces.length > 0) {
      found.push(linesOf(pieces));
      [pieces, size] = [[], 0];
    }
    pieces.push(file);
    size += file.size + 1;
  }
  return [...found, linesOf(pieces)];
}

function linesOf(files: readonly Blob[]): Blob {
  return new Blob(files.flatMap((file, index) => (index === 0 ? [file] : ["\n", file])));
}

/** Read the list of files at the end of the archive. Throws for anything else. */
async function entriesOf(file: Blob): Promise<Entry[]> {
  const [begin, size] = await placeOfList(file);
  const list = await viewOf(file.slice(begin, begin + size));
  const entries: Entry[] = [];
  for (let place = 0; place < list.byteLength; ) {
    if (list.getUint32(place, true) !== CENTRAL) throw new RangeError("no entry");
    const nameLength = list.getUint16(place + 28, true);
    const extraLength = list.getUint16(place + 30, true);
    const name = new TextDecoder().decode(new Uint8Array(list.buffer, place + 46, nameLength));
    const given = [place + 24, place + 20, place + 42].map((field) => list.getUint32(field, true));
    const [, compressed, offset] = wideValues(new DataView(list.buffer, place + 46 + nameLength, extraLength), given);
    entries.push({ name, method: list.getUint16(place + 10, true), compressed: compressed!, offset: offset! });
    place += 46 + nameLength + extraLength + list.getUint16(place + 32, true);
  }
  return entries;
}

/** Return the position and the length of the list of files. Throws for anything else than an archive. */
async function placeOfList(file: Blob): Promise<[number, number]> {
  const start = Math.max(0, file.size - END_BYTES - MAX_COMMENT);
  const tail = await viewOf(file.slice(start));
  let at = tail.byteLength - END_BYTES;
  while (tail.getUint32(at, true) !== END) at--;
  const end = start + at;
  const locator = await viewOf(file.slice(Math.max(0, end - LOCATOR_BYTES), end));
  if (locator.byteLength < LOCATOR_BYTES || locator.getUint32(0, true) !== LOCATOR) {
    return [tail.getUint32(at + 16, true), tail.getUint32(at + 12, true)];
  }
  const wide = Number(locator.getBigUint64(8, true));
  const record = await viewOf(file.slice(wide, wide + END_64_BYTES));
  if (record.getUint32(0, true) !== END_64) throw new RangeError("no end of a ZIP64 archive");
  return [Number(record.getBigUint64(48, true)), Number(record.getBigUint64(40, true))];
}

/** Return the values of an entry's fields, in the order of the ZIP64 field that has those which are too big for 32 bits. */
function wideValues(extra: DataView, given: readonly number[]): number[] {
  for (let at = 0; at + 4 <= extra.byteLength; at += 4 + extra.getUint16(at + 2, true)) {
    if (extra.getUint16(at, true) !== SIZES_64) continue;
    let field = at + 4;
    return given.map((value) => {
      if (value !== ELSEWHERE) return value;
      field += 8;
      return Number(extra.getBigUint64(field - 8, true));
    });
  }
  return [...given];
}

async function contentOf(file: Blob, { method, compressed, offset }: Entry): Promise<Blob> {
  const head = await viewOf(file.slice(offset, offset + 30));
  if (head.byteLength < 30 || head.getUint32(0, true) !== LOCAL) throw new ZipError("broken");
  const begin = offset + 30 + head.getUint16(26, true) + head.getUint16(28, true);
  const data = file.slice(begin, begin + compressed);
  if (data.size < compressed || (method !== STORED && method !== DEFLATED)) throw new ZipError("broken");
  if (method === STORED) {
    if (data.size > MAX_JSON_BYTES) throw new ZipError("tooBig");
    return data;
  }
  return inflated(data);
}

/** Inflate the data, and stop as soon as it is too big. */
async function inflated(data: Blob): Promise<Blob> {
  const reader = data.stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const pieces: BlobPart[] = [];
  for (let size = 0; ; ) {
    const { done, value } = await reader.read().catch(() => {
      throw new ZipError("broken");
    });
    if (done) return new Blob(pieces);
    size += value.byteLength;
    if (size > MAX_JSON_BYTES) {
      await reader.cancel().catch(() => undefined);
      throw new ZipError("tooBig");
    }
    pieces.push(value);
  }
}

async function viewOf(piece: Blob): Promise<DataView<ArrayBuffer>> {
  return new DataView(await piece.arrayBuffer());
}
