import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Marathi texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `कोड, ${language}`,
  copyCode: "कोड कॉपी करा",
  wrap: "ओळी गुंडाळा",
  download: (name) => `${name} म्हणून डाउनलोड करा`,
  preview: "पूर्वावलोकन",
  previewProblem: (reason) => `हा घटक दाखवता आला नाही: ${reason}`,
  previewModule: (name) => `${name} हे मॉड्यूल पूर्वावलोकनांत नाही, त्यांत फक्त react आणि react-dom आहेत.`,
  previewEmpty: "दाखवण्यासाठी कोणताही घटक नाही. एक डीफॉल्ट म्हणून एक्स्पोर्ट करा.",
  previewOf: (language) => `${language} चे पूर्वावलोकन`,
  showCode: "कोड",
  showDiagram: "आकृती",
  diagramImage: "आकृती. कोडमध्ये तिचे मजकूर वर्णन आहे.",
  diagramProblem: "ही आकृती काढता आली नाही.",
  diagramError: (reason) => `ही आकृती काढता आली नाही: ${reason}.`,
  enlarge: "मोठे करा",
  save: "आकृती सेव्ह करा",
  notSaved: "ब्राउझरला चित्र काढता आले नाही. आकृती SVG म्हणून सेव्ह करा.",
  moveDiagram: "आकृती. बाण कीने हलवा, + आणि - ने झूम करा, 0 ने पूर्ण पाहा.",
  zoomIn: "झूम इन करा",
  zoomOut: "झूम आउट करा",
  fit: "पूर्ण दाखवा",
  plain: "मजकूर",
  done: "पूर्ण",
  todo: "बाकी",
  footnotes: "तळटीपा",
  footnote: (number) => `तळटीप ${number}`,
  backToText: (number) => `संदर्भ ${number} वर परत जा`,
  backToOccurrence: (number, occurrence) => `संदर्भ ${number}, जागा ${occurrence} वर परत जा`,
};
