/** TeX as HTML; null for what is no TeX. */
export type Typeset = (tex: string, display: boolean) => string | null;

/** Loads the typesetter with its style sheet; the first call fetches it. */
export async function loadMath(): Promise<Typeset> {
  const [{ default: katex }] = await Promise.all([import("katex"), import("katex/dist/katex.min.css")]);
  return (tex, displayMode) => {
    try {
      // Not trusted: no links, no images, no attributes, and bounds on what macros and sizes may grow to.
      return katex.renderToString(tex, { displayMode, trust: false, strict: false, maxExpand: 500, maxSize: 20 });
    } catch {
      return null;
    }
  };
}
