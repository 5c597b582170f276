import { pluralsOf } from "../plurals";
import type { FileTexts } from "../en/files";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("hr");

/** Croatian texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: PartialTexts<FileTexts> = {
  tooLong: {
    title: "Poruka je preduga",
    text: (used, window) => `S ovom bi porukom razgovor imao ${used} tokena. Model ih čita manje od ${window}.`,
    farTooLong: (window) => `S ovom je porukom razgovor znatno dulji od ${window} tokena koje model čita.`,
    shorten: "Skratite je ili:",
    shortenAlone: "Skratite je.",
    remove: (name) => `Ukloni ${name}`,
    leave: (messages) =>
      messages === 1
        ? "Pošalji bez prve poruke"
        : plural(messages, {
            one: `Pošalji bez prvih ${messages} poruka`,
            few: `Pošalji bez prve ${messages} poruke`,
            other: `Pošalji bez prvih ${messages} poruka`,
          }),
    summarize: (messages) =>
      messages === 1
        ? "Sažmi prvu poruku"
        : plural(messages, {
            one: `Sažmi prvih ${messages} poruka`,
            few: `Sažmi prve ${messages} poruke`,
            other: `Sažmi prvih ${messages} poruka`,
          }),
    summarizing: "Model piše sažetak. Poruka se šalje nakon toga.",
    leaveTitle: "Ostaju u razgovoru, ali ih model više ne vidi.",
    move: "Pitaj u novom razgovoru",
  },

  allSeen: "Odavde model ponovno vidi sve poruke.",
  leftOut: (messages) =>
    messages === 1
      ? "Odavde model više ne vidi prvu poruku."
      : plural(messages, {
          one: `Odavde model više ne vidi prvih ${messages} poruka.`,
          few: `Odavde model više ne vidi prve ${messages} poruke.`,
          other: `Odavde model više ne vidi prvih ${messages} poruka.`,
        }),

  summary: "Sažetak",
  summarized: (messages) =>
    messages === 1
      ? "Odavde model vidi sažetak prve poruke."
      : plural(messages, {
          one: `Odavde model vidi sažetak prvih ${messages} poruka.`,
          few: `Odavde model vidi sažetak prve ${messages} poruke.`,
          other: `Odavde model vidi sažetak prvih ${messages} poruka.`,
        }),

  overflow: {
    server: "Ova je poruka prevelika za poslužitelj, pa ostaje samo u ovom pregledniku. Skratite je ili izostavite neku datoteku.",
    browser: "Ova je poruka prevelika da bi se čuvala do slanja. Izgubit će se ako zatvorite ili ponovno učitate stranicu.",
  },

  notRead: (name) => `Datoteka ${name} nije pročitana.`,

  unreadable: {
    tooBig: (name) => `Datoteka ${name} sadrži više od 512 KiB teksta. Priložite dio koji je važan.`,
    tooBigPdf: (name) => `Datoteka ${name} veća je od 32 MiB. Priložite dio koji je važan.`,
    noText: (name) => `${name} nije tekstna datoteka, PDF, docx, xlsx, pptx ni epub. Model čita samo tekst: dokument spremite u jednom od tih oblika.`,
    old: (name) => `Datoteka ${name} u starom je uredskom obliku. Spremite je kao docx, xlsx ili pptx i priložite.`,
    empty: (name) => `Datoteka ${name} ne sadrži tekst. Na slikama teksta najprije treba prepoznati tekst.`,
    tooCostly: (name) => `Čitanje datoteke ${name} zahtijeva previše memorije ili vremena. Priložite dio koji je važan.`,
    scanned: (name) => `Datoteka ${name} ne sadrži tekst, samo skenirane stranice. Najprije prepoznajte tekst u njoj.`,
    encrypted: (name) => `Datoteka ${name} zaštićena je lozinkom. Spremite kopiju bez lozinke i priložite nju.`,
    broken: (name) => `Datoteka ${name} oštećena je i ne može se pročitati. Ponovno je spremite ili preuzmite.`,
    gone: (name) => `${name} nije moguće otvoriti. Ako je to mapa, odaberite datoteke u njoj, inače ponovno odaberite datoteku.`,
  },
};
