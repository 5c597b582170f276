import type { Drawing } from "./diagrams";

/** Pixels of a saved picture for each pixel of the drawing. */
const SCALE = 2;
/** Longest side of a picture that all browsers can draw. */
const MAX_SIDE = 8_192;

/** Return a drawing as an SVG file. */
export function svgFile({ address }: Drawing): Blob {
  return new Blob([decodeURIComponent(address.slice(address.indexOf(",") + 1))], { type: "image/svg+xml" });
}

/** Return a drawing as a picture on a background. Rejects if the browser cannot draw it. */
export async function pngFile({ address, width, height }: Drawing, background: string): Promise<Blob> {
  const scale = Math.min(SCALE, MAX_SIDE / Math.max(width, height));
  const image = new Image();
  image.src = address;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil(width * scale);
  canvas.height = Math.ceil(height * scale);
  const context = canvas.getContext("2d");
  if (context === null) throw new Error("no canvas");
  context.fillStyle = background;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob === null ? reject(new Error("no picture")) : resolve(blob)), "image/png"),
  );
}
