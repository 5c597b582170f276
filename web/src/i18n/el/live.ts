import { pluralsOf } from "../plurals";
import type { LiveTexts, TierState } from "../en/live";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("el");

/** States of a tier. */
export const STATES: Partial<Record<TierState, string>> = {
  off: "Ανενεργό.",
  full: "Πλήρες: προς το παρόν δεν δέχεται άλλα μπλοκ.",
  unused: "Δεν αποκρίνεται σωστά και προσωρινά δεν χρησιμοποιείται.",
  refusing: "Δεν δέχεται άλλα μπλοκ. Η ανάγνωση συνεχίζεται.",
  slow: "Αργό: μπλοκ περιμένουν να γραφτούν.",
  other: "Υπάρχει πρόβλημα. Λεπτομέρειες στο αρχείο καταγραφής του διακομιστή.",
};

/** Greek texts for the view of live numbers. */
export const texts: PartialTexts<LiveTexts> = {
  lead: "Τι κάνει όλος ο διακομιστής, δευτερόλεπτο προς δευτερόλεπτο. Τα γραφήματα δείχνουν έως πέντε λεπτά.",
  oneMemory: "Εδώ η μνήμη συσκευής και η μνήμη CPU είναι και οι δύο μέρος της RAM του.",
  states: {
    connecting: "Σύνδεση…",
    live: "Ζωντανά",
    away: "Ο διακομιστής δεν αποκρίνεται. Τα στοιχεία θα συνεχιστούν αυτόματα.",
  },
  starting: "Τα στοιχεία εμφανίζονται μόλις το μοντέλο είναι έτοιμο.",
  refused: "Αυτά είναι τα στοιχεία όλου του διακομιστή.",
  refusedTodo: "Συνδεθείτε με κλειδί διαχειριστή για να τα δείτε.",
  generated: "Παραγωγή",
  prompts: "Προτροπές",
  running: "Εκτελούνται",
  waiting: "Σε αναμονή",
  batch: "Μέγεθος δέσμης",
  tokensPerSecond: "token/δ",
  requests: "Αιτήματα",
  requestsUnit: "αιτήματα",
  blocks: "μπλοκ/δ",
  perStep: "ανά βήμα",
  computed: "Υπολογισμένα",
  secondsAgo: (seconds) => `−${seconds} δ`,
  minutesAgo: (minutes) => `−${minutes} λ`,
  now: "τώρα",
  used: (used, capacity) => `${used} από ${capacity}`,
  usedOnly: (used) => `${used}, χωρίς όριο`,
  state: (said, state) => STATES[state] ?? said,
  occupancy: "Πληρότητα",
  hitRate: "Ποσοστό επιτυχίας",
  hitRateNote: "Ποσοστό των token προτροπής που αναζητήθηκαν και βρέθηκαν σε αυτό το επίπεδο το τελευταίο λεπτό",
  evictions: "Εκτοπίσεις",
  blocksPerSecond: (blocks) => `${blocks} μπλοκ/δ`,
  byPerson: "Ανά άτομο",
  others: "άλλοι",
  shared: "κοινά για όλους",
  in: "Είσοδος",
  out: "Έξοδος",
  traffic: (tier) => `${tier}, είσοδος και έξοδος`,
  connection: "Σύνδεση",
  connections: { closed: "λειτουργεί", open: "δεν χρησιμοποιείται μετά από σφάλματα", "half-open": "δοκιμάζεται ξανά" },
  replicas: "Αντίγραφα",
  replica: (index) => `Αντίγραφο ${index}`,
  replicaStates: {
    ok: "εξυπηρετεί",
    starting: "ξεκινά",
    failed: "απέτυχε",
  },
  replicaAnswers: (count) => plural(count, { one: "1 απάντηση", other: `${count} απαντήσεις` }),
  replicaRestarts: (count) => plural(count, { one: "1 επανεκκίνηση", other: `${count} επανεκκινήσεις` }),
  routes: "Αιτήματα που στάλθηκαν",
  routesUnit: "ανά δευτερόλεπτο",
  predicted: "Πρώτο token, πρόβλεψη / μέτρηση",
  predictedNote: "Μέσος χρόνος από την επιλογή του αντιγράφου έως το πρώτο token, το τελευταίο λεπτό",
  takeovers: "Απαντήσεις που αναλήφθηκαν",
  table: "Τα γραφήματα ως πίνακας",
  of: (chart, series) => `${chart}: ${series}`,
  inUnit: (name, unit) => `${name} (${unit})`,
  column: {
    what: "Μέτρηση",
    now: "Τώρα",
    mean: "Μέσος όρος",
    most: "Μέγιστο",
  },
};
