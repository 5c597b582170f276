import { Blob as NodeBlob } from "node:buffer";
import { deflateRawSync } from "node:zlib";

import { beforeEach, describe, expect, it, vi } from "vitest";

import { rangesOf } from "../../../src/services/transfer/ranges";
import { conversationFiles, MAX_JSON_BYTES } from "../../../src/services/transfer/zip";

// The Blob of jsdom has no streams.
beforeEach(() => void vi.stubGlobal("Blob", NodeBlob));

/** Build an archive with a comment at its end. */
function zip(files: Record<string, string | Uint8Array>, method = 8): Uint8Array<ArrayBuffer> {
  const bodies: Buffer[] = [];
  const list: Buffer[] = [];
  let offset = 0;
  for (const [name, content] of Object.entries(files)) {
    const plain = Buffer.from(content);
    const data = method === 8 ? deflateRawSync(plain) : plain;
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50);
    local.writeUInt16LE(name.length, 26);
    const central = Buffer.alloc(46);
    central.writeUInt32LE(0x02014b50);
    central.writeUInt16LE(method, 10);
    central.writeUInt32LE(data.length, 20);
    central.writeUInt16LE(name.length, 28);
    central.writeUInt32LE(offset, 42);
    bodies.push(local, Buffer.from(name), data);
    list.push(central, Buffer.from(name));
    offset += 30 + name.length + data.length;
  }
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50);
  end.writeUInt32LE(Buffer.concat(list).length, 12);
  end.writeUInt32LE(offset, 16);
  end.writeUInt16LE(5, 20);
  return new Uint8Array(Buffer.concat([...bodies, ...list, end, Buffer.from("PK\u0005\u0006x")]));
}

/** Build a ZIP64 archive with one stored file, whose sizes and place are in 64-bit fields alone. */
function zip64(name: string, content: string): Uint8Array<ArrayBuffer> {
  const data = Buffer.from(content);
  const local = Buffer.alloc(30);
  local.writeUInt32LE(0x04034b50);
  local.writeUInt16LE(name.length, 26);
  const central = Buffer.alloc(46);
  central.writeUInt32LE(0x02014b50);
  for (const field of [20, 24, 42]) central.writeUInt32LE(0xffffffff, field);
  central.writeUInt16LE(name.length, 28);
  // An unknown field, then the original size, the compressed size and the offset.
  const extra = Buffer.alloc(6 + 28);
  extra.writeUInt16LE(0x5455, 0);
  extra.writeUInt16LE(2, 2);
  extra.writeUInt16LE(1, 6);
  extra.writeUInt16LE(24, 8);
  for (const field of [10, 18]) extra.writeBigUInt64LE(BigInt(data.length), field);
  central.writeUInt16LE(extra.length, 30);
  const list = Buffer.concat([central, Buffer.from(name), extra]);
  const body = Buffer.concat([local, Buffer.from(name), data]);
  const end64 = Buffer.alloc(56);
  end64.writeUInt32LE(0x06064b50);
  end64.writeBigUInt64LE(BigInt(list.length), 40);
  end64.writeBigUInt64LE(BigInt(body.length), 48);
  const locator = Buffer.alloc(20);
  locator.writeUInt32LE(0x07064b50);
  locator.writeBigUInt64LE(BigInt(body.length + list.length), 8);
  const end = Buffer.alloc(22, 0xff);
  end.writeUInt32LE(0x06054b50);
  end.writeUInt16LE(0, 20);
  return new Uint8Array(Buffer.concat([body, list, end64, locator, end]));
}

const texts = async (file: Blob) => Promise.all((await conversationFiles(file)).map((each) => each.text()));

describe("the files of an export", () => {
  it("are the conversations of an archive, in the order of their names", async () => {
    const archive = zip({ "user.json": "{}", "conversations-001.json": "[2]", "a/conversations-000.json": "[1]", "x.dat": "…" });
    expect(await texts(new Blob([archive]))).toEqual(["[1]", "[2]"]);
    expect(await texts(new Blob([zip({ "conversations.json": "[3]" }, 0)]))).toEqual(["[3]"]);
  });

  it("are one file if each has the lines of a chat", async () => {
    const archive = zip({ "b.jsonl": "[2]\n[3]", "notes.txt": "…", "a.jsonl": "[1]" });
    expect(await texts(new Blob([archive]))).toEqual(["[1]\n[2]\n[3]"]);
    const half = `"${"x".repeat(MAX_JSON_BYTES / 2)}"`;
    const sizes = (await conversationFiles(new Blob([zip({ "b.jsonl": half, "c.jsonl": half, "d.jsonl": "[4]" })]))).map((each) => each.size);
    expect(sizes).toEqual([half.length, half.length + 4]);
  });

  it("are found in ZIP64 archives", async () => {
    const archive = zip64("conversations.json", "[6]");
    expect(await texts(new Blob([archive]))).toEqual(["[6]"]);
    archive.fill(0, archive.length - 42 - 56, archive.length - 42);
    await expect(texts(new Blob([archive]))).rejects.toMatchObject({ reason: "broken" });
  });

  it("are the file itself if it is no archive", async () => {
    expect(await texts(new Blob(["[4]"]))).toEqual(["[4]"]);
    expect(await texts(new Blob([""]))).toEqual([""]);
  });

  it("are refused if the archive is damaged, has none, or is too big", async () => {
    const archive = zip({ "conversations.json": "[5]".repeat(100) });
    const damaged = archive.slice();
    damaged.fill(255, 50, 55);
    await expect(texts(new Blob([damaged]))).rejects.toMatchObject({ reason: "broken" });
    await expect(texts(new Blob([archive.slice(0, 60)]))).rejects.toMatchObject({ reason: "broken" });
    await expect(texts(new Blob([zip({ "chat.html": "" })]))).rejects.toMatchObject({ reason: "none" });
    const bomb = zip({ "conversations.json": new Uint8Array(MAX_JSON_BYTES + 1) });
    await expect(texts(new Blob([bomb]))).rejects.toMatchObject({ reason: "tooBig" });
  });
});

it("positions are written as ranges", () => {
  expect(rangesOf([])).toBe("");
  expect(rangesOf([3, 0, 1, 7, 2])).toBe("0-3,7");
});
