import { pluralsOf } from "../plurals";
import type { FileTexts } from "../en/files";

const plural = pluralsOf("de");

/** German texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: FileTexts = {
  tooLong: {
    title: "Die Nachricht ist zu lang",
    text: (used, window) => `Mit der Nachricht hätte dieser Chat ${used} Token. Das Modell liest weniger als ${window}.`,
    farTooLong: (window) => `Mit der Nachricht ist dieser Chat viel länger als die ${window} Token, die das Modell liest.`,
    shorten: "Kürze sie, oder:",
    shortenAlone: "Kürze sie.",
    remove: (name) => `${name} entfernen`,
    leave: (messages) => plural(messages, { one: "Ohne die erste Nachricht senden", other: `Ohne die ersten ${messages} Nachrichten senden` }),
    summarize: (messages) => plural(messages, { one: "Die erste Nachricht zusammenfassen", other: `Die ersten ${messages} Nachrichten zusammenfassen` }),
    summarizing: "Das Modell schreibt die Zusammenfassung. Danach wird die Nachricht gesendet.",
    leaveTitle: "Sie bleiben im Chat, aber das Modell sieht sie nicht mehr.",
    move: "In einem neuen Chat fragen",
  },

  allSeen: "Ab hier sieht das Modell wieder alle Nachrichten.",
  leftOut: (messages) => plural(messages, { one: "Ab hier sieht das Modell die erste Nachricht nicht mehr.", other: `Ab hier sieht das Modell die ersten ${messages} Nachrichten nicht mehr.` }),

  summary: "Zusammenfassung",
  summarized: (messages) => plural(messages, { one: "Ab hier sieht das Modell eine Zusammenfassung der ersten Nachricht.", other: `Ab hier sieht das Modell eine Zusammenfassung der ersten ${messages} Nachrichten.` }),

  overflow: {
    server: "Diese Nachricht ist zu groß für den Server, deshalb bleibt sie nur in diesem Browser. Kürze sie oder lass eine Datei weg.",
    browser: "Diese Nachricht ist zu groß, um sie bis zum Senden aufzubewahren. Sie geht verloren, wenn du die Seite schließt oder neu lädst.",
  },

  notRead: (name) => `${name} wurde nicht gelesen.`,

  unreadable: {
    tooBig: (name) => `${name} enthält mehr als 512 KiB Text. Hänge den Teil an, auf den es ankommt.`,
    tooBigPdf: (name) => `${name} ist größer als 32 MiB. Hänge den Teil an, auf den es ankommt.`,
    noText: (name) => `${name} ist weder Textdatei noch PDF, docx, xlsx, pptx oder epub. Das Modell liest nur Text: Speichere ein Dokument in einem dieser Formate.`,
    old: (name) => `${name} hat ein altes Office-Format. Speichere die Datei als docx, xlsx oder pptx und hänge diese an.`,
    empty: (name) => `${name} enthält keinen Text. Bilder von Text brauchen zuerst eine Texterkennung.`,
    tooCostly: (name) => `${name} zu lesen braucht zu viel Speicher oder Zeit. Hänge den Teil an, auf den es ankommt.`,
    scanned: (name) => `${name} enthält keinen Text, nur gescannte Seiten. Lass zuerst eine Texterkennung darüber laufen.`,
    encrypted: (name) => `${name} ist mit einem Passwort geschützt. Speichere eine Kopie ohne Passwort und hänge diese an.`,
    broken: (name) => `${name} ist beschädigt und kann nicht gelesen werden. Speichere die Datei neu oder lade sie noch einmal herunter.`,
    gone: (name) => `${name} kann nicht geöffnet werden. Ist es ein Ordner, wähle die Dateien darin, sonst wähle die Datei noch einmal.`,
  },
};
