import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Thai texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `โค้ด ${language}`,
  copyCode: "คัดลอกโค้ด",
  wrap: "ตัดบรรทัด",
  download: (name) => `ดาวน์โหลดเป็น ${name}`,
  preview: "แสดงตัวอย่าง",
  previewProblem: (reason) => `แสดงองค์ประกอบนี้ไม่ได้: ${reason}`,
  previewModule: (name) => `โมดูล ${name} ไม่มีในตัวอย่าง ซึ่งมีเพียง react และ react-dom`,
  previewEmpty: "ไม่มีองค์ประกอบให้แสดง โปรดส่งออกหนึ่งรายการเป็นค่าเริ่มต้น",
  previewOf: (language) => `ตัวอย่างของ ${language}`,
  showCode: "โค้ด",
  showDiagram: "แผนภาพ",
  diagramImage: "แผนภาพ โค้ดอธิบายแผนภาพนี้เป็นข้อความ",
  diagramProblem: "วาดแผนภาพนี้ไม่ได้",
  diagramError: (reason) => `วาดแผนภาพนี้ไม่ได้: ${reason}`,
  enlarge: "ขยาย",
  save: "บันทึกแผนภาพ",
  notSaved: "เบราว์เซอร์วาดภาพไม่ได้ โปรดบันทึกแผนภาพเป็น SVG",
  moveDiagram: "แผนภาพ ปุ่มลูกศรใช้เลื่อน + และ - ใช้ซูม 0 แสดงทั้งหมด",
  zoomIn: "ซูมเข้า",
  zoomOut: "ซูมออก",
  fit: "แสดงทั้งหมด",
  plain: "ข้อความ",
  done: "เสร็จแล้ว",
  todo: "ต้องทำ",
  footnotes: "เชิงอรรถ",
  footnote: (number) => `เชิงอรรถ ${number}`,
  backToText: (number) => `กลับไปยังการอ้างอิง ${number}`,
  backToOccurrence: (number, occurrence) => `กลับไปยังการอ้างอิง ${number} ตำแหน่งที่ ${occurrence}`,
};
