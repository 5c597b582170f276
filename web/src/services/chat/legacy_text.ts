/** Encoding from before Unicode, with the evidence for it. */
interface LegacyEncoding {
  label: string;
  /** Words that only the script of the encoding has. */
  word: RegExp;
  /** The most frequent characters of the languages. They make up a third to two thirds of a text. */
  frequent: RegExp;
}

const HAN = /\p{Script=Han}{2,}/gu;
const SIMPLIFIED = oneOf(
  "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些" +
  "主样理心本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等产或新己制身果加西斯月话合回特" +
  "代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活尔更别打女变四神总何电数安少报才结反受目太量再感建务做接必场件计管期市直德资命山" +
  "金指克许统区保至队形社便空决治展马科司五基眼书非则听白却界达光放强即像难且权思王象完设式色路记南品住告类求据程北边死张该交规万取拉格望觉术领共确传师观清今切院让识候带导争运",
);
const TRADITIONAL = oneOf(
  "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用道行所然家種事成方多經麼去法學如都同現當沒動面起看定天分還進好小部其些" +
  "主樣理心本前開但因只從想實日軍者意無力它與長把機十民第公此已工使情明性知全三又關點正業外將兩高間由問很最重並物手應戰向頭文體政美相見被利什二等產或新己制身果加西斯月話合回特" +
  "代內信表化老給世位次度門任常先海通教兒原東聲提立及比員解水名真論處走義各入幾口認條平系氣題活爾更別打女變四神總何電數安少報才結反受目太量再感建務做接必場件計管期市直德資命山" +
  "金指克許統區保至隊形社便空決治展馬科司五基眼書非則聽白卻界達光放強即像難且權思王象完設式色路記南品住告類求據程北邊死張該交規萬取拉格望覺術領共確傳師觀清今切院讓識候帶導爭運",
);
/** A word with kana, which no Japanese sentence lacks and no other encoding imitates. All of its characters are evidence. */
const JAPANESE = /\p{Script=Han}*[\u3041-\u30fa][\p{Script=Han}\u3041-\u30fa\u30fc]+/gu;
const ANY = /./gu;
const KOREAN = /[이다는에의가을하고를은지도로한사기리그서나시어자아라인대정것일들수있해으면보제전만부구게과원장스주상비무습니했요오세여조성]/g;
/** Whole words of several letters: an accented Latin letter, read in another code page, stands alone or among Latin letters. */
const CYRILLIC = /(?<!\p{L})\p{Script=Cyrillic}{3,}(?!\p{L})/gu;
const FREQUENT_CYRILLIC = /[оеаинтсрвл]/gi;

/** The encodings of other scripts than Latin that browsers decode and that people used most. The first of equal ones is chosen. */
const ENCODINGS: readonly LegacyEncoding[] = [
  { label: "gb18030", word: HAN, frequent: SIMPLIFIED },
  { label: "big5", word: HAN, frequent: TRADITIONAL },
  { label: "shift_jis", word: JAPANESE, frequent: ANY },
  { label: "euc-jp", word: JAPANESE, frequent: ANY },
  { label: "euc-kr", word: /\p{Script=Hangul}{2,}/gu, frequent: KOREAN },
  { label: "windows-1251", word: CYRILLIC, frequent: FREQUENT_CYRILLIC },
  { label: "koi8-u", word: CYRILLIC, frequent: FREQUENT_CYRILLIC },
  { label: "ibm866", word: CYRILLIC, frequent: FREQUENT_CYRILLIC },
  { label: "windows-1253", word: /(?<!\p{L})\p{Script=Greek}{3,}(?!\p{L})/gu, frequent: /[αοιετνσςηρ]/gi },
  { label: "windows-1255", word: /(?<!\p{L})\p{Script=Hebrew}{3,}(?!\p{L})/gu, frequent: /[יוהלאתרבשמנם]/g },
  { label: "windows-1256", word: /(?<!\p{L})\p{Script=Arabic}{3,}(?!\p{L})/gu, frequent: /[اليمنرتوهد]/g },
  { label: "windows-874", word: /\p{Script=Thai}{4,}/gu, frequent: /[านรอกเงยลมวดท]/g },
];

/** Least share of frequent characters in words of the script. Western texts have next to none in any of the readings. */
const MIN_SHARE = 0.1;
/** Characters that tell encodings apart. All of them have ASCII, and punctuation follows its own rules. */
const TELLING = /[^\x00-\x7f\p{P}\s]/gu;
/** Control characters, of which no text has any. */
const CONTROL = /[\u0000-\u0008\u000e-\u001f\u007f-\u009f]/;

/** Decode a text that is not in Unicode; null if the bytes are no text. Without evidence for another script, it is Western. */
export function legacyText(bytes: Uint8Array): string | null {
  const western = new TextDecoder("windows-1252").decode(bytes);
  let best = { text: western, share: MIN_SHARE };
  for (const encoding of ENCODINGS) {
    const text = strictly(encoding.label, bytes);
    if (text === null || CONTROL.test(text)) continue;
    const share = shareOf(text, encoding);
    if (share > best.share) best = { text, share };
  }
  return CONTROL.test(best.text) ? null : best.text;
}

function oneOf(characters: string): RegExp {
  return new RegExp(`[${characters}]`, "g");
}

function strictly(label: string, bytes: Uint8Array): string | null {
  try {
    return new TextDecoder(label, { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** Return the share of the telling characters that are frequent ones, in words of the script. */
function shareOf(text: string, { word, frequent }: LegacyEncoding): number {
  const words = (text.match(word) ?? []).join("");
  return count(words, frequent) / Math.max(1, count(text, TELLING));
}

function count(text: string, characters: RegExp): number {
  return text.match(characters)?.length ?? 0;
}
