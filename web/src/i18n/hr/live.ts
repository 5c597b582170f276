import { pluralsOf } from "../plurals";
import type { LiveTexts, TierState } from "../en/live";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("hr");

/** States of a tier. */
export const STATES: Partial<Record<TierState, string>> = {
  off: "Isključeno.",
  full: "Puno: novi se blokovi zasad ne prihvaćaju.",
  unused: "Ne odgovara ispravno i privremeno se ne upotrebljava.",
  refusing: "Novi se blokovi više ne prihvaćaju. Čitanje i dalje radi.",
  slow: "Sporo: blokovi čekaju na zapisivanje.",
  other: "Smetnja. Pojedinosti su u zapisniku poslužitelja.",
};

/** Croatian texts for the view of live numbers. */
export const texts: PartialTexts<LiveTexts> = {
  lead: "Što radi cijeli poslužitelj, sekundu po sekundu. Grafikoni prikazuju do pet minuta.",
  oneMemory: "Memorija uređaja i memorija CPU-a ovdje su dio njegova RAM-a.",
  states: {
    connecting: "Povezivanje…",
    live: "Uživo",
    away: "Poslužitelj ne odgovara. Statistika će se sama nastaviti.",
  },
  starting: "Statistika se pojavljuje čim model bude spreman.",
  refused: "Ovo je statistika cijelog poslužitelja.",
  refusedTodo: "Prijavite se administratorskim ključem kako biste je vidjeli.",
  generated: "Generirano",
  prompts: "Promptovi",
  running: "U tijeku",
  waiting: "Na čekanju",
  batch: "Veličina skupine",
  tokensPerSecond: "tokena/s",
  requests: "Zahtjevi",
  requestsUnit: "zahtjevi",
  blocks: "blokova/s",
  perStep: "po koraku",
  computed: "Izračunato",
  secondsAgo: (seconds) => `−${seconds} s`,
  minutesAgo: (minutes) => `−${minutes} min`,
  now: "sada",
  used: (used, capacity) => `${used} od ${capacity}`,
  usedOnly: (used) => `${used}, bez ograničenja`,
  state: (said, state) => STATES[state] ?? said,
  occupancy: "Zauzetost",
  hitRate: "Udio pogodaka",
  hitRateNote: "Koliki je dio tokena promptova traženih na ovoj razini u posljednjoj minuti pronađen",
  evictions: "Istiskivanja",
  blocksPerSecond: (blocks) => `${blocks} blokova/s`,
  byPerson: "Po korisnicima",
  others: "ostali",
  shared: "zajedničko svima",
  in: "Unutra",
  out: "Van",
  traffic: (tier) => `${tier}, unutra i van`,
  connection: "Veza",
  connections: { closed: "radi", open: "ne koristi se nakon pogrešaka", "half-open": "ponovno se isprobava" },
  replicas: "Replike",
  replica: (index) => `Replika ${index}`,
  replicaStates: {
    ok: "radi",
    starting: "pokreće se",
    failed: "u kvaru",
  },
  replicaAnswers: (count) => plural(count, { one: `${count} odgovor`, few: `${count} odgovora`, other: `${count} odgovora` }),
  replicaRestarts: (count) =>
    plural(count, { one: `${count} ponovno pokretanje`, few: `${count} ponovna pokretanja`, other: `${count} ponovnih pokretanja` }),
  routes: "Raspoređeni zahtjevi",
  routesUnit: "u sekundi",
  predicted: "Prvi token, predviđeno / izmjereno",
  predictedNote: "Prosječno vrijeme od odabira replike do prvog tokena u posljednjoj minuti",
  takeovers: "Preuzeti odgovori",
  table: "Grafikoni kao tablica",
  of: (chart, series) => `${chart}: ${series}`,
  inUnit: (name, unit) => `${name} (${unit})`,
  column: {
    what: "Pokazatelj",
    now: "Sada",
    mean: "Prosjek",
    most: "Maksimum",
  },
};
