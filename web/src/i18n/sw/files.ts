import { pluralsOf } from "../plurals";
import type { FileTexts } from "../en/files";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("sw");

/** Swahili texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: PartialTexts<FileTexts> = {
  tooLong: {
    title: "Ujumbe ni mrefu mno",
    text: (used, window) => `Gumzo hili litakuwa na tokeni ${used} pamoja na ujumbe huu. Modeli husoma chini ya ${window}.`,
    farTooLong: (window) => `Pamoja na ujumbe huu, gumzo hili limezidi kwa mbali tokeni ${window} ambazo modeli husoma.`,
    shorten: "Ufupishe, au:",
    shortenAlone: "Ufupishe.",
    remove: (name) => `Ondoa ${name}`,
    leave: (messages) => plural(messages, { one: "Tuma bila ujumbe wa kwanza", other: `Tuma bila ujumbe ${messages} wa kwanza` }),
    summarize: (messages) => plural(messages, { one: "Fupisha ujumbe wa kwanza", other: `Fupisha ujumbe ${messages} wa kwanza` }),
    summarizing: "Modeli inaandika muhtasari. Ujumbe utatumwa baadaye.",
    leaveTitle: "Utabaki katika gumzo, lakini modeli haitauona tena.",
    move: "Uliza katika gumzo jipya",
  },

  allSeen: "Kuanzia hapa, modeli inaona tena ujumbe wote.",
  leftOut: (messages) => plural(messages, { one: "Kuanzia hapa, modeli haioni tena ujumbe wa kwanza.", other: `Kuanzia hapa, modeli haioni tena ujumbe ${messages} wa kwanza.` }),

  summary: "Muhtasari",
  summarized: (messages) => plural(messages, { one: "Kuanzia hapa, modeli inaona muhtasari wa ujumbe wa kwanza.", other: `Kuanzia hapa, modeli inaona muhtasari wa ujumbe ${messages} wa kwanza.` }),

  overflow: {
    server: "Ujumbe huu ni mkubwa mno kwa seva, kwa hivyo utabaki kwenye kivinjari hiki pekee. Ufupishe, au ondoa faili moja.",
    browser: "Ujumbe huu ni mkubwa mno kuhifadhiwa hadi uutume. Utapotea ukifunga au kupakia ukurasa upya.",
  },

  notRead: (name) => `${name} haikusomwa.`,

  unreadable: {
    tooBig: (name) => `${name} ina zaidi ya KiB 512 za maandishi. Ambatisha sehemu iliyo muhimu.`,
    tooBigPdf: (name) => `${name} inazidi MiB 32. Ambatisha sehemu iliyo muhimu.`,
    noText: (name) => `${name} si faili ya maandishi, PDF, docx, xlsx, pptx wala epub. Modeli husoma maandishi pekee: kama ni hati, ihifadhi katika mojawapo ya miundo hii.`,
    old: (name) => `${name} iko katika muundo wa zamani wa Office. Ihifadhi kama docx, xlsx au pptx kisha uiambatishe.`,
    empty: (name) => `${name} haina maandishi. Picha za maandishi zinahitaji utambuzi wa maandishi kwanza.`,
    tooCostly: (name) => `Kusoma ${name} kunahitaji memori au muda mwingi mno. Ambatisha sehemu iliyo muhimu.`,
    scanned: (name) => `${name} haina maandishi, ina kurasa zilizochanganuliwa tu. Ifanyie utambuzi wa maandishi kwanza.`,
    encrypted: (name) => `${name} imefungwa kwa nenosiri. Hifadhi nakala isiyo na nenosiri kisha uiambatishe.`,
    broken: (name) => `${name} imeharibika na haiwezi kusomwa. Ihifadhi au uipakue tena.`,
    gone: (name) => `${name} haiwezi kufunguliwa. Ikiwa ni folda, chagua faili zilizo ndani yake; kama sivyo, ichague tena.`,
  },
};
