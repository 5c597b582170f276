import { pluralsOf } from "../plurals";
import type { LiveTexts, TierState } from "../en/live";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("pl");

/** States of a tier. */
export const STATES: Partial<Record<TierState, string>> = {
  off: "Wyłączony.",
  full: "Pełny: na razie nie przyjmuje kolejnych bloków.",
  unused: "Nie odpowiada prawidłowo i jest tymczasowo nieużywany.",
  refusing: "Nie przyjmuje już bloków. Odczyt nadal działa.",
  slow: "Wolny: bloki czekają na zapis.",
  other: "Działa nieprawidłowo. Szczegóły są w dzienniku serwera.",
};

/** Polish texts for the view of live numbers. */
export const texts: PartialTexts<LiveTexts> = {
  lead: "Co robi cały serwer, sekunda po sekundzie. Wykresy pokazują do pięciu minut.",
  oneMemory: "Pamięć urządzenia i pamięć CPU to tutaj części jej pamięci RAM.",
  states: {
    connecting: "Łączenie…",
    live: "Na żywo",
    away: "Serwer nie odpowiada. Statystyki wznowią się same.",
  },
  starting: "Statystyki pojawią się, gdy model będzie gotowy.",
  refused: "To są statystyki całego serwera.",
  refusedTodo: "Zaloguj się kluczem administratora, aby je zobaczyć.",
  generated: "Wygenerowano",
  prompts: "Prompty",
  running: "W toku",
  waiting: "Oczekujące",
  batch: "Rozmiar wsadu",
  tokensPerSecond: "tokenów/s",
  requests: "Żądania",
  requestsUnit: "żądania",
  blocks: "bloków/s",
  perStep: "na krok",
  computed: "Obliczono",
  secondsAgo: (seconds) => `−${seconds} s`,
  minutesAgo: (minutes) => `−${minutes} min`,
  now: "teraz",
  used: (used, capacity) => `${used} z ${capacity}`,
  usedOnly: (used) => `${used}, bez limitu`,
  state: (said, state) => STATES[state] ?? said,
  occupancy: "Zajętość",
  hitRate: "Współczynnik trafień",
  hitRateNote: "Jaką część tokenów promptów szukanych na tym poziomie w ostatniej minucie znaleziono",
  evictions: "Usunięcia bloków",
  blocksPerSecond: (blocks) => `${blocks} bloków/s`,
  byPerson: "Według użytkownika",
  others: "inni",
  shared: "wspólne",
  in: "Przychodzące",
  out: "Wychodzące",
  traffic: (tier) => `${tier}: przychodzące i wychodzące`,
  connection: "Połączenie",
  connections: { closed: "działa", open: "nieużywane po błędach", "half-open": "ponawiana próba" },
  replicas: "Repliki",
  replica: (index) => `Replika ${index}`,
  replicaStates: {
    ok: "działa",
    starting: "uruchamia się",
    failed: "awaria",
  },
  replicaAnswers: (count) => plural(count, { one: "1 odpowiedź", few: `${count} odpowiedzi`, other: `${count} odpowiedzi` }),
  replicaRestarts: (count) => plural(count, { one: "1 restart", few: `${count} restarty`, other: `${count} restartów` }),
  routes: "Rozdzielone żądania",
  routesUnit: "na sekundę",
  predicted: "Pierwszy token, prognoza / pomiar",
  predictedNote: "Średni czas od wyboru repliki do pierwszego tokena w ostatniej minucie",
  takeovers: "Przejęte odpowiedzi",
  table: "Wykresy jako tabela",
  of: (chart, series) => `${chart}: ${series}`,
  inUnit: (name, unit) => `${name} (${unit})`,
  column: {
    what: "Wskaźnik",
    now: "Teraz",
    mean: "Średnia",
    most: "Maksimum",
  },
};
