/** Address of the document for code of answers. The server sends it with a sandbox and without access to the network. */
const ADDRESS = "/preview.html";

/** Content of a sandboxed frame. */
export interface FrameContent {
  html: string;
  /** Script that runs once the HTML is there. */
  script?: string | Blob;
}

/** Show `content` in a frame, once its document is loaded. The frame has an origin of its own, that no address has. */
export function fillFrame(frame: HTMLIFrameElement, content: FrameContent): void {
  frame.setAttribute("sandbox", "allow-scripts");
  // A later document of the frame is one that the content navigated to.
  frame.addEventListener("load", () => frame.contentWindow?.postMessage(content, "*"), { once: true });
  frame.src = ADDRESS;
}
