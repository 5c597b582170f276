import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Georgian texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `კოდი, ${language}`,
  copyCode: "კოდის კოპირება",
  wrap: "ხაზების გადატანა",
  download: (name) => `ჩამოტვირთვა: ${name}`,
  preview: "გადახედვა",
  previewProblem: (reason) => `ეს კომპონენტი ვერ გამოჩნდა: ${reason}`,
  previewModule: (name) => `მოდული ${name} გადახედვებში არ არის: მათში მხოლოდ react და react-dom არის.`,
  previewEmpty: "საჩვენებელი კომპონენტი არ არის. ერთი ნაგულისხმევად დაიექსპორტეთ.",
  previewOf: (language) => `${language}: გადახედვა`,
  showCode: "კოდი",
  showDiagram: "დიაგრამა",
  diagramImage: "დიაგრამა. კოდი მას ტექსტად აღწერს.",
  diagramProblem: "ეს დიაგრამა ვერ დაიხატა.",
  diagramError: (reason) => `ეს დიაგრამა ვერ დაიხატა: ${reason}.`,
  enlarge: "გადიდება",
  save: "დიაგრამის შენახვა",
  notSaved: "ბრაუზერმა სურათი ვერ დახატა. შეინახეთ დიაგრამა SVG-ად.",
  moveDiagram: "დიაგრამა. ისრები აადგილებს, + და - მასშტაბს ცვლის, 0 სრულად აჩვენებს.",
  zoomIn: "გადიდება",
  zoomOut: "დაპატარავება",
  fit: "სრულად ჩვენება",
  plain: "ტექსტი",
  done: "შესრულებული",
  todo: "შესასრულებელი",
  footnotes: "სქოლიოები",
  footnote: (number) => `სქოლიო ${number}`,
  backToText: (number) => `მითითებაზე ${number} დაბრუნება`,
  backToOccurrence: (number, occurrence) => `მითითებაზე ${number} დაბრუნება, ადგილი ${occurrence}`,
};
