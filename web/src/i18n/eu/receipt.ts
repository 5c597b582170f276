import { pluralsOf } from "../plurals";
import type { Causes, ReceiptTexts } from "../en/receipt";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("eu");

/** Reasons for which no more was reused. */
export const CAUSES: Partial<Causes> = {
  complete: "Dena berrerabili da, azken tokena izan ezik; hori beti kalkulatzen da.",
  never_seen: "Zerbitzariak dakienez, gainerakoa ez da inoiz kalkulatu.",
  template_changed: "Sistemaren prompta, txat-txantiloia edo tokenizatzailea ez dira aurreko aldiko berberak.",
  messages_left_out: "Mezu honetatik aurrera, promptak ez ditu txataren lehen mezuak, edo berriro baditu.",
  evicted: "Gainerakoa kalkulatuta zegoen, baina cachetik kanporatu da.",
  expired: "Gainerakoa kalkulatuta zegoen, baina luzaroegi egon da erabili gabe eta iraungi egin da.",
  computed_otherwise: "Gainerakoa kalkulatuta zegoen, baina Ebb-en beste bertsio batekin, beste eredu batekin edo beste kalkulu-modu batekin.",
  rejected: "Gainerakoa kalkulatuta zegoen, baina datuak hondatuta daude, beste eredu batenak dira edo ez dira zerbitzari honen gakoarekin idatzi.",
  breaker_open: "Gainerakoa kalkulatuta zegoen, baina cachearen maila batek ez du erantzuten eta une honetan ez da erabiltzen.",
  not_worth_loading: "Gainerakoa kalkulatuta zegoen, baina berriro kalkulatzea azkarragoa izango dela uste da.",
  not_brought: "Gainerakoa kalkulatuta zegoen, baina ezin izan da kargatu: ez zegoen lekurik CPUaren memorian, edo gailura kopiatzeak huts egin du.",
  partial_block: "Gainerakoa kalkulatuta zegoen, baina ez du bloke oso bat betetzen. Bloke osoak bakarrik gordetzen dira ziur.",
  off: "Zerbitzaria --no-prefix-cache aukerarekin ari da, eta ez du ezer berrerabiltzen.",
};

/** Basque texts for the details of a receipt. */
export const texts: PartialTexts<ReceiptTexts> = {
  computed: (tokens) => `${tokens} kalkulatuta`,
  first: (tokens, total, from) => `${tokens} / ${total} token ${from}`,
  other: (tokens, from) => `${tokens} ${from}`,
  firstToken: (time) => `lehen tokena: ${time}`,
  insteadOf: (time) => ` (bestela, gutxi gorabehera ${time})`,
  speed: (tokens) => `${tokens} token/s`,
  prompt: "Prompta",
  recomputed: "Kalkulatuta",
  typed: (from) => `Idatzi bitartean ${from} berreskuratuta`,
  phases: {
    queue: "Ilaran",
    lookup: "Cacheko bilaketa",
    load: "Blokeak kargatzea",
    prefill: "Kalkulua",
  },
  timeToFirstToken: "Lehen tokenera arteko denbora",
  answer: "Erantzuna",
  form: "Eskatutako formatua",
  forms: { valid: "beteta", invalid: "bete gabe", unchecked: "egiaztatu gabe" },
  rate: "Abiadura",
  total: "Guztira",
  cost: "Kostua",
  why: "Zergatik ez da gehiago berrerabili?",
  looking: "Azalpena kargatzen…",
  failed: "Ezin izan da azalpena kargatu.",
  reusedAll: (until) => `Cacheko ${until} token guztiak berrerabili dira; gainerakoa berria da.`,
  reused: (until, reusable) => `Berrerabilitako cacheko tokenak: ${until} / ${reusable}.`,
  cause: (said, cause) => CAUSES[cause] ?? said,
  advanced: "Aurreratua",
  leftOut: "Kanpoan utzitako mezuak",
  diverges: (at) => `${at}. tokenetik aurrera, prompt hau desberdina da:`,
  goesOn: (at) => `${at}. tokenera arteko guztia cachean zegoen. Gero hau zetorren:`,
  here: "hemen",
  before: "lehen",
  end: "(amaiera)",
  verified: (count, text) =>
    plural(count, {
      one: "Beheragoko maila bateko bloke bat egiaztatu da.",
      other: `Beheragoko mailetako ${text} bloke egiaztatu dira.`,
    }),
  removedLines: (names) => `Kanpoan utzita, sistemaren prompta egonkor mantentzeko: ${names}`,
  movedLines: (names) => `Lehen mezura eramanda, sistemaren prompta egonkor mantentzeko: ${names}`,

  promptLines: {
    "claude-code-billing-header": "Claude Code-ren fakturazio-goiburua",
    "claude-code-git-status": "Claude Code-ren Git egoera",
    "todays-date": "gaurko data",
    "current-date": "uneko data",
    "current-date-and-time": "uneko data eta ordua",
    "goose-date": "goose-ren data",
    "kimi-cli-date": "Kimi CLI-ren data",
    "home-assistant-clock": "Home Assistant-en erlojua",
    "session-id": "saioaren identifikatzailea",
    "removed-lines": "removed-lines ezarpeneko lerroak",
    "moved-lines": "moved-lines ezarpeneko lerroak",
  },
};
