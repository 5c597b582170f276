/** Has the browser keep what the server sends from `path` as a file, under the name that it is sent with. */
export function download(path: string): void {
  const link = document.createElement("a");
  link.href = path;
  link.download = "";
  link.click();
}
