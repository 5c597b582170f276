import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Icelandic texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `Kóði, ${language}`,
  copyCode: "Afrita kóða",
  wrap: "Skipta línum",
  download: (name) => `Sækja sem ${name}`,
  preview: "Forskoðun",
  previewProblem: (reason) => `Ekki var hægt að sýna þennan hluta: ${reason}`,
  previewModule: (name) => `Einingin ${name} er ekki hluti af forskoðunum, þær hafa aðeins react og react-dom.`,
  previewEmpty: "Það er enginn hluti til að sýna. Flyttu einn út sem sjálfgefinn.",
  previewOf: (language) => `Forskoðun: ${language}`,
  showCode: "Kóði",
  showDiagram: "Skýringarmynd",
  diagramImage: "Skýringarmynd. Kóðinn lýsir henni sem texta.",
  diagramProblem: "Ekki var hægt að teikna skýringarmyndina.",
  diagramError: (reason) => `Ekki var hægt að teikna skýringarmyndina: ${reason}.`,
  enlarge: "Stækka",
  save: "Vista skýringarmyndina",
  notSaved: "Vafrinn gat ekki teiknað myndina. Vistaðu skýringarmyndina sem SVG.",
  moveDiagram: "Skýringarmynd. Örvalyklar færa hana, + og - stækka og minnka, 0 sýnir hana alla.",
  zoomIn: "Stækka",
  zoomOut: "Minnka",
  fit: "Sýna alla",
  plain: "texti",
  done: "lokið",
  todo: "ólokið",
  footnotes: "Neðanmálsgreinar",
  footnote: (number) => `Neðanmálsgrein ${number}`,
  backToText: (number) => `Aftur í tilvísun ${number}`,
  backToOccurrence: (number, occurrence) => `Aftur í tilvísun ${number}, tilvik ${occurrence}`,
};
