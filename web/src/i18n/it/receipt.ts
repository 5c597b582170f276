import { pluralsOf } from "../plurals";
import type { Causes, ReceiptTexts } from "../en/receipt";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("it");

/** Reasons for which no more was reused. */
export const CAUSES: Partial<Causes> = {
  complete: "Tutto è stato riutilizzato tranne l’ultimo token, che viene sempre calcolato.",
  never_seen: "Per quanto ne sa il server, il resto non era mai stato calcolato.",
  template_changed: "Il prompt di sistema, il template di chat o il tokenizzatore è diverso da quello della volta precedente.",
  messages_left_out: "Da questo messaggio in poi, il prompt non contiene più i primi messaggi della chat, o li contiene di nuovo.",
  evicted: "Il resto era stato calcolato, ma è stato rimosso dalla cache.",
  expired: "Il resto era stato calcolato, ma è rimasto inutilizzato troppo a lungo ed è scaduto.",
  computed_otherwise: "Il resto era stato calcolato, ma con un’altra versione di Ebb, un altro modello o un altro metodo di calcolo.",
  rejected: "Il resto era stato calcolato, ma i suoi dati sono danneggiati, appartengono a un altro modello o non sono stati scritti con la chiave di questo server.",
  breaker_open: "Il resto era stato calcolato, ma un livello della cache non risponde e al momento non viene usato.",
  not_worth_loading: "Il resto era stato calcolato, ma ricalcolarlo dovrebbe essere più rapido.",
  not_brought: "Il resto era stato calcolato, ma non è stato possibile caricarlo: non c’era spazio nella memoria della CPU o la copia sul dispositivo non è riuscita.",
  partial_block: "Il resto era stato calcolato, ma non riempie un blocco intero. Solo i blocchi interi vengono conservati con certezza.",
  off: "Il server è in esecuzione con --no-prefix-cache e non riutilizza nulla.",
};

/** Italian texts for the details of a receipt. */
export const texts: PartialTexts<ReceiptTexts> = {
  computed: (tokens) => `${tokens} calcolati`,
  first: (tokens, total, from) => `${tokens} token su ${total} (${from})`,
  other: (tokens, from) => `${tokens} (${from})`,
  firstToken: (time) => `primo token in ${time}`,
  insteadOf: (time) => ` invece di circa ${time}`,
  speed: (tokens) => `${tokens} token/s`,
  prompt: "Prompt",
  recomputed: "Calcolati",
  typed: (from) => `Ripristinati mentre scrivevi (${from})`,
  phases: {
    queue: "In coda",
    lookup: "Ricerca nella cache",
    load: "Caricamento dei blocchi",
    prefill: "Calcolo",
  },
  timeToFirstToken: "Tempo al primo token",
  answer: "Risposta",
  form: "Formato richiesto",
  forms: { valid: "rispettato", invalid: "non rispettato", unchecked: "non verificato" },
  rate: "Velocità",
  total: "Totale",
  cost: "Costo",
  why: "Perché non è stato riutilizzato di più?",
  looking: "Caricamento della spiegazione…",
  failed: "Non è stato possibile caricare la spiegazione.",
  reusedAll: (until) => `Tutti i ${until} token in cache sono stati riutilizzati; il resto è nuovo.`,
  reused: (until, reusable) => `Sono stati riutilizzati ${until} token in cache su ${reusable}.`,
  cause: (said, cause) => CAUSES[cause] ?? said,
  advanced: "Avanzate",
  leftOut: "Messaggi esclusi",
  diverges: (at) => `Dal token ${at} questo prompt è diverso:`,
  goesOn: (at) => `Tutto era in cache fino al token ${at}. Poi seguiva:`,
  here: "qui",
  before: "prima",
  end: "(fine)",
  verified: (count, text) => plural(count, { one: `È stato verificato ${text} blocco di un livello inferiore.`, other: `Sono stati verificati ${text} blocchi di livelli inferiori.` }),
  removedLines: (names) => `Escluso per mantenere stabile il prompt di sistema: ${names}`,
  movedLines: (names) => `Spostato nel primo messaggio per mantenere stabile il prompt di sistema: ${names}`,

  promptLines: {
    "claude-code-billing-header": "l’intestazione di fatturazione di Claude Code",
    "claude-code-git-status": "lo stato di Git di Claude Code",
    "todays-date": "la data di oggi",
    "current-date": "la data attuale",
    "current-date-and-time": "la data e l’ora",
    "goose-date": "la data di goose",
    "kimi-cli-date": "la data di Kimi CLI",
    "home-assistant-clock": "l’orologio di Home Assistant",
    "session-id": "l’ID della sessione",
    "removed-lines": "le righe dell’impostazione removed-lines",
    "moved-lines": "le righe dell’impostazione moved-lines",
  },
};
