import { pluralsOf } from "../plurals";
import type { Causes, ReceiptTexts } from "../en/receipt";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("hr");

/** Reasons for which no more was reused. */
export const CAUSES: Partial<Causes> = {
  complete: "Iskorišteno je sve osim zadnjeg tokena. On se uvijek izračunava.",
  never_seen: "Koliko je poslužitelju poznato, ostatak još nikad nije izračunat.",
  template_changed: "Sistemski prompt, predložak razgovora ili tokenizator razlikuje se od prethodnog.",
  messages_left_out: "Od ove poruke prompt više ne sadrži prve poruke razgovora ili ih ponovno sadrži.",
  evicted: "Ostatak je bio izračunat, ali je istisnut iz predmemorije.",
  expired: "Ostatak je bio izračunat, ali se predugo nije upotrebljavao i istekao je.",
  computed_otherwise: "Ostatak je bio izračunat, ali drugom verzijom Ebba, drugim modelom ili drugim načinom računanja.",
  rejected: "Ostatak je bio izračunat, ali su njegovi podaci oštećeni, pripadaju drugom modelu ili nisu zapisani ključem ovog poslužitelja.",
  breaker_open: "Ostatak je bio izračunat, ali jedna razina predmemorije ne odgovara i privremeno se preskače.",
  not_worth_loading: "Ostatak je bio izračunat, ali će ga ponovno izračunati vjerojatno biti brže.",
  not_brought: "Ostatak je bio izračunat, ali ga nije bilo moguće učitati: u memoriji CPU-a nije bilo mjesta ili kopiranje na uređaj nije uspjelo.",
  partial_block: "Ostatak je bio izračunat, ali ne ispunjava cijeli blok. Sigurno se čuvaju samo cijeli blokovi.",
  off: "Poslužitelj radi s --no-prefix-cache i ništa ne iskorištava ponovno.",
};

/** Croatian texts for the details of a receipt. */
export const texts: PartialTexts<ReceiptTexts> = {
  computed: (tokens) => `izračunato: ${tokens}`,
  first: (tokens, total, from) => `${tokens} od ${total} tokena iz ${from}`,
  other: (tokens, from) => `${tokens} iz ${from}`,
  firstToken: (time) => `prvi token nakon ${time}`,
  insteadOf: (time) => ` umjesto otprilike ${time}`,
  speed: (tokens) => `${tokens} tokena/s`,
  prompt: "Prompt",
  recomputed: "Izračunato",
  typed: (from) => `Učitano iz ${from} tijekom tipkanja`,
  phases: {
    queue: "Na čekanju",
    lookup: "Traženje u predmemoriji",
    load: "Učitavanje blokova",
    prefill: "Izračun",
  },
  timeToFirstToken: "Vrijeme do prvog tokena",
  answer: "Odgovor",
  form: "Traženi oblik",
  forms: { valid: "poštovan", invalid: "nije poštovan", unchecked: "nije provjeren" },
  rate: "Brzina",
  total: "Ukupno",
  cost: "Trošak",
  why: "Zašto nije iskorišteno više?",
  looking: "Učitavanje objašnjenja…",
  failed: "Objašnjenje nije bilo moguće učitati.",
  reusedAll: (until) => `Iskorišteni su svi tokeni iz predmemorije (${until}), ostatak je nov.`,
  reused: (until, reusable) => `Iskorišteno je ${until} od ${reusable} tokena iz predmemorije.`,
  cause: (said, cause) => CAUSES[cause] ?? said,
  advanced: "Napredno",
  leftOut: "Izostavljene poruke",
  diverges: (at) => `Od tokena ${at} ovaj se prompt razlikuje:`,
  goesOn: (at) => `Sve do tokena ${at} bilo je u predmemoriji. Zatim je slijedilo:`,
  here: "ovdje",
  before: "prije",
  end: "(kraj)",
  verified: (count, text) =>
    plural(count, {
      one: `Provjeren je ${text} blok s niže razine.`,
      few: `Provjerena su ${text} bloka s nižih razina.`,
      other: `Provjereno je ${text} blokova s nižih razina.`,
    }),
  removedLines: (names) => `Izostavljeno da bi sistemski prompt ostao isti: ${names}`,
  movedLines: (names) => `Premješteno u prvu poruku da bi sistemski prompt ostao isti: ${names}`,

  promptLines: {
    "claude-code-billing-header": "zaglavlje za naplatu iz Claude Codea",
    "claude-code-git-status": "stanje Gita iz Claude Codea",
    "todays-date": "današnji datum",
    "current-date": "trenutačni datum",
    "current-date-and-time": "trenutačni datum i vrijeme",
    "goose-date": "datum iz goose",
    "kimi-cli-date": "datum iz Kimi CLI-ja",
    "home-assistant-clock": "sat iz Home Assistanta",
    "session-id": "ID sesije",
    "removed-lines": "retci iz postavke removed-lines",
    "moved-lines": "retci iz postavke moved-lines",
  },
};
