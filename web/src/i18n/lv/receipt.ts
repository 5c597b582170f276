import { pluralsOf } from "../plurals";
import type { Causes, ReceiptTexts } from "../en/receipt";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("lv");

/** Reasons for which no more was reused. */
export const CAUSES: Partial<Causes> = {
  complete: "Atkārtoti izmantots viss, izņemot pēdējo tokenu: tas vienmēr tiek aprēķināts.",
  never_seen: "Cik serverim zināms, turpinājums vēl nav aprēķināts.",
  template_changed: "Sistēmas uzvedne, tērzēšanas veidne vai tokenizators atšķiras no iepriekšējā.",
  messages_left_out: "No šīs ziņas uzvednē vairs nav tērzēšanas pirmo ziņu, vai arī tās tur atkal ir.",
  evicted: "Turpinājums bija aprēķināts, bet ir izspiests no kešatmiņas.",
  expired: "Turpinājums bija aprēķināts, bet ilgi netika lietots, un tā termiņš ir beidzies.",
  computed_otherwise: "Turpinājums bija aprēķināts, bet ar citu Ebb versiju, citu modeli vai citu aprēķina veidu.",
  rejected: "Turpinājums bija aprēķināts, bet tā dati ir bojāti, pieder citam modelim vai nav rakstīti ar šī servera atslēgu.",
  breaker_open: "Turpinājums bija aprēķināts, bet viens no kešatmiņas līmeņiem neatbild un pagaidām netiek izmantots.",
  not_worth_loading: "Turpinājums bija aprēķināts, bet, visticamāk, ātrāk ir to aprēķināt no jauna.",
  not_brought: "Turpinājums bija aprēķināts, bet to nevarēja ielādēt: CPU atmiņā nebija vietas vai neizdevās kopēšana uz ierīci.",
  partial_block: "Turpinājums bija aprēķināts, bet neaizpilda veselu bloku. Droši tiek glabāti tikai veseli bloki.",
  off: "Serveris darbojas ar --no-prefix-cache un neko neizmanto atkārtoti.",
};

/** Latvian texts for the details of a receipt. */
export const texts: PartialTexts<ReceiptTexts> = {
  computed: (tokens) => `aprēķināts: ${tokens}`,
  first: (tokens, total, from) => `${tokens} no ${total} tokeniem no ${from}`,
  other: (tokens, from) => `${tokens} no ${from}`,
  firstToken: (time) => `pirmais tokens pēc ${time}`,
  insteadOf: (time) => `, nevis aptuveni ${time}`,
  speed: (tokens) => `${tokens} tokeni/s`,
  prompt: "Uzvedne",
  recomputed: "Aprēķināts",
  typed: (from) => `Atjaunots no ${from}, kamēr rakstījāt`,
  phases: {
    queue: "Rindā",
    lookup: "Meklēšana kešatmiņā",
    load: "Bloku ielāde",
    prefill: "Aprēķināšana",
  },
  timeToFirstToken: "Laiks līdz pirmajam tokenam",
  answer: "Atbilde",
  form: "Prasītais formāts",
  forms: { valid: "ievērots", invalid: "nav ievērots", unchecked: "nav pārbaudīts" },
  rate: "Ātrums",
  total: "Kopā",
  cost: "Izmaksas",
  why: "Kāpēc netika izmantots vairāk?",
  looking: "Paskaidrojums tiek ielādēts…",
  failed: "Paskaidrojumu neizdevās ielādēt.",
  reusedAll: (until) => `Visi kešatmiņas tokeni (${until}) ir izmantoti atkārtoti; pārējais ir jauns.`,
  reused: (until, reusable) => `Atkārtoti izmantoti ${until} no ${reusable} kešatmiņas tokeniem.`,
  cause: (said, cause) => CAUSES[cause] ?? said,
  advanced: "Papildus",
  leftOut: "Izlaistās ziņas",
  diverges: (at) => `No ${at}. tokena šī uzvedne atšķiras:`,
  goesOn: (at) => `Viss līdz ${at}. tokenam bija kešatmiņā. Pēc tam seko:`,
  here: "šeit",
  before: "iepriekš",
  end: "(beigas)",
  verified: (count, text) =>
    plural(count, {
      zero: `Pārbaudīti ${text} bloki no zemākiem līmeņiem.`,
      one: `Pārbaudīts ${text} bloks no zemāka līmeņa.`,
      other: `Pārbaudīti ${text} bloki no zemākiem līmeņiem.`,
    }),
  removedLines: (names) => `Izlaists, lai sistēmas uzvedne nemainītos: ${names}`,
  movedLines: (names) => `Pārvietots uz pirmo ziņu, lai sistēmas uzvedne nemainītos: ${names}`,

  promptLines: {
    "claude-code-billing-header": "Claude Code norēķinu galvene",
    "claude-code-git-status": "Claude Code Git statuss",
    "todays-date": "šodienas datums",
    "current-date": "pašreizējais datums",
    "current-date-and-time": "pašreizējais datums un laiks",
    "goose-date": "goose datums",
    "kimi-cli-date": "Kimi CLI datums",
    "home-assistant-clock": "Home Assistant pulkstenis",
    "session-id": "sesijas ID",
    "removed-lines": "iestatījuma removed-lines rindas",
    "moved-lines": "iestatījuma moved-lines rindas",
  },
};
