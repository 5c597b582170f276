import { pluralsOf } from "../plurals";
import type { AnswerTexts } from "../en/answers";

const plural = pluralsOf("de");

/** German texts for the answer tools. */
export const texts: AnswerTexts = {
  edit: {
    field: "Bearbeitete Antwort",
    note: "Die nächste Nachricht knüpft an deinen Text an. Das Original bleibt als Version erhalten.",
  },

  rating: {
    field: "Was war falsch?",
    note: "Freiwillig. Dein Feedback wird bei der Antwort gespeichert.",
  },

  compare: {
    title: "Antworten vergleichen",
    note: "Alle Antworten werden gleichzeitig geschrieben. Auch bei gleichen Einstellungen können sie sich unterscheiden, außer mit einem Seed.",
    kept: "Jede Antwort bleibt als Version im Chat.",
    column: (index) => `Antwort ${index}`,
    temperature: (value) => `Temperatur ${value}`,
    topP: (value) => `Top p ${value}`,
    seed: (value) => `Seed ${value}`,
    add: "Antwort hinzufügen",
    remove: (index) => `Antwort ${index} entfernen`,
    start: "Vergleichen",
    keep: "Diese behalten",
    merge: "Zu einer Antwort zusammenführen",
    stop: (index) => `Antwort ${index} stoppen`,
    stopAll: "Alle stoppen",
  },

  prompts: {
    title: "Gespeicherte Prompts",
    search: "Prompt suchen",
    none: "Keine Prompts gefunden.",
    empty: "Noch keine gespeicherten Prompts. Speichere einen Text, mit dem du Nachrichten oft beginnst: „/“ in einer leeren Nachricht listet ihn dann hier auf.",
    add: "Neuer Prompt",
    edit: (name) => `„${name}“ bearbeiten`,
    name: "Name des Prompts",
    text: "Text",
    placeholders: "Platzhalter in doppelten Klammern, etwa {{Stadt}}, werden zum Ausfüllen markiert.",
    remove: "Prompt löschen",
  },

  files: {
    search: "Datei suchen",
    none: "Keine Dateien gefunden. Um eine Datei zu behalten, klicke beim Anhängen auf ihr Lesezeichen.",
    size: (characters) => `${characters} Zeichen`,
    remove: (name) => `${name} löschen`,
    delete: "Löschen",
    confirm: "Diese Datei aus deinen Dateien löschen? Chats, die sie enthalten, bleiben, wie sie sind.",
  },

  find: {
    title: "In diesem Chat suchen",
    next: "Nächster Treffer",
    previous: "Voriger Treffer",
    at: (at, total) => `${at} von ${total}`,
    none: "Nicht gefunden",
  },

  queue: {
    title: "Nachricht in der Warteschlange",
    waiting: "Wird gesendet, sobald die Antwort fertig ist.",
    now: "Jetzt senden",
    nowTitle: "Stoppt die Antwort und behält ihren Text",
    held: "Noch nicht gesendet: Die Antwort wurde gestoppt oder endete, während du weg warst.",
    files: (count) => plural(count, { one: "1 Datei", other: `${count} Dateien` }),
  },

  reading: {
    progress: (done, total) => `Der Chat wird gelesen: ${done} von ${total} Token`,
    left: (time) => `noch etwa ${time}`,
  },

  models: {
    title: "Modell",
    menu: (name) => `Modell: ${name}`,
    states: { loaded: "Im Speicher", unloaded: "Wird geladen, wenn du es fragst", draining: "Wird entladen", failed: "Konnte nicht geladen werden" },
    reads: (tokens) => `muss ${tokens} dieses Chats lesen`,
    known: "hat diesen Chat gelesen",
    tooLong: "dieser Chat ist zu lang dafür",
    noAnswers: "bettet Texte ein und ordnet sie, antwortet aber nicht",
  },

  regenerate: {
    title: "Mit anderen Einstellungen neu generieren",
    note: "Diese Einstellungen gelten nur für diese Antwort. Für ein leeres Sampling-Feld gilt die Einstellung des Chats; bleibt der Systemprompt leer, hat die Antwort keinen.",
    start: "Neu generieren",
  },
};
