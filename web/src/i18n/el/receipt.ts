import { pluralsOf } from "../plurals";
import type { Causes, ReceiptTexts } from "../en/receipt";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("el");

/** Reasons for which no more was reused. */
export const CAUSES: Partial<Causes> = {
  complete: "Επαναχρησιμοποιήθηκαν όλα εκτός από το τελευταίο token. Το τελευταίο υπολογίζεται πάντα.",
  never_seen: "Απ’ όσο γνωρίζει ο διακομιστής, τα υπόλοιπα δεν είχαν υπολογιστεί ποτέ.",
  template_changed: "Η προτροπή συστήματος, το πρότυπο συνομιλίας ή ο tokenizer διαφέρει από την προηγούμενη φορά.",
  messages_left_out: "Από αυτό το μήνυμα και μετά, η προτροπή δεν περιέχει πλέον τα πρώτα μηνύματα της συνομιλίας ή τα περιέχει ξανά.",
  evicted: "Τα υπόλοιπα είχαν υπολογιστεί, αλλά εκτοπίστηκαν από την κρυφή μνήμη.",
  expired: "Τα υπόλοιπα είχαν υπολογιστεί, αλλά έμειναν αχρησιμοποίητα για πολύ καιρό και έληξαν.",
  computed_otherwise: "Τα υπόλοιπα είχαν υπολογιστεί, αλλά με άλλη έκδοση του Ebb, άλλο μοντέλο ή άλλον τρόπο υπολογισμού.",
  rejected: "Τα υπόλοιπα είχαν υπολογιστεί, αλλά τα δεδομένα τους είναι κατεστραμμένα, ανήκουν σε άλλο μοντέλο ή δεν γράφτηκαν με το κλειδί αυτού του διακομιστή.",
  breaker_open: "Τα υπόλοιπα είχαν υπολογιστεί, αλλά ένα επίπεδο της κρυφής μνήμης δεν αποκρίνεται και προσωρινά παρακάμπτεται.",
  not_worth_loading: "Τα υπόλοιπα είχαν υπολογιστεί, αλλά ο εκ νέου υπολογισμός αναμένεται ταχύτερος.",
  not_brought: "Τα υπόλοιπα είχαν υπολογιστεί, αλλά δεν φορτώθηκαν: δεν υπήρχε χώρος στη μνήμη CPU ή η αντιγραφή στη συσκευή απέτυχε.",
  partial_block: "Τα υπόλοιπα είχαν υπολογιστεί, αλλά δεν γεμίζουν ένα ολόκληρο μπλοκ. Μόνο τα ολόκληρα μπλοκ διατηρούνται με βεβαιότητα.",
  off: "Ο διακομιστής εκτελείται με --no-prefix-cache και δεν επαναχρησιμοποιεί τίποτα.",
};

/** Greek texts for the details of a receipt. */
export const texts: PartialTexts<ReceiptTexts> = {
  computed: (tokens) => `υπολογίστηκαν ${tokens}`,
  first: (tokens, total, from) => `${tokens} από τα ${total} token από ${from}`,
  other: (tokens, from) => `${tokens} από ${from}`,
  firstToken: (time) => `πρώτο token σε ${time}`,
  insteadOf: (time) => ` αντί για περίπου ${time}`,
  speed: (tokens) => `${tokens} token/δ`,
  prompt: "Προτροπή",
  recomputed: "Υπολογισμένα",
  typed: (from) => `Φορτώθηκαν από ${from} ενώ πληκτρολογούσατε`,
  phases: {
    queue: "Αναμονή",
    lookup: "Αναζήτηση στην κρυφή μνήμη",
    load: "Φόρτωση μπλοκ",
    prefill: "Υπολογισμός",
  },
  timeToFirstToken: "Χρόνος έως το πρώτο token",
  answer: "Απάντηση",
  form: "Απαιτούμενη μορφή",
  forms: { valid: "τηρήθηκε", invalid: "δεν τηρήθηκε", unchecked: "δεν ελέγχθηκε" },
  rate: "Ταχύτητα",
  total: "Σύνολο",
  cost: "Κόστος",
  why: "Γιατί δεν επαναχρησιμοποιήθηκαν περισσότερα;",
  looking: "Φόρτωση εξήγησης…",
  failed: "Δεν ήταν δυνατή η φόρτωση της εξήγησης.",
  reusedAll: (until) => `Και τα ${until} token της κρυφής μνήμης επαναχρησιμοποιήθηκαν· τα υπόλοιπα είναι νέα.`,
  reused: (until, reusable) => `Επαναχρησιμοποιήθηκαν ${until} από τα ${reusable} token της κρυφής μνήμης.`,
  cause: (said, cause) => CAUSES[cause] ?? said,
  advanced: "Για προχωρημένους",
  leftOut: "Μηνύματα που παραλείφθηκαν",
  diverges: (at) => `Στο token ${at} αυτή η προτροπή αποκλίνει:`,
  goesOn: (at) => `Όλα έως το token ${at} ήταν στην κρυφή μνήμη. Μετά ακολουθούσε:`,
  here: "εδώ",
  before: "πριν",
  end: "(τέλος)",
  verified: (count, text) => plural(count, { one: "Επαληθεύτηκε ένα μπλοκ από χαμηλότερο επίπεδο.", other: `Επαληθεύτηκαν ${text} μπλοκ από χαμηλότερα επίπεδα.` }),
  removedLines: (names) => `Παραλείφθηκαν, για να μένει σταθερή η προτροπή συστήματος: ${names}`,
  movedLines: (names) => `Μεταφέρθηκαν στο πρώτο μήνυμα, για να μένει σταθερή η προτροπή συστήματος: ${names}`,

  promptLines: {
    "claude-code-billing-header": "η γραμμή χρέωσης του Claude Code",
    "claude-code-git-status": "η κατάσταση Git του Claude Code",
    "todays-date": "η σημερινή ημερομηνία",
    "current-date": "η τρέχουσα ημερομηνία",
    "current-date-and-time": "η τρέχουσα ημερομηνία και ώρα",
    "goose-date": "η ημερομηνία του goose",
    "kimi-cli-date": "η ημερομηνία του Kimi CLI",
    "home-assistant-clock": "το ρολόι του Home Assistant",
    "session-id": "το αναγνωριστικό της περιόδου λειτουργίας",
    "removed-lines": "γραμμές της ρύθμισης removed-lines",
    "moved-lines": "γραμμές της ρύθμισης moved-lines",
  },
};
