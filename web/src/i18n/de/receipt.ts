import { pluralsOf } from "../plurals";
import type { Causes, ReceiptTexts } from "../en/receipt";

const plural = pluralsOf("de");

/** Reasons for which no more was reused. */
export const CAUSES: Causes = {
  complete: "Alles außer dem letzten Token wurde wiederverwendet. Das letzte wird immer berechnet.",
  never_seen: "Soweit der Server weiß, wurde der Rest noch nie berechnet.",
  template_changed: "Systemprompt, Chat-Vorlage oder Tokenizer sind anders als beim vorigen Mal.",
  messages_left_out: "Seit dieser Nachricht enthält der Prompt die ersten Nachrichten des Chats nicht mehr, oder wieder.",
  evicted: "Der Rest war berechnet, wurde aber verdrängt.",
  expired: "Der Rest war berechnet, wurde aber zu lange nicht benutzt und ist abgelaufen.",
  computed_otherwise: "Der Rest war berechnet, aber mit einer anderen Version von Ebb, einem anderen Modell oder auf andere Weise.",
  rejected: "Der Rest war berechnet, aber seine Daten sind beschädigt, gehören zu einem anderen Modell oder sind nicht mit dem Schlüssel dieses Servers geschrieben.",
  breaker_open: "Der Rest war berechnet, aber eine Ebene des Caches antwortet nicht und wird vorübergehend übergangen.",
  not_worth_loading: "Der Rest war berechnet, aber ihn neu zu berechnen geht voraussichtlich schneller.",
  not_brought: "Der Rest war berechnet, konnte aber nicht geladen werden: Im CPU-Speicher war kein Platz, oder das Kopieren auf das Gerät ist fehlgeschlagen.",
  partial_block: "Der Rest war berechnet, füllt aber keinen ganzen Block. Nur ganze Blöcke bleiben sicher erhalten.",
  off: "Der Server läuft mit --no-prefix-cache und verwendet nichts wieder.",
};

/** German texts for the details of a receipt. */
export const texts: ReceiptTexts = {
  computed: (tokens) => `${tokens} berechnet`,
  first: (tokens, total, from) => `${tokens} von ${total} Token aus ${from}`,
  other: (tokens, from) => `${tokens} aus ${from}`,
  firstToken: (time) => `erstes Token nach ${time}`,
  insteadOf: (time) => ` statt etwa ${time}`,
  speed: (tokens) => `${tokens} Token/s`,
  prompt: "Prompt",
  recomputed: "Berechnet",
  typed: (from) => `Beim Tippen aus ${from} geladen`,
  phases: {
    queue: "Wartezeit",
    lookup: "Suche im Cache",
    load: "Blöcke geladen",
    prefill: "Berechnet",
  },
  timeToFirstToken: "Zeit bis zum ersten Token",
  answer: "Antwort",
  form: "Verlangte Form",
  forms: { valid: "eingehalten", invalid: "nicht eingehalten", unchecked: "nicht geprüft" },
  rate: "Geschwindigkeit",
  total: "Gesamt",
  cost: "Kosten",
  why: "Warum wurde nicht mehr wiederverwendet?",
  looking: "Erklärung wird geladen…",
  failed: "Die Erklärung konnte nicht geladen werden.",
  reusedAll: (until) => `Alle ${until} Token aus dem Cache wurden wiederverwendet, der Rest ist neu.`,
  reused: (until, reusable) => `${until} von ${reusable} Token aus dem Cache wurden wiederverwendet.`,
  cause: (_said, cause) => CAUSES[cause] ?? "Den Grund nennt das Protokoll des Servers.",
  advanced: "Erweitert",
  leftOut: "Ausgelassene Nachrichten",
  diverges: (at) => `Ab Token ${at} weicht dieser Prompt ab:`,
  goesOn: (at) => `Alles bis Token ${at} war im Cache. Danach kam:`,
  here: "hier",
  before: "vorher",
  end: "(Ende)",
  verified: (count, text) => plural(count, { one: "Ein Block aus einer tieferen Ebene wurde geprüft.", other: `${text} Blöcke aus tieferen Ebenen wurden geprüft.` }),
  removedLines: (names) => `Ausgelassen, damit der Systemprompt gleich bleibt: ${names}`,
  movedLines: (names) => `In die erste Nachricht verschoben, damit der Systemprompt gleich bleibt: ${names}`,

  promptLines: {
    "claude-code-billing-header": "die Abrechnungszeile von Claude Code",
    "claude-code-git-status": "der Git-Status von Claude Code",
    "todays-date": "das heutige Datum",
    "current-date": "das aktuelle Datum",
    "current-date-and-time": "Datum und Uhrzeit",
    "goose-date": "das Datum von goose",
    "kimi-cli-date": "das Datum von Kimi CLI",
    "home-assistant-clock": "die Uhr von Home Assistant",
    "session-id": "die Sitzungs-ID",
    "removed-lines": "Zeilen der Einstellung removed-lines",
    "moved-lines": "Zeilen der Einstellung moved-lines",
  },
};
