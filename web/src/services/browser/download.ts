/** Download the file at `path`, under the name that the server gives it. */
export function download(path: string): void {
  const link = document.createElement("a");
  link.href = path;
  link.download = "";
  link.click();
}
