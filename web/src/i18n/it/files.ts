import { pluralsOf } from "../plurals";
import type { FileTexts } from "../en/files";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("it");

/** Italian texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: PartialTexts<FileTexts> = {
  tooLong: {
    title: "Il messaggio è troppo lungo",
    text: (used, window) => `Con il messaggio, questa chat avrebbe ${used} token. Il modello ne legge meno di ${window}.`,
    farTooLong: (window) => `Con il messaggio, questa chat supera di molto i ${window} token che il modello legge.`,
    shorten: "Accorcialo, oppure:",
    shortenAlone: "Accorcialo.",
    remove: (name) => `Rimuovi ${name}`,
    leave: (messages) => plural(messages, { one: "Invia senza il primo messaggio", other: `Invia senza i primi ${messages} messaggi` }),
    summarize: (messages) => plural(messages, { one: "Riassumi il primo messaggio", other: `Riassumi i primi ${messages} messaggi` }),
    summarizing: "Il modello sta scrivendo il riassunto. Poi il messaggio verrà inviato.",
    leaveTitle: "Restano nella chat, ma il modello non li vede più.",
    move: "Chiedi in una nuova chat",
  },

  allSeen: "Da qui in poi il modello vede di nuovo tutti i messaggi.",
  leftOut: (messages) =>
    plural(messages, { one: "Da qui in poi il modello non vede più il primo messaggio.", other: `Da qui in poi il modello non vede più i primi ${messages} messaggi.` }),

  summary: "Riassunto",
  summarized: (messages) =>
    plural(messages, { one: "Da qui in poi il modello vede un riassunto del primo messaggio.", other: `Da qui in poi il modello vede un riassunto dei primi ${messages} messaggi.` }),

  overflow: {
    server: "Questo messaggio è troppo grande per il server, quindi resta solo in questo browser. Accorcialo o togli un file.",
    browser: "Questo messaggio è troppo grande per essere conservato fino all’invio. Si perde se chiudi o ricarichi la pagina.",
  },

  notRead: (name) => `${name} non è stato letto.`,

  unreadable: {
    tooBig: (name) => `${name} contiene più di 512 KiB di testo. Allega la parte che serve.`,
    tooBigPdf: (name) => `${name} supera i 32 MiB. Allega la parte che serve.`,
    noText: (name) => `${name} non è un file di testo, PDF, docx, xlsx, pptx o epub. Il modello legge solo testo: se è un documento, salvalo in uno di questi formati.`,
    old: (name) => `${name} è in un vecchio formato Office. Salvalo come docx, xlsx o pptx e allega il risultato.`,
    empty: (name) => `${name} non contiene testo. Le immagini di testo richiedono prima il riconoscimento del testo.`,
    tooCostly: (name) => `Leggere ${name} richiede troppa memoria o troppo tempo. Allega la parte che serve.`,
    scanned: (name) => `${name} non contiene testo, solo pagine scansionate. Esegui prima il riconoscimento del testo.`,
    encrypted: (name) => `${name} è protetto da password. Salvane una copia senza password e allegala.`,
    broken: (name) => `${name} è danneggiato e non può essere letto. Salvalo o scaricalo di nuovo.`,
    gone: (name) => `Impossibile aprire ${name}. Se è una cartella, scegli i file che contiene; altrimenti sceglilo di nuovo.`,
  },
};
