/** Code that the page sends to the worker. */
export interface HighlightRequest {
  id: number;
  code: string;
  language: string;
}

/** HTML of the request `id`, in the chunks of `highlight`; null for an unknown language. */
export interface HighlightResponse {
  id: number;
  chunks: string[] | null;
}
