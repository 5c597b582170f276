import { pluralsOf } from "../plurals";
import type { FileTexts } from "../en/files";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("sl");

/** Slovenian texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: PartialTexts<FileTexts> = {
  tooLong: {
    title: "Sporočilo je predolgo",
    text: (used, window) => `S tem sporočilom bi klepet imel ${used} žetonov. Model jih prebere manj kot ${window}.`,
    farTooLong: (window) => `S tem sporočilom je klepet veliko daljši od ${window} žetonov, ki jih model prebere.`,
    shorten: "Skrajšajte ga ali:",
    shortenAlone: "Skrajšajte ga.",
    remove: (name) => `Odstrani ${name}`,
    leave: (messages) => (messages === 1 ? "Pošlji brez prvega sporočila" : `Pošlji brez prvih ${messages} sporočil`),
    summarize: (messages) =>
      messages === 1
        ? "Povzemi prvo sporočilo"
        : plural(messages, {
            one: `Povzemi prvih ${messages} sporočil`,
            two: `Povzemi prvi ${messages} sporočili`,
            few: `Povzemi prva ${messages} sporočila`,
            other: `Povzemi prvih ${messages} sporočil`,
          }),
    summarizing: "Model piše povzetek. Sporočilo bo poslano zatem.",
    leaveTitle: "Ostanejo v klepetu, vendar jih model ne vidi več.",
    move: "Vprašaj v novem klepetu",
  },

  allSeen: "Od tu naprej model znova vidi vsa sporočila.",
  leftOut: (messages) =>
    messages === 1 ? "Od tu naprej model ne vidi več prvega sporočila." : `Od tu naprej model ne vidi več prvih ${messages} sporočil.`,

  summary: "Povzetek",
  summarized: (messages) =>
    messages === 1 ? "Od tu naprej model vidi povzetek prvega sporočila." : `Od tu naprej model vidi povzetek prvih ${messages} sporočil.`,

  overflow: {
    server: "To sporočilo je preveliko za strežnik, zato ostane samo v tem brskalniku. Skrajšajte ga ali izpustite katero od datotek.",
    browser: "To sporočilo je preveliko, da bi se hranilo do pošiljanja. Če stran zaprete ali znova naložite, se izgubi.",
  },

  notRead: (name) => `Datoteka ${name} ni bila prebrana.`,

  unreadable: {
    tooBig: (name) => `Datoteka ${name} vsebuje več kot 512 KiB besedila. Priložite del, ki je pomemben.`,
    tooBigPdf: (name) => `Datoteka ${name} je večja od 32 MiB. Priložite del, ki je pomemben.`,
    noText: (name) => `${name} ni besedilna datoteka, PDF, docx, xlsx, pptx ali epub. Model bere samo besedilo: dokument shranite v eni od teh oblik.`,
    old: (name) => `Datoteka ${name} je v stari obliki zapisa Office. Shranite jo kot docx, xlsx ali pptx in priložite.`,
    empty: (name) => `Datoteka ${name} ne vsebuje besedila. Pri slikah besedila je treba besedilo najprej prepoznati.`,
    tooCostly: (name) => `Branje datoteke ${name} zahteva preveč pomnilnika ali časa. Priložite del, ki je pomemben.`,
    scanned: (name) => `Datoteka ${name} ne vsebuje besedila, le optično prebrane strani. Najprej prepoznajte besedilo v njej.`,
    encrypted: (name) => `Datoteka ${name} je zaščitena z geslom. Shranite kopijo brez gesla in jo priložite.`,
    broken: (name) => `Datoteka ${name} je poškodovana in je ni mogoče prebrati. Znova jo shranite ali prenesite.`,
    gone: (name) => `${name} ni mogoče odpreti. Če je to mapa, izberite datoteke v njej, sicer znova izberite datoteko.`,
  },
};
