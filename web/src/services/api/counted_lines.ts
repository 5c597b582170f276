import { UnreachableError } from "./errors";

const LINE_END = 0x0a;

/** Read the body of a response as a file. report: called with the number of line ends that have arrived. */
export async function withLinesCounted(response: Response, report: (lines: number) => void): Promise<Blob> {
  let lines = 0;
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(bytes, controller) {
      for (let at = bytes.indexOf(LINE_END); at >= 0; at = bytes.indexOf(LINE_END, at + 1)) lines++;
      report(lines);
      controller.enqueue(bytes);
    },
  });
  const { body, headers } = response;
  try {
    return await new Response(body?.pipeThrough(counted) ?? null, { headers }).blob();
  } catch (error) {
    throw new UnreachableError(error);
  }
}
