import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Polish texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `Kod, ${language}`,
  copyCode: "Kopiuj kod",
  wrap: "Zawijaj wiersze",
  download: (name) => `Pobierz jako ${name}`,
  preview: "Podgląd",
  previewProblem: (reason) => `Nie udało się pokazać tego komponentu: ${reason}`,
  previewModule: (name) => `Moduł ${name} nie jest częścią podglądów, które mają tylko react i react-dom.`,
  previewEmpty: "Nie ma komponentu do pokazania. Wyeksportuj jeden jako domyślny.",
  previewOf: (language) => `Podgląd: ${language}`,
  showCode: "Kod",
  showDiagram: "Diagram",
  diagramImage: "Diagram. Kod opisuje go tekstem.",
  diagramProblem: "Nie udało się narysować tego diagramu.",
  diagramError: (reason) => `Nie udało się narysować tego diagramu: ${reason}.`,
  enlarge: "Powiększ",
  save: "Zapisz diagram",
  notSaved: "Przeglądarka nie mogła narysować obrazu. Zapisz diagram jako SVG.",
  moveDiagram: "Diagram. Strzałki go przesuwają, + i - zmieniają powiększenie, 0 pokazuje całość.",
  zoomIn: "Powiększ",
  zoomOut: "Pomniejsz",
  fit: "Pokaż całość",
  plain: "tekst",
  done: "zrobione",
  todo: "do zrobienia",
  footnotes: "Przypisy",
  footnote: (number) => `Przypis ${number}`,
  backToText: (number) => `Wróć do odsyłacza ${number}`,
  backToOccurrence: (number, occurrence) => `Wróć do odsyłacza ${number}, wystąpienie ${occurrence}`,
};
