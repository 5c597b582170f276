import type { FileTexts } from "../en/files";
import type { PartialTexts } from "../fallback";

/** Hungarian texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: PartialTexts<FileTexts> = {
  tooLong: {
    title: "Az üzenet túl hosszú",
    text: (used, window) => `Az üzenettel együtt ez a csevegés ${used} token lenne. A modell ${window} tokennél kevesebbet olvas.`,
    farTooLong: (window) => `Az üzenettel együtt ez a csevegés sokkal hosszabb, mint az a ${window} token, amelyet a modell olvas.`,
    shorten: "Rövidítsd le, vagy:",
    shortenAlone: "Rövidítsd le.",
    remove: (name) => `${name} eltávolítása`,
    leave: (messages) => (messages === 1 ? "Küldés az első üzenet nélkül" : `Küldés az első ${messages} üzenet nélkül`),
    summarize: (messages) => (messages === 1 ? "Az első üzenet összefoglalása" : `Az első ${messages} üzenet összefoglalása`),
    summarizing: "A modell az összefoglalót írja. Utána elküldjük az üzenetet.",
    leaveTitle: "A csevegésben maradnak, de a modell már nem látja őket.",
    move: "Kérdés új csevegésben",
  },

  allSeen: "Innentől a modell újra látja az összes üzenetet.",
  leftOut: (messages) => `Innentől a modell már nem látja az első ${messages === 1 ? "üzenetet" : `${messages} üzenetet`}.`,

  summary: "Összefoglaló",
  summarized: (messages) => `Innentől a modell az első ${messages === 1 ? "üzenet" : `${messages} üzenet`} összefoglalóját látja.`,

  overflow: {
    server: "Ez az üzenet túl nagy a kiszolgálónak, ezért csak ebben a böngészőben marad meg. Rövidítsd le, vagy hagyj ki egy fájlt.",
    browser: "Ez az üzenet túl nagy ahhoz, hogy elküldésig megőrizzük. Elvész, ha bezárod vagy újratöltöd az oldalt.",
  },

  notRead: (name) => `${name} beolvasása nem sikerült.`,

  unreadable: {
    tooBig: (name) => `${name} több mint 512 KiB szöveget tartalmaz. Csak a lényeges részt csatold.`,
    tooBigPdf: (name) => `${name} nagyobb, mint 32 MiB. Csak a lényeges részt csatold.`,
    noText: (name) => `${name} nem szövegfájl, PDF, docx, xlsx, pptx vagy epub. A modell csak szöveget olvas: ha dokumentum, mentsd e formátumok egyikében.`,
    old: (name) => `${name} régi Office-formátumú. Mentsd docx, xlsx vagy pptx formátumban, és azt csatold.`,
    empty: (name) => `${name} nem tartalmaz szöveget. A képként tárolt szöveghez előbb szövegfelismerés kell.`,
    tooCostly: (name) => `${name} beolvasása túl sok memóriát vagy időt igényel. Csak a lényeges részt csatold.`,
    scanned: (name) => `${name} nem tartalmaz szöveget, csak beolvasott oldalakat. Előbb futtass rajta szövegfelismerést.`,
    encrypted: (name) => `${name} jelszóval védett. Ments róla jelszó nélküli másolatot, és azt csatold.`,
    broken: (name) => `${name} sérült, és nem olvasható. Mentsd el vagy töltsd le újra.`,
    gone: (name) => `${name} nem nyitható meg. Ha mappa, válaszd ki a benne lévő fájlokat, egyébként válaszd ki újra.`,
  },
};
