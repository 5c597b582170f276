import { pluralsOf } from "../plurals";
import type { Causes, ReceiptTexts } from "../en/receipt";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("sv");

/** Reasons for which no more was reused. */
export const CAUSES: Partial<Causes> = {
  complete: "Allt utom den sista tokenen återanvändes. Den sista beräknas alltid.",
  never_seen: "Såvitt servern vet har resten aldrig beräknats.",
  template_changed: "Systemprompten, chattmallen eller tokeniseraren är en annan än förra gången.",
  messages_left_out: "Från och med det här meddelandet innehåller prompten inte längre chattens första meddelanden, eller gör det igen.",
  evicted: "Resten var beräknad men har trängts undan.",
  expired: "Resten var beräknad men har inte använts på länge och har upphört att gälla.",
  computed_otherwise: "Resten var beräknad, men med en annan version av Ebb, en annan modell eller ett annat beräkningssätt.",
  rejected: "Resten var beräknad, men dess data är skadade, hör till en annan modell eller är inte skrivna med den här serverns nyckel.",
  breaker_open: "Resten var beräknad, men en nivå i cachen svarar inte och hoppas tillfälligt över.",
  not_worth_loading: "Resten var beräknad, men att beräkna om den väntas gå snabbare.",
  not_brought: "Resten var beräknad men kunde inte läsas in: det fanns ingen plats i CPU-minnet, eller så misslyckades kopieringen till enheten.",
  partial_block: "Resten var beräknad men fyller inte ett helt block. Bara hela block sparas säkert.",
  off: "Servern körs med --no-prefix-cache och återanvänder inget.",
};

/** Swedish texts for the details of a receipt. */
export const texts: PartialTexts<ReceiptTexts> = {
  computed: (tokens) => `${tokens} beräknat`,
  first: (tokens, total, from) => `${tokens} av ${total} tokens från ${from}`,
  other: (tokens, from) => `${tokens} från ${from}`,
  firstToken: (time) => `första token efter ${time}`,
  insteadOf: (time) => ` i stället för cirka ${time}`,
  speed: (tokens) => `${tokens} tokens/s`,
  prompt: "Prompt",
  recomputed: "Beräknat",
  typed: (from) => `Hämtat från ${from} medan du skrev`,
  phases: {
    queue: "I kö",
    lookup: "Sökning i cachen",
    load: "Block inlästa",
    prefill: "Beräknat",
  },
  timeToFirstToken: "Tid till första token",
  answer: "Svar",
  form: "Begärt format",
  forms: { valid: "uppfyllt", invalid: "inte uppfyllt", unchecked: "inte kontrollerat" },
  rate: "Hastighet",
  total: "Totalt",
  cost: "Kostnad",
  why: "Varför återanvändes inte mer?",
  looking: "Förklaringen läses in…",
  failed: "Förklaringen kunde inte läsas in.",
  reusedAll: (until) => `Alla ${until} tokens i cachen återanvändes; resten är nytt.`,
  reused: (until, reusable) => `${until} av ${reusable} tokens i cachen återanvändes.`,
  cause: (said, cause) => CAUSES[cause] ?? said,
  advanced: "Avancerat",
  leftOut: "Utelämnade meddelanden",
  diverges: (at) => `Vid token ${at} skiljer sig den här prompten:`,
  goesOn: (at) => `Allt fram till token ${at} fanns i cachen. Sedan kom:`,
  here: "här",
  before: "tidigare",
  end: "(slut)",
  verified: (count, text) => plural(count, { one: "Ett block från en lägre nivå kontrollerades.", other: `${text} block från lägre nivåer kontrollerades.` }),
  removedLines: (names) => `Utelämnat för att hålla systemprompten oförändrad: ${names}`,
  movedLines: (names) => `Flyttat till det första meddelandet för att hålla systemprompten oförändrad: ${names}`,

  promptLines: {
    "claude-code-billing-header": "faktureringsraden från Claude Code",
    "claude-code-git-status": "Git-statusen från Claude Code",
    "todays-date": "dagens datum",
    "current-date": "aktuellt datum",
    "current-date-and-time": "aktuellt datum och klockslag",
    "goose-date": "datumet från goose",
    "kimi-cli-date": "datumet från Kimi CLI",
    "home-assistant-clock": "klockan från Home Assistant",
    "session-id": "sessionens id",
    "removed-lines": "rader från inställningen removed-lines",
    "moved-lines": "rader från inställningen moved-lines",
  },
};
