/** Typesetter of TeX as HTML; null for TeX that is invalid or has links, images or attributes. */
export type Typeset = (tex: string, display: boolean) => string | null;

/** Commands of chemical equations and of units, which KaTeX has in a part of its own. */
const CHEMISTRY = /\\(?:ce|pu)\b/;

/** Return whether rendered HTML contains chemical equations. */
export function hasChemistry(html: string): boolean {
  return CHEMISTRY.test(html);
}

/** Load the typesetter and its style sheet. chemistry: load the part for chemical equations too. */
export async function loadMath(chemistry = false): Promise<Typeset> {
  const [{ default: katex }] = await Promise.all([import("katex"), import("katex/dist/katex.min.css")]);
  if (chemistry) await import("katex/contrib/mhchem");
  return (tex, displayMode) => {
    let untrusted = false;
    const trust = () => {
      untrusted = true;
      return false;
    };
    try {
      // Untrusted input: bounds on macros and sizes. KaTeX would show a command that it does not trust in red.
      const html = katex.renderToString(tex, { displayMode, trust, strict: false, maxExpand: 500, maxSize: 20 });
      return untrusted ? null : html;
    } catch {
      return null;
    }
  };
}
