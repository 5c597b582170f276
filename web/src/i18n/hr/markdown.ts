import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Croatian texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `Kod, ${language}`,
  copyCode: "Kopiraj kod",
  wrap: "Prelomi retke",
  download: (name) => `Preuzmi kao ${name}`,
  preview: "Pregled",
  previewProblem: (reason) => `Ovu komponentu nije bilo moguće prikazati: ${reason}`,
  previewModule: (name) => `Modul ${name} nije dio pregleda, koji imaju samo react i react-dom.`,
  previewEmpty: "Nema komponente za prikaz. Izvezi jednu kao zadanu.",
  previewOf: (language) => `Pregled: ${language}`,
  showCode: "Kod",
  showDiagram: "Dijagram",
  diagramImage: "Dijagram. Kod ga opisuje tekstom.",
  diagramProblem: "Ovaj dijagram nije bilo moguće nacrtati.",
  diagramError: (reason) => `Ovaj dijagram nije bilo moguće nacrtati: ${reason}.`,
  enlarge: "Povećaj",
  save: "Spremi dijagram",
  notSaved: "Preglednik nije mogao nacrtati sliku. Spremite dijagram kao SVG.",
  moveDiagram: "Dijagram. Tipke sa strelicama pomiču ga, + i - zumiraju, 0 prikazuje sve.",
  zoomIn: "Povećaj",
  zoomOut: "Smanji",
  fit: "Prikaži sve",
  plain: "tekst",
  done: "gotovo",
  todo: "preostaje",
  footnotes: "Fusnote",
  footnote: (number) => `Fusnota ${number}`,
  backToText: (number) => `Natrag na referencu ${number}`,
  backToOccurrence: (number, occurrence) => `Natrag na referencu ${number}, pojavljivanje ${occurrence}`,
};
