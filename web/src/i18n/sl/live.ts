import { pluralsOf } from "../plurals";
import type { LiveTexts, TierState } from "../en/live";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("sl");

/** States of a tier. */
export const STATES: Partial<Record<TierState, string>> = {
  off: "Izklopljeno.",
  full: "Polno: novi bloki se trenutno ne sprejemajo.",
  unused: "Se ne odziva pravilno in začasno ni v uporabi.",
  refusing: "Novi bloki se ne sprejemajo več. Branje še deluje.",
  slow: "Počasno: bloki čakajo na zapis.",
  other: "Motnja. Podrobnosti so v dnevniku strežnika.",
};

/** Slovenian texts for the view of live numbers. */
export const texts: PartialTexts<LiveTexts> = {
  lead: "Kaj počne celoten strežnik, sekundo za sekundo. Grafi prikazujejo do pet minut.",
  oneMemory: "Pomnilnik naprave in pomnilnik CPU sta tu oba del njegovega RAM-a.",
  states: {
    connecting: "Povezovanje…",
    live: "V živo",
    away: "Strežnik se ne odziva. Statistika se bo sama nadaljevala.",
  },
  starting: "Statistika se prikaže takoj, ko bo model pripravljen.",
  refused: "To je statistika celotnega strežnika.",
  refusedTodo: "Za ogled se prijavite s skrbniškim ključem.",
  generated: "Ustvarjeno",
  prompts: "Pozivi",
  running: "V teku",
  waiting: "Čaka",
  batch: "Velikost paketa",
  tokensPerSecond: "žetonov/s",
  requests: "Zahteve",
  requestsUnit: "zahteve",
  blocks: "blokov/s",
  perStep: "na korak",
  computed: "Izračunano",
  secondsAgo: (seconds) => `−${seconds} s`,
  minutesAgo: (minutes) => `−${minutes} min`,
  now: "zdaj",
  used: (used, capacity) => `${used} od ${capacity}`,
  usedOnly: (used) => `${used}, brez omejitve`,
  state: (said, state) => STATES[state] ?? said,
  occupancy: "Zasedenost",
  hitRate: "Delež zadetkov",
  hitRateNote: "Kolikšen del žetonov pozivov, iskanih na tej ravni v zadnji minuti, je bil najden",
  evictions: "Izrinjanja",
  blocksPerSecond: (blocks) => `${blocks} blokov/s`,
  byPerson: "Po uporabnikih",
  others: "drugi",
  shared: "skupno vsem",
  in: "Noter",
  out: "Ven",
  traffic: (tier) => `${tier}, noter in ven`,
  connection: "Povezava",
  connections: { closed: "deluje", open: "se po napakah ne uporablja", "half-open": "znova se preizkuša" },
  replicas: "Replike",
  replica: (index) => `Replika ${index}`,
  replicaStates: {
    ok: "deluje",
    starting: "se zaganja",
    failed: "odpovedala",
  },
  replicaAnswers: (count) => plural(count, { one: `${count} odgovor`, two: `${count} odgovora`, few: `${count} odgovori`, other: `${count} odgovorov` }),
  replicaRestarts: (count) =>
    plural(count, { one: `${count} vnovični zagon`, two: `${count} vnovična zagona`, few: `${count} vnovični zagoni`, other: `${count} vnovičnih zagonov` }),
  routes: "Razporejene zahteve",
  routesUnit: "na sekundo",
  predicted: "Prvi žeton, napovedano / izmerjeno",
  predictedNote: "Povprečni čas od izbire replike do prvega žetona v zadnji minuti",
  takeovers: "Prevzeti odgovori",
  table: "Grafi kot tabela",
  of: (chart, series) => `${chart}: ${series}`,
  inUnit: (name, unit) => `${name} (${unit})`,
  column: {
    what: "Kazalnik",
    now: "Zdaj",
    mean: "Povprečje",
    most: "Največ",
  },
};
