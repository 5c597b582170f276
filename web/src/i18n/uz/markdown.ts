import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Uzbek texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `Kod, ${language}`,
  copyCode: "Kodni nusxalash",
  wrap: "Uzun qatorlarni boʻlish",
  download: (name) => `${name} sifatida yuklab olish`,
  preview: "Oldindan koʻrish",
  previewProblem: (reason) => `Bu komponentni koʻrsatib boʻlmadi: ${reason}`,
  previewModule: (name) => `${name} moduli oldindan koʻrishda yoʻq: unda faqat react va react-dom bor.`,
  previewEmpty: "Koʻrsatiladigan komponent yoʻq. Bittasini standart sifatida eksport qiling.",
  previewOf: (language) => `Oldindan koʻrish: ${language}`,
  showCode: "Kod",
  showDiagram: "Diagramma",
  diagramImage: "Diagramma. Kod uni matn bilan tasvirlaydi.",
  diagramProblem: "Bu diagrammani chizib boʻlmadi.",
  diagramError: (reason) => `Bu diagrammani chizib boʻlmadi: ${reason}.`,
  enlarge: "Kattalashtirish",
  save: "Diagrammani saqlash",
  notSaved: "Brauzer rasmni chiza olmadi. Diagrammani SVG sifatida saqlang.",
  moveDiagram: "Diagramma. Strelkali tugmalar uni suradi, + va - masshtabni oʻzgartiradi, 0 butunligicha koʻrsatadi.",
  zoomIn: "Kattalashtirish",
  zoomOut: "Kichiklashtirish",
  fit: "Butunligicha koʻrsatish",
  plain: "matn",
  done: "bajarilgan",
  todo: "bajarilmagan",
  footnotes: "Izohlar",
  footnote: (number) => `${number}-izoh`,
  backToText: (number) => `${number}-havolaga qaytish`,
  backToOccurrence: (number, occurrence) => `${number}-havolaga qaytish, ${occurrence}-oʻrin`,
};
