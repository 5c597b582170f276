import { pluralsOf } from "../plurals";
import type { Causes, ReceiptTexts } from "../en/receipt";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("ro");

/** Reasons for which no more was reused. */
export const CAUSES: Partial<Causes> = {
  complete: "Totul a fost reutilizat, în afară de ultimul token, care se calculează întotdeauna.",
  never_seen: "Din câte știe serverul, restul nu a mai fost calculat.",
  template_changed: "Promptul de sistem, șablonul de chat sau tokenizatorul diferă față de ultima dată.",
  messages_left_out: "De la acest mesaj, promptul nu mai conține primele mesaje ale chatului sau le conține din nou.",
  evicted: "Restul era calculat, dar a fost evacuat din cache.",
  expired: "Restul era calculat, dar nu a fost folosit prea mult timp și a expirat.",
  computed_otherwise: "Restul era calculat, dar cu altă versiune de Ebb, alt model sau alt mod de calcul.",
  rejected: "Restul era calculat, dar datele sunt deteriorate, aparțin altui model sau nu au fost scrise cu cheia acestui server.",
  breaker_open: "Restul era calculat, dar un nivel al cache-ului nu răspunde și momentan nu este folosit.",
  not_worth_loading: "Restul era calculat, dar recalcularea ar trebui să fie mai rapidă.",
  not_brought: "Restul era calculat, dar nu a putut fi încărcat: nu era loc în memoria CPU sau copierea pe dispozitiv a eșuat.",
  partial_block: "Restul era calculat, dar nu umple un bloc întreg. Doar blocurile întregi se păstrează sigur.",
  off: "Serverul rulează cu --no-prefix-cache și nu reutilizează nimic.",
};

/** Romanian texts for the details of a receipt. */
export const texts: PartialTexts<ReceiptTexts> = {
  computed: (tokens) => `calculat: ${tokens}`,
  first: (tokens, total, from) => `tokenuri: ${tokens} din ${total}, din ${from}`,
  other: (tokens, from) => `${tokens} din ${from}`,
  firstToken: (time) => `primul token în ${time}`,
  insteadOf: (time) => ` în loc de aproximativ ${time}`,
  speed: (tokens) => `${tokens} tokenuri/s`,
  prompt: "Prompt",
  recomputed: "Calculate",
  typed: (from) => `Restaurate din ${from} în timp ce scriai`,
  phases: {
    queue: "În coadă",
    lookup: "Căutare în cache",
    load: "Încărcarea blocurilor",
    prefill: "Calcul",
  },
  timeToFirstToken: "Timp până la primul token",
  answer: "Răspuns",
  form: "Format cerut",
  forms: { valid: "respectat", invalid: "nerespectat", unchecked: "neverificat" },
  rate: "Viteză",
  total: "Total",
  cost: "Cost",
  why: "De ce nu s-a reutilizat mai mult?",
  looking: "Se încarcă explicația…",
  failed: "Explicația nu a putut fi încărcată.",
  reusedAll: (until) => `Toate tokenurile din cache (${until}) au fost reutilizate; restul este nou.`,
  reused: (until, reusable) => `Tokenuri reutilizate din cache: ${until} din ${reusable}.`,
  cause: (said, cause) => CAUSES[cause] ?? said,
  advanced: "Avansat",
  leftOut: "Mesaje omise",
  diverges: (at) => `De la tokenul ${at}, acest prompt diferă:`,
  goesOn: (at) => `Totul până la tokenul ${at} era în cache. Apoi a urmat:`,
  here: "aici",
  before: "înainte",
  end: "(sfârșit)",
  verified: (count, text) =>
    plural(count, {
      one: "Un bloc dintr-un nivel inferior a fost verificat.",
      few: `${text} blocuri din niveluri inferioare au fost verificate.`,
      other: `${text} de blocuri din niveluri inferioare au fost verificate.`,
    }),
  removedLines: (names) => `Omis, pentru ca promptul de sistem să rămână stabil: ${names}`,
  movedLines: (names) => `Mutat în primul mesaj, pentru ca promptul de sistem să rămână stabil: ${names}`,

  promptLines: {
    "claude-code-billing-header": "antetul de facturare Claude Code",
    "claude-code-git-status": "starea Git din Claude Code",
    "todays-date": "data de astăzi",
    "current-date": "data curentă",
    "current-date-and-time": "data și ora curente",
    "goose-date": "data din goose",
    "kimi-cli-date": "data din Kimi CLI",
    "home-assistant-clock": "ceasul Home Assistant",
    "session-id": "ID-ul sesiunii",
    "removed-lines": "rândurile setării removed-lines",
    "moved-lines": "rândurile setării moved-lines",
  },
};
