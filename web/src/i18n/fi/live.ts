import { pluralsOf } from "../plurals";
import type { LiveTexts, TierState } from "../en/live";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("fi");

/** States of a tier. */
export const STATES: Partial<Record<TierState, string>> = {
  off: "Ei käytössä.",
  full: "Täynnä: ei ota juuri nyt vastaan lohkoja.",
  unused: "Ei vastaa oikein, joten sitä ei tilapäisesti käytetä.",
  refusing: "Ei ota enää vastaan lohkoja. Lukeminen toimii edelleen.",
  slow: "Hidas: lohkot odottavat kirjoittamista.",
  other: "Häiriö. Lisätietoja on palvelimen lokissa.",
};

/** Finnish texts for the view of live numbers. */
export const texts: PartialTexts<LiveTexts> = {
  lead: "Mitä koko palvelin tekee, sekunti sekunnilta. Kaaviot näyttävät enintään viisi minuuttia.",
  oneMemory: "Laitteen muisti ja CPU-muisti ovat tässä molemmat osa sen RAM-muistia.",
  states: {
    connecting: "Yhdistetään…",
    live: "Reaaliajassa",
    away: "Palvelin ei vastaa. Luvut jatkuvat itsestään.",
  },
  starting: "Luvut näkyvät heti, kun malli on valmis.",
  refused: "Nämä ovat koko palvelimen luvut.",
  refusedTodo: "Näet ne, kun kirjaudut ylläpitäjän avaimella.",
  generated: "Luotu",
  prompts: "Kehotteet",
  running: "Käynnissä",
  waiting: "Odottamassa",
  batch: "Eräkoko",
  tokensPerSecond: "tokenia/s",
  requests: "Pyynnöt",
  requestsUnit: "pyyntöä",
  blocks: "lohkoa/s",
  perStep: "pyyntöä/vaihe",
  computed: "Laskettu",
  secondsAgo: (seconds) => `−${seconds} s`,
  minutesAgo: (minutes) => `−${minutes} min`,
  now: "nyt",
  used: (used, capacity) => `${used} / ${capacity}`,
  usedOnly: (used) => `${used}, ei rajaa`,
  state: (said, state) => STATES[state] ?? said,
  occupancy: "Täyttöaste",
  hitRate: "Osumaprosentti",
  hitRateNote: "Osuus niistä kehotteiden tokeneista, jotka haettiin tältä tasolta viimeisen minuutin aikana ja löytyivät sieltä",
  evictions: "Syrjäytykset",
  blocksPerSecond: (blocks) => `${blocks} lohkoa/s`,
  byPerson: "Henkilöittäin",
  others: "muut",
  shared: "kaikille yhteinen",
  in: "Sisään",
  out: "Ulos",
  traffic: (tier) => `${tier}, sisään ja ulos`,
  connection: "Yhteys",
  connections: { closed: "toimii", open: "ei käytössä virheiden jälkeen", "half-open": "kokeillaan uudelleen" },
  replicas: "Replikat",
  replica: (index) => `Replika ${index}`,
  replicaStates: {
    ok: "toiminnassa",
    starting: "käynnistyy",
    failed: "epäkunnossa",
  },
  replicaAnswers: (count) => plural(count, { one: "1 vastaus", other: `${count} vastausta` }),
  replicaRestarts: (count) => plural(count, { one: "1 uudelleenkäynnistys", other: `${count} uudelleenkäynnistystä` }),
  routes: "Jaetut pyynnöt",
  routesUnit: "pyyntöä/s",
  predicted: "Ensimmäinen tokeni, arvioitu / mitattu",
  predictedNote: "Keskimääräinen aika replikan valinnasta ensimmäiseen tokeniin viimeisen minuutin aikana",
  takeovers: "Siirretyt vastaukset",
  table: "Kaaviot taulukkona",
  of: (chart, series) => `${chart}: ${series}`,
  inUnit: (name, unit) => `${name} (${unit})`,
  column: {
    what: "Mittari",
    now: "Nyt",
    mean: "Keskiarvo",
    most: "Maksimi",
  },
};
