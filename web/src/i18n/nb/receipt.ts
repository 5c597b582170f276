import { pluralsOf } from "../plurals";
import type { Causes, ReceiptTexts } from "../en/receipt";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("nb");

/** Reasons for which no more was reused. */
export const CAUSES: Partial<Causes> = {
  complete: "Alt unntatt det siste tokenet ble brukt på nytt. Det siste beregnes alltid.",
  never_seen: "Så vidt serveren vet, er resten aldri blitt beregnet.",
  template_changed: "Systemledeteksten, chatmalen eller tokenizeren er en annen enn forrige gang.",
  messages_left_out: "Fra denne meldingen inneholder ledeteksten ikke lenger de første meldingene i chatten, eller den gjør det igjen.",
  evicted: "Resten var beregnet, men ble fortrengt.",
  expired: "Resten var beregnet, men ble ikke brukt på for lenge og er utløpt.",
  computed_otherwise: "Resten var beregnet, men med en annen versjon av Ebb, en annen modell eller en annen beregningsmåte.",
  rejected: "Resten var beregnet, men dataene er skadet, hører til en annen modell eller er ikke skrevet med nøkkelen til denne serveren.",
  breaker_open: "Resten var beregnet, men et nivå i hurtigbufferen svarer ikke og hoppes midlertidig over.",
  not_worth_loading: "Resten var beregnet, men det går trolig raskere å beregne den på nytt.",
  not_brought: "Resten var beregnet, men kunne ikke lastes inn: Det var ikke plass i CPU-minnet, eller kopieringen til enheten mislyktes.",
  partial_block: "Resten var beregnet, men fyller ikke en hel blokk. Bare hele blokker tas sikkert vare på.",
  off: "Serveren kjører med --no-prefix-cache og bruker ingenting på nytt.",
};

/** Norwegian Bokmål texts for the details of a receipt. */
export const texts: PartialTexts<ReceiptTexts> = {
  computed: (tokens) => `${tokens} beregnet`,
  first: (tokens, total, from) => `${tokens} av ${total} tokens fra ${from}`,
  other: (tokens, from) => `${tokens} fra ${from}`,
  firstToken: (time) => `første token etter ${time}`,
  insteadOf: (time) => ` i stedet for ca. ${time}`,
  speed: (tokens) => `${tokens} tokens/s`,
  prompt: "Ledetekst",
  recomputed: "Beregnet",
  typed: (from) => `Hentet fra ${from} mens du skrev`,
  phases: {
    queue: "I kø",
    lookup: "Oppslag i hurtigbufferen",
    load: "Blokker lastet inn",
    prefill: "Beregnet",
  },
  timeToFirstToken: "Tid til første token",
  answer: "Svar",
  form: "Påkrevd format",
  forms: { valid: "overholdt", invalid: "ikke overholdt", unchecked: "ikke kontrollert" },
  rate: "Hastighet",
  total: "Totalt",
  cost: "Kostnad",
  why: "Hvorfor ble ikke mer brukt på nytt?",
  looking: "Laster inn forklaringen…",
  failed: "Forklaringen kunne ikke lastes inn.",
  reusedAll: (until) => `Alle ${until} bufrede tokens ble brukt på nytt; resten er nytt.`,
  reused: (until, reusable) => `${until} av ${reusable} bufrede tokens ble brukt på nytt.`,
  cause: (said, cause) => CAUSES[cause] ?? said,
  advanced: "Avansert",
  leftOut: "Utelatte meldinger",
  diverges: (at) => `Ved token ${at} avviker denne ledeteksten:`,
  goesOn: (at) => `Alt til og med token ${at} var bufret. Deretter kom:`,
  here: "her",
  before: "før",
  end: "(slutt)",
  verified: (count, text) => plural(count, { one: "Én blokk fra et lavere nivå ble kontrollert.", other: `${text} blokker fra lavere nivåer ble kontrollert.` }),
  removedLines: (names) => `Utelatt for å holde systemledeteksten uendret: ${names}`,
  movedLines: (names) => `Flyttet til den første meldingen for å holde systemledeteksten uendret: ${names}`,

  promptLines: {
    "claude-code-billing-header": "faktureringslinjen fra Claude Code",
    "claude-code-git-status": "Git-statusen fra Claude Code",
    "todays-date": "dagens dato",
    "current-date": "gjeldende dato",
    "current-date-and-time": "gjeldende dato og klokkeslett",
    "goose-date": "datoen fra goose",
    "kimi-cli-date": "datoen fra Kimi CLI",
    "home-assistant-clock": "klokken fra Home Assistant",
    "session-id": "øktens ID",
    "removed-lines": "linjer fra innstillingen removed-lines",
    "moved-lines": "linjer fra innstillingen moved-lines",
  },
};
