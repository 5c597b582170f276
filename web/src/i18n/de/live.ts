import { pluralsOf } from "../plurals";
import type { LiveTexts, TierState } from "../en/live";

const plural = pluralsOf("de");

/** States of a tier. */
const STATES: Record<TierState, string> = {
  off: "Aus.",
  full: "Voll: nimmt zurzeit keine weiteren Blöcke an.",
  unused: "Antwortet nicht richtig und wird vorübergehend nicht benutzt.",
  refusing: "Nimmt keine Blöcke mehr an. Gelesen wird weiterhin.",
  slow: "Langsam: Blöcke warten darauf, geschrieben zu werden.",
  other: "Gestört. Näheres steht im Protokoll des Servers.",
};

/** German texts for the view of live numbers. */
export const texts: LiveTexts = {
  lead: "Was der ganze Server tut, Sekunde für Sekunde. Die Diagramme zeigen bis zu fünf Minuten.",
  states: {
    connecting: "Verbinde…",
    live: "Live",
    away: "Der Server antwortet nicht. Die Zahlen laufen von selbst weiter, sobald er zurück ist.",
  },
  starting: "Die Zahlen erscheinen, sobald das Modell bereit ist.",
  refused: "Das sind die Zahlen des ganzen Servers.",
  refusedTodo: "Melde dich mit einem Administratorschlüssel an, um sie zu sehen.",
  generated: "Generiert",
  prompts: "Prompts",
  running: "Laufend",
  waiting: "Wartend",
  batch: "Batchgröße",
  tokensPerSecond: "Token/s",
  requests: "Anfragen",
  requestsUnit: "Anfragen",
  blocks: "Blöcke/s",
  perStep: "pro Schritt",
  computed: "Berechnet",
  secondsAgo: (seconds) => `−${seconds} s`,
  minutesAgo: (minutes) => `−${minutes} min`,
  now: "jetzt",
  used: (used, capacity) => `${used} von ${capacity}`,
  usedOnly: (used) => `${used}, ohne Limit`,
  state: (_said, state) => STATES[state],
  occupancy: "Belegung",
  hitRate: "Trefferrate",
  hitRateNote: "Anteil der Prompt-Token, die in der letzten Minute in dieser Ebene gesucht und gefunden wurden",
  evictions: "Verdrängungen",
  blocksPerSecond: (blocks) => `${blocks} Blöcke/s`,
  byTenant: "Nach Mandant",
  others: "andere",
  shared: "von allen geteilt",
  in: "Hinein",
  out: "Heraus",
  traffic: (tier) => `${tier}, hinein und heraus`,
  breaker: "Schutzschalter",
  breakers: {
    closed: "geschlossen",
    open: "offen: nicht benutzt",
    "half-open": "halb offen: Probe läuft",
  },
  replicas: "Replikate",
  replica: (index) => `Replikat ${index}`,
  replicaStates: {
    ok: "bedient Anfragen",
    starting: "startet",
    failed: "ausgefallen",
  },
  replicaAnswers: (count) => plural(count, { one: "1 Antwort", other: `${count} Antworten` }),
  replicaRestarts: (count) => plural(count, { one: "1 Neustart", other: `${count} Neustarts` }),
  routes: "Verteilte Anfragen",
  routesUnit: "pro Sekunde",
  predicted: "Erstes Token, geschätzt / gemessen",
  predictedNote: "Mittlere Zeit von der Wahl des Replikats bis zum ersten Token in der letzten Minute",
  takeovers: "Übernommene Antworten",
  table: "Die Diagramme als Tabelle",
  of: (chart, series) => `${chart}: ${series}`,
  inUnit: (name, unit) => `${name} (${unit})`,
  column: {
    what: "Kennzahl",
    now: "Jetzt",
    mean: "Mittel",
    most: "Maximum",
  },
};
