/** Typesetter of TeX as HTML; null for invalid TeX. */
export type Typeset = (tex: string, display: boolean) => string | null;

/** Load the typesetter and its style sheet. */
export async function loadMath(): Promise<Typeset> {
  const [{ default: katex }] = await Promise.all([import("katex"), import("katex/dist/katex.min.css")]);
  return (tex, displayMode) => {
    try {
      // Untrusted input: no links, images or attributes, and bounds on macros and sizes.
      return katex.renderToString(tex, { displayMode, trust: false, strict: false, maxExpand: 500, maxSize: 20 });
    } catch {
      return null;
    }
  };
}
