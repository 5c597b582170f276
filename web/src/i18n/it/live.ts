import { pluralsOf } from "../plurals";
import type { LiveTexts, TierState } from "../en/live";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("it");

/** States of a tier. */
export const STATES: Partial<Record<TierState, string>> = {
  off: "Disattivato.",
  full: "Pieno: al momento non accetta altri blocchi.",
  unused: "Non risponde correttamente e al momento non viene usato.",
  refusing: "Rifiuta le scritture. I suoi blocchi si possono ancora leggere.",
  slow: "Lento: alcuni blocchi attendono di essere scritti.",
  other: "In errore. Il log del server contiene i dettagli.",
};

/** Italian texts for the view of live numbers. */
export const texts: PartialTexts<LiveTexts> = {
  lead: "Che cosa fa l’intero server, secondo per secondo. I grafici mostrano fino a cinque minuti.",
  oneMemory: "Qui la memoria del dispositivo e la memoria della CPU fanno entrambe parte della sua RAM.",
  states: {
    connecting: "Connessione…",
    live: "In tempo reale",
    away: "Il server non risponde. Le metriche riprenderanno automaticamente.",
  },
  starting: "Le metriche compaiono non appena il modello è pronto.",
  refused: "Queste sono le metriche dell’intero server.",
  refusedTodo: "Accedi con una chiave di amministratore per vederle.",
  generated: "Generati",
  prompts: "Prompt",
  running: "In corso",
  waiting: "In attesa",
  batch: "Dimensione del batch",
  tokensPerSecond: "token/s",
  requests: "Richieste",
  requestsUnit: "richieste",
  blocks: "blocchi/s",
  perStep: "per passo",
  computed: "Calcolati",
  secondsAgo: (seconds) => `−${seconds} s`,
  minutesAgo: (minutes) => `−${minutes} min`,
  now: "ora",
  used: (used, capacity) => `${used} su ${capacity}`,
  usedOnly: (used) => `${used}, senza limite`,
  state: (said, state) => STATES[state] ?? said,
  occupancy: "Occupazione",
  hitRate: "Percentuale di successo",
  hitRateNote: "Dei token di prompt cercati in questo livello nell’ultimo minuto, la parte trovata",
  evictions: "Rimozioni",
  blocksPerSecond: (blocks) => `${blocks} blocchi/s`,
  byPerson: "Per persona",
  others: "altri",
  shared: "condiviso da tutti",
  in: "Entrata",
  out: "Uscita",
  traffic: (tier) => `${tier}, entrata e uscita`,
  connection: "Connessione",
  connections: { closed: "funziona", open: "non usata dopo errori", "half-open": "nuovo tentativo in corso" },
  replicas: "Repliche",
  replica: (index) => `Replica ${index}`,
  replicaStates: {
    ok: "in servizio",
    starting: "in avvio",
    failed: "in errore",
  },
  replicaAnswers: (count) => plural(count, { one: `${count} risposta`, other: `${count} risposte` }),
  replicaRestarts: (count) => plural(count, { one: `${count} riavvio`, other: `${count} riavvii` }),
  routes: "Richieste distribuite",
  routesUnit: "al secondo",
  predicted: "Primo token, previsto / osservato",
  predictedNote: "Tempo medio dalla scelta della replica al primo token nell’ultimo minuto",
  takeovers: "Risposte prese in carico",
  table: "I grafici in forma di tabella",
  of: (chart, series) => `${chart}: ${series}`,
  inUnit: (name, unit) => `${name} (${unit})`,
  column: {
    what: "Misura",
    now: "Ora",
    mean: "Media",
    most: "Massimo",
  },
};
