import { pluralsOf } from "../plurals";
import type { Causes, ReceiptTexts } from "../en/receipt";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("lt");

/** Reasons for which no more was reused. */
export const CAUSES: Partial<Causes> = {
  complete: "Panaudota viskas, išskyrus paskutinį žetoną. Jis visada skaičiuojamas.",
  never_seen: "Kiek serveriui žinoma, likusi dalis dar niekada nebuvo skaičiuota.",
  template_changed: "Sistemos raginimas, pokalbio šablonas arba žetonų skaidytuvas skiriasi nuo ankstesnio.",
  messages_left_out: "Nuo šios žinutės raginime nebėra pirmųjų pokalbio žinučių arba jos vėl yra.",
  evicted: "Likusi dalis buvo apskaičiuota, bet išstumta iš podėlio.",
  expired: "Likusi dalis buvo apskaičiuota, bet per ilgai nenaudota ir nustojo galioti.",
  computed_otherwise: "Likusi dalis buvo apskaičiuota, bet kita „Ebb“ versija, kitu modeliu arba kitu skaičiavimo būdu.",
  rejected: "Likusi dalis buvo apskaičiuota, bet jos duomenys sugadinti, priklauso kitam modeliui arba įrašyti ne su šio serverio raktu.",
  breaker_open: "Likusi dalis buvo apskaičiuota, bet vienas iš podėlio lygių neatsako ir laikinai praleidžiamas.",
  not_worth_loading: "Likusi dalis buvo apskaičiuota, bet apskaičiuoti ją iš naujo tikriausiai bus greičiau.",
  not_brought: "Likusi dalis buvo apskaičiuota, bet jos įkelti nepavyko: CPU atmintyje nebuvo vietos arba nepavyko nukopijuoti į įrenginį.",
  partial_block: "Likusi dalis buvo apskaičiuota, bet neužpildo viso bloko. Užtikrintai saugomi tik pilni blokai.",
  off: "Serveris veikia su --no-prefix-cache ir nieko pakartotinai nenaudoja.",
};

/** Lithuanian texts for the details of a receipt. */
export const texts: PartialTexts<ReceiptTexts> = {
  computed: (tokens) => `apskaičiuota: ${tokens}`,
  first: (tokens, total, from) => `${tokens} iš ${total} žetonų – iš ${from}`,
  other: (tokens, from) => `${tokens} iš ${from}`,
  firstToken: (time) => `pirmasis žetonas po ${time}`,
  insteadOf: (time) => ` vietoj maždaug ${time}`,
  speed: (tokens) => `${tokens} žetonų/s`,
  prompt: "Raginimas",
  recomputed: "Apskaičiuota",
  typed: (from) => `Įkelta iš ${from}, kol rašėte`,
  phases: {
    queue: "Eilėje",
    lookup: "Paieška podėlyje",
    load: "Blokų įkėlimas",
    prefill: "Skaičiavimas",
  },
  timeToFirstToken: "Laikas iki pirmojo žetono",
  answer: "Atsakymas",
  form: "Reikalaujamas formatas",
  forms: { valid: "atitinka", invalid: "neatitinka", unchecked: "nepatikrinta" },
  rate: "Greitis",
  total: "Iš viso",
  cost: "Kaina",
  why: "Kodėl nepanaudota daugiau?",
  looking: "Įkeliamas paaiškinimas…",
  failed: "Paaiškinimo įkelti nepavyko.",
  reusedAll: (until) => `Panaudoti visi podėlio žetonai (${until}), likusi dalis nauja.`,
  reused: (until, reusable) => `Panaudota ${until} iš ${reusable} podėlio žetonų.`,
  cause: (said, cause) => CAUSES[cause] ?? said,
  advanced: "Išsamiau",
  leftOut: "Praleistos žinutės",
  diverges: (at) => `Nuo žetono ${at} šis raginimas skiriasi:`,
  goesOn: (at) => `Viskas iki žetono ${at} buvo podėlyje. Toliau buvo:`,
  here: "čia",
  before: "anksčiau",
  end: "(pabaiga)",
  verified: (count, text) =>
    plural(count, {
      one: `Patikrintas ${text} blokas iš žemesnio lygio.`,
      few: `Patikrinti ${text} blokai iš žemesnių lygių.`,
      other: `Patikrinta ${text} blokų iš žemesnių lygių.`,
    }),
  removedLines: (names) => `Praleista, kad sistemos raginimas nesikeistų: ${names}`,
  movedLines: (names) => `Perkelta į pirmąją žinutę, kad sistemos raginimas nesikeistų: ${names}`,

  promptLines: {
    "claude-code-billing-header": "„Claude Code“ apmokėjimo antraštė",
    "claude-code-git-status": "„Claude Code“ Git būsena",
    "todays-date": "šiandienos data",
    "current-date": "dabartinė data",
    "current-date-and-time": "dabartinė data ir laikas",
    "goose-date": "„goose“ data",
    "kimi-cli-date": "„Kimi CLI“ data",
    "home-assistant-clock": "„Home Assistant“ laikrodis",
    "session-id": "seanso ID",
    "removed-lines": "nustatymo removed-lines eilutės",
    "moved-lines": "nustatymo moved-lines eilutės",
  },
};
