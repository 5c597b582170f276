import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Tamil texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `குறியீடு, ${language}`,
  copyCode: "குறியீட்டை நகலெடு",
  wrap: "வரிகளை மடி",
  download: (name) => `${name}-ஆகப் பதிவிறக்கு`,
  preview: "மாதிரிக்காட்சி",
  previewProblem: (reason) => `இந்தக் கூறைக் காட்ட முடியவில்லை: ${reason}`,
  previewModule: (name) => `${name} தொகுதி மாதிரிக்காட்சிகளில் இல்லை; அவற்றில் react, react-dom மட்டுமே உள்ளன.`,
  previewEmpty: "காட்டுவதற்குக் கூறு எதுவும் இல்லை. ஒன்றை இயல்புநிலையாக ஏற்றுமதி செய்யவும்.",
  previewOf: (language) => `${language} மாதிரிக்காட்சி`,
  showCode: "குறியீடு",
  showDiagram: "வரைபடம்",
  diagramImage: "வரைபடம். குறியீடு இதை உரையாக விவரிக்கிறது.",
  diagramProblem: "இந்த வரைபடத்தை வரைய முடியவில்லை.",
  diagramError: (reason) => `இந்த வரைபடத்தை வரைய முடியவில்லை: ${reason}.`,
  enlarge: "பெரிதாக்கு",
  save: "வரைபடத்தைச் சேமி",
  notSaved: "உலாவியால் படத்தை வரைய முடியவில்லை. வரைபடத்தை SVG-ஆகச் சேமிக்கவும்.",
  moveDiagram: "வரைபடம். அம்புக்குறி விசைகள் நகர்த்தும், + மற்றும் - பெரிதாக்கிச் சிறிதாக்கும், 0 முழுவதையும் காட்டும்.",
  zoomIn: "பெரிதாக்கு",
  zoomOut: "சிறிதாக்கு",
  fit: "முழுவதையும் காட்டு",
  plain: "உரை",
  done: "முடிந்தது",
  todo: "செய்ய வேண்டியது",
  footnotes: "அடிக்குறிப்புகள்",
  footnote: (number) => `அடிக்குறிப்பு ${number}`,
  backToText: (number) => `மேற்கோள் ${number}-க்குத் திரும்பு`,
  backToOccurrence: (number, occurrence) => `மேற்கோள் ${number}, இடம் ${occurrence}-க்குத் திரும்பு`,
};
