import { describe, expect, it } from "vitest";

import { legacyText } from "../../../src/services/chat/legacy_text";

/** Encode a text: the inverse of what the decoder of the encoding reads from one byte or two. */
function encode(label: string, text: string): Uint8Array {
  const decoder = new TextDecoder(label, { fatal: true });
  const codes = new Map<string, number[]>();
  const learn = (...bytes: number[]) => {
    try {
      const character = decoder.decode(new Uint8Array(bytes));
      if (!codes.has(character)) codes.set(character, bytes);
    } catch {
      // No character.
    }
  };
  const bytes = Array.from({ length: 256 }, (_, byte) => byte);
  for (const byte of bytes) learn(byte);
  for (const lead of bytes.slice(0x81)) for (const trail of bytes.slice(0x40)) learn(lead, trail);
  return new Uint8Array([...text].flatMap((character) => codes.get(character)!));
}

const SIMPLIFIED = "第十条 当事人订立合同，可以采用书面形式、口头形式或者其他形式。";
const TRADITIONAL = "人人生而自由，在尊嚴和權利上一律平等。他們賦有理性和良心。";
const JAPANESE = "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。";
const KOREAN = "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.";
const RUSSIAN = "Все люди рождаются свободными и равными в своём достоинстве и правах.";
const UKRAINIAN = "Всі люди народжуються вільними і рівними у своїй гідності та правах.";
const BULGARIAN = "Всички хора се раждат свободни и равни по достойнство и права.";
const GREEK = "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα.";
const HEBREW = "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם.";
const ARABIC = "يولد جميع الناس أحرارا متساوين في الكرامة والحقوق.";
const THAI = "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ";

describe("a text in an encoding from before Unicode", () => {
  it.each([
    ["gbk", SIMPLIFIED],
    ["gbk", "姓名,电话,地址\n张伟,13800138000,北京市朝阳区\n王芳,13900139000,上海市浦东新区\n"],
    ["gbk", "用Python写的程序在Linux上运行，日志保存在log.txt中。"],
    ["big5", TRADITIONAL],
    ["big5", "日期,金額,備註\n一月三日,200,會議資料影印費用\n"],
    ["shift_jis", JAPANESE],
    ["shift_jis", "お名前: 山田太郎\r\n住所: 東京都千代田区\r\n"],
    ["euc-jp", JAPANESE],
    ["euc-kr", KOREAN],
    ["euc-kr", "이름,전화,주소\n김민수,010-1234-5678,서울시 종로구\n"],
    ["windows-1251", RUSSIAN],
    ["windows-1251", UKRAINIAN],
    ["windows-1251", BULGARIAN],
    ["windows-1251", "ПРОТОКОЛ СОБРАНИЯ № 5"],
    ["koi8-u", RUSSIAN],
    ["koi8-u", UKRAINIAN],
    ["koi8-u", "ПРОТОКОЛ СОБРАНИЯ"],
    ["ibm866", RUSSIAN],
    ["windows-1253", GREEK],
    ["windows-1255", HEBREW],
    ["windows-1256", ARABIC],
    ["windows-874", THAI],
    ["windows-1252", "«Déjà vu», dit l’élève préféré. Où ça ? À l’été, œuvre n° 5 – 20 €."],
    ["windows-1252", "Größe: 5 µm ± 0,2 °C; ÄÖÜ äöü ß, Füße über Büsum."],
    ["windows-1252", "INFORMAÇÃO: não há limitações à inscrição; São João"],
    ["windows-1252", "El niño comió piñas. ¿Dónde está la acción? ¡Aquí!"],
    ["windows-1252", "La città è più bella: perché no? Però sì, virtù, lunedì."],
    ["windows-1252", "Það er gott að þú og ég förum út á sjó. Þó að það sé kalt."],
    ["windows-1252", "Blåbærsyltetøy på brød, råd på tråden, å være ærlig. Åäö."],
  ])("is read in %s: %s", (label, text) => {
    expect(legacyText(encode(label, text))).toBe(text);
  });

  it("has no control characters", () => {
    const noise = Uint8Array.from({ length: 300 }, (_, at) => (at * 73 + 11) % 256);
    expect(legacyText(noise)).toBeNull();
  });
});
