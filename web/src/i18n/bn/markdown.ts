import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Bengali texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `কোড, ${language}`,
  copyCode: "কোড কপি করুন",
  wrap: "লাইন ভাঁজ করুন",
  download: (name) => `${name} হিসেবে ডাউনলোড করুন`,
  preview: "প্রিভিউ",
  previewProblem: (reason) => `এই কম্পোনেন্ট দেখানো যায়নি: ${reason}`,
  previewModule: (name) => `${name} মডিউলটি প্রিভিউয়ে নেই, সেখানে শুধু react ও react-dom আছে।`,
  previewEmpty: "দেখানোর মতো কোনো কম্পোনেন্ট নেই। একটি কম্পোনেন্ট ডিফল্ট হিসেবে এক্সপোর্ট করুন।",
  previewOf: (language) => `${language}-এর প্রিভিউ`,
  showCode: "কোড",
  showDiagram: "ডায়াগ্রাম",
  diagramImage: "ডায়াগ্রাম। কোডে এর লিখিত বর্ণনা আছে।",
  diagramProblem: "এই ডায়াগ্রাম আঁকা যায়নি।",
  diagramError: (reason) => `এই ডায়াগ্রাম আঁকা যায়নি: ${reason}।`,
  enlarge: "বড় করুন",
  save: "ডায়াগ্রাম সেভ করুন",
  notSaved: "ব্রাউজার ছবিটি আঁকতে পারেনি। ডায়াগ্রামটি SVG হিসেবে সেভ করুন।",
  moveDiagram: "ডায়াগ্রাম। তীর চিহ্নের বোতামে সরে, + ও - দিয়ে জুম হয়, 0 চাপলে পুরোটা দেখা যায়।",
  zoomIn: "জুম ইন করুন",
  zoomOut: "জুম আউট করুন",
  fit: "পুরোটা দেখান",
  plain: "টেক্সট",
  done: "হয়েছে",
  todo: "বাকি",
  footnotes: "পাদটীকা",
  footnote: (number) => `পাদটীকা ${number}`,
  backToText: (number) => `উল্লেখ ${number}-এ ফিরে যান`,
  backToOccurrence: (number, occurrence) => `উল্লেখ ${number}, স্থান ${occurrence}-এ ফিরে যান`,
};
