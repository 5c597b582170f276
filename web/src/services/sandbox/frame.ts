/** Address of the document for code of answers. The server sends it with a sandbox and without access to the network. */
const ADDRESS = "/preview.html";

/** Content of a sandboxed frame. */
export interface FrameContent {
  html: string;
  /** Script that runs once the HTML is there. */
  script?: string | Blob;
}

/** Call `listener` with the height of a frame's content in CSS pixels, now and whenever it changes. Return the function that stops this. */
export function followHeight(frame: HTMLIFrameElement, listener: (height: number) => void): () => void {
  const onMessage = ({ source, data }: MessageEvent) => {
    const height: unknown = Object(data).height;
    if (source === frame.contentWindow && typeof height === "number" && Number.isFinite(height)) listener(height);
  };
  addEventListener("message", onMessage);
  return () => removeEventListener("message", onMessage);
}

/** Show `content` in a frame, once its document is loaded. The frame has an origin of its own, that no address has. */
export function fillFrame(frame: HTMLIFrameElement, content: FrameContent): void {
  frame.setAttribute("sandbox", "allow-scripts");
  // A later document of the frame is one that the content navigated to.
  frame.addEventListener("load", () => frame.contentWindow?.postMessage(content, "*"), { once: true });
  frame.src = ADDRESS;
}
