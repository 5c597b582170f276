import { pluralsOf } from "../plurals";
import type { FileTexts } from "../en/files";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("ro");

/** Romanian texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: PartialTexts<FileTexts> = {
  tooLong: {
    title: "Mesajul este prea lung",
    text: (used, window) => `Cu acest mesaj, numărul de tokenuri din chat ar fi ${used}. Modelul citește mai puțin de ${window}.`,
    farTooLong: (window) => `Cu acest mesaj, chatul este mult mai lung decât poate citi modelul (tokenuri: ${window}).`,
    shorten: "Scurtează-l sau:",
    shortenAlone: "Scurtează-l.",
    remove: (name) => `Elimină ${name}`,
    leave: (messages) =>
      plural(messages, {
        one: "Trimite fără primul mesaj",
        few: `Trimite fără primele ${messages} mesaje`,
        other: `Trimite fără primele ${messages} de mesaje`,
      }),
    summarize: (messages) =>
      plural(messages, { one: "Rezumă primul mesaj", few: `Rezumă primele ${messages} mesaje`, other: `Rezumă primele ${messages} de mesaje` }),
    summarizing: "Modelul scrie rezumatul. Mesajul se trimite după aceea.",
    leaveTitle: "Rămân în chat, dar modelul nu le mai vede.",
    move: "Întreabă într-un chat nou",
  },

  allSeen: "De aici încolo, modelul vede din nou toate mesajele.",
  leftOut: (messages) =>
    plural(messages, {
      one: "De aici încolo, modelul nu mai vede primul mesaj.",
      few: `De aici încolo, modelul nu mai vede primele ${messages} mesaje.`,
      other: `De aici încolo, modelul nu mai vede primele ${messages} de mesaje.`,
    }),

  summary: "Rezumat",
  summarized: (messages) =>
    plural(messages, {
      one: "De aici încolo, modelul vede un rezumat al primului mesaj.",
      few: `De aici încolo, modelul vede un rezumat al primelor ${messages} mesaje.`,
      other: `De aici încolo, modelul vede un rezumat al primelor ${messages} de mesaje.`,
    }),

  overflow: {
    server: "Acest mesaj este prea mare pentru server, așa că rămâne doar în acest browser. Scurtează-l sau renunță la un fișier.",
    browser: "Acest mesaj este prea mare pentru a fi păstrat până îl trimiți. Se pierde dacă închizi sau reîncarci pagina.",
  },

  notRead: (name) => `${name} nu a fost citit.`,

  unreadable: {
    tooBig: (name) => `${name} are peste 512 KiB de text. Atașează partea care contează.`,
    tooBigPdf: (name) => `${name} are peste 32 MiB. Atașează partea care contează.`,
    noText: (name) => `${name} nu este un fișier text, PDF, docx, xlsx, pptx sau epub. Modelul citește doar text: dacă este un document, salvează-l într-unul dintre aceste formate.`,
    old: (name) => `${name} este într-un format Office vechi. Salvează-l ca docx, xlsx sau pptx și atașează-l.`,
    empty: (name) => `${name} nu conține text. Imaginile cu text au nevoie mai întâi de recunoașterea textului.`,
    tooCostly: (name) => `Citirea fișierului ${name} necesită prea multă memorie sau prea mult timp. Atașează partea care contează.`,
    scanned: (name) => `${name} nu conține text, ci doar pagini scanate. Aplică mai întâi recunoașterea textului.`,
    encrypted: (name) => `${name} este protejat cu parolă. Salvează o copie fără parolă și atașeaz-o.`,
    broken: (name) => `${name} este deteriorat și nu poate fi citit. Salvează-l sau descarcă-l din nou.`,
    gone: (name) => `${name} nu poate fi deschis. Dacă este un dosar, alege fișierele din el; dacă nu, alege-l din nou.`,
  },
};
