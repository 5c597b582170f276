import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Filipino texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `Code, ${language}`,
  copyCode: "Kopyahin ang code",
  wrap: "I-wrap ang mga linya",
  download: (name) => `I-download bilang ${name}`,
  preview: "Preview",
  previewProblem: (reason) => `Hindi maipakita ang component na ito: ${reason}`,
  previewModule: (name) => `Hindi kasama sa mga preview ang module na ${name}: react at react-dom lang ang mayroon sila.`,
  previewEmpty: "Walang component na maipapakita. Mag-export ng isa bilang default.",
  previewOf: (language) => `Preview ng ${language}`,
  showCode: "Code",
  showDiagram: "Diagram",
  diagramImage: "Diagram. Inilalarawan ito ng code bilang text.",
  diagramProblem: "Hindi maiguhit ang diagram na ito.",
  diagramError: (reason) => `Hindi maiguhit ang diagram na ito: ${reason}.`,
  enlarge: "Palakihin",
  save: "I-save ang diagram",
  notSaved: "Hindi maiguhit ng browser ang larawan. I-save ang diagram bilang SVG.",
  moveDiagram: "Diagram. Igagalaw ito ng mga arrow key, magzu-zoom ang + at -, ipapakita ng 0 ang kabuuan.",
  zoomIn: "Mag-zoom in",
  zoomOut: "Mag-zoom out",
  fit: "Ipakita ang kabuuan",
  plain: "text",
  done: "tapos na",
  todo: "gagawin",
  footnotes: "Mga talababa",
  footnote: (number) => `Talababa ${number}`,
  backToText: (number) => `Bumalik sa sanggunian ${number}`,
  backToOccurrence: (number, occurrence) => `Bumalik sa sanggunian ${number}, paglitaw ${occurrence}`,
};
