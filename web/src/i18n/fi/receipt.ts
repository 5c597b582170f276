import { pluralsOf } from "../plurals";
import type { Causes, ReceiptTexts } from "../en/receipt";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("fi");

/** Reasons for which no more was reused. */
export const CAUSES: Partial<Causes> = {
  complete: "Kaikki paitsi viimeinen tokeni käytettiin uudelleen. Viimeinen lasketaan aina.",
  never_seen: "Palvelimen tietojen mukaan loppuosaa ei ole koskaan laskettu.",
  template_changed: "Järjestelmäkehote, keskustelumalli tai tokenisoija on eri kuin viimeksi.",
  messages_left_out: "Tästä viestistä alkaen kehotteessa ei enää ole keskustelun ensimmäisiä viestejä, tai ne ovat siinä taas.",
  evicted: "Loppuosa oli laskettu, mutta se syrjäytettiin.",
  expired: "Loppuosa oli laskettu, mutta sitä ei käytetty liian pitkään aikaan ja se vanheni.",
  computed_otherwise: "Loppuosa oli laskettu, mutta Ebbin toisella versiolla, toisella mallilla tai toisella laskentatavalla.",
  rejected: "Loppuosa oli laskettu, mutta sen tiedot ovat vioittuneet, kuuluvat toiselle mallille tai niitä ei ole kirjoitettu tämän palvelimen avaimella.",
  breaker_open: "Loppuosa oli laskettu, mutta yksi välimuistin taso ei vastaa, ja se ohitetaan tilapäisesti.",
  not_worth_loading: "Loppuosa oli laskettu, mutta sen laskeminen uudelleen on luultavasti nopeampaa.",
  not_brought: "Loppuosa oli laskettu, mutta sitä ei voitu ladata: CPU-muistissa ei ollut tilaa tai kopiointi laitteeseen epäonnistui.",
  partial_block: "Loppuosa oli laskettu, mutta se ei täytä kokonaista lohkoa. Vain kokonaiset lohkot säilyvät varmasti.",
  off: "Palvelin on käynnistetty valitsimella --no-prefix-cache, eikä se käytä mitään uudelleen.",
};

/** Finnish texts for the details of a receipt. */
export const texts: PartialTexts<ReceiptTexts> = {
  computed: (tokens) => `${tokens} laskettu`,
  first: (tokens, total, from) => `${tokens} / ${total} tokenia ${from}`,
  other: (tokens, from) => `${tokens} ${from}`,
  firstToken: (time) => `ensimmäinen tokeni ${time}`,
  insteadOf: (time) => ` (muuten noin ${time})`,
  speed: (tokens) => `${tokens} tokenia/s`,
  prompt: "Kehote",
  recomputed: "Laskettu",
  typed: (from) => `Haettu ${from} kirjoittaessasi`,
  phases: {
    queue: "Jonossa",
    lookup: "Haku välimuistista",
    load: "Lohkot ladattu",
    prefill: "Laskettu",
  },
  timeToFirstToken: "Aika ensimmäiseen tokeniin",
  answer: "Vastaus",
  form: "Vaadittu muoto",
  forms: { valid: "noudatettu", invalid: "ei noudatettu", unchecked: "ei tarkistettu" },
  rate: "Nopeus",
  total: "Yhteensä",
  cost: "Hinta",
  why: "Miksi enempää ei käytetty uudelleen?",
  looking: "Ladataan selitystä…",
  failed: "Selitystä ei voitu ladata.",
  reusedAll: (until) => `Kaikki ${until} välimuistin tokenia käytettiin uudelleen; loput ovat uusia.`,
  reused: (until, reusable) => `${until} / ${reusable} välimuistin tokenia käytettiin uudelleen.`,
  cause: (said, cause) => CAUSES[cause] ?? said,
  advanced: "Lisätiedot",
  leftOut: "Pois jätetyt viestit",
  diverges: (at) => `Tokenin ${at} kohdalla tämä kehote poikkeaa:`,
  goesOn: (at) => `Kaikki tokeniin ${at} asti oli välimuistissa. Sitten tuli:`,
  here: "tässä",
  before: "aiemmin",
  end: "(loppu)",
  verified: (count, text) => plural(count, { one: "Yksi alemman tason lohko tarkistettiin.", other: `${text} alempien tasojen lohkoa tarkistettiin.` }),
  removedLines: (names) => `Jätetty pois, jotta järjestelmäkehote pysyy samana: ${names}`,
  movedLines: (names) => `Siirretty ensimmäiseen viestiin, jotta järjestelmäkehote pysyy samana: ${names}`,

  promptLines: {
    "claude-code-billing-header": "Claude Coden laskutusrivi",
    "claude-code-git-status": "Claude Coden Git-tila",
    "todays-date": "tämän päivän päivämäärä",
    "current-date": "nykyinen päivämäärä",
    "current-date-and-time": "nykyinen päivämäärä ja aika",
    "goose-date": "goosen päivämäärä",
    "kimi-cli-date": "Kimi CLI:n päivämäärä",
    "home-assistant-clock": "Home Assistantin kello",
    "session-id": "istunnon tunnus",
    "removed-lines": "asetuksen removed-lines rivit",
    "moved-lines": "asetuksen moved-lines rivit",
  },
};
