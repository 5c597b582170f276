/** Download the file at `path`, under the name that the server gives it. */
export function download(path: string): void {
  const link = document.createElement("a");
  link.href = path;
  link.download = "";
  link.click();
}

/** Save `content` as a file. */
export function save(name: string, content: Blob): void {
  const address = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // The browser has begun the download by then.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Save a text as a file of the name. */
export function saveText(name: string, text: string): void {
  save(name, new Blob([text], { type: "text/plain;charset=utf-8" }));
}
