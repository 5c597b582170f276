import { pluralsOf } from "../plurals";
import type { DialogTexts } from "../en/dialogs";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("lv");

/** Latvian texts for the dialogs. */
export const texts: PartialTexts<DialogTexts> = {
  deleted: {
    note: "Atjaunojiet tērzēšanu vai izdzēsiet to neatgriezeniski. Šeit esošās tērzēšanas aizņem vietu jūsu krātuvē.",
    none: "Nav nesen izdzēstu tērzēšanu.",
    when: (time, left) => `Izdzēsta: ${time} · ${left}`,
    left: (days) => plural(days, { zero: `atlikušas ${days} dienas`, one: `atlikusi ${days} diena`, other: `atlikušas ${days} dienas` }),
    leftToday: "atlikusi mazāk nekā diena",
    messages: "Izdzēstās ziņas",
    restore: "Atjaunot",
    restoreOf: (title) => `Atjaunot „${title}”`,
    restoreAll: "Atjaunot visas",
    erase: "Dzēst neatgriezeniski",
    eraseOf: (title) => `Dzēst neatgriezeniski: „${title}”`,
    eraseAll: "Dzēst visas neatgriezeniski",
    eraseTitle: (title) => `Vai neatgriezeniski dzēst „${title}”?`,
    eraseAllTitle: (count) =>
      plural(count, {
        zero: `Vai neatgriezeniski dzēst ${count} tērzēšanu?`,
        one: `Vai neatgriezeniski dzēst ${count} tērzēšanu?`,
        other: `Vai neatgriezeniski dzēst ${count} tērzēšanas?`,
      }),
    eraseText: "To nevar atsaukt.",
    allTitle: "Vai dzēst visas tērzēšanas?",
    allText: "Visas tērzēšanas, arī arhivētās, tiek pārvietotas uz „Nesen izdzēstās”. No turienes tās var atjaunot.",
    allAction: "Dzēst visas",
    allMoved: (count) => plural(count, { zero: `Izdzēstas ${count} tērzēšanas.`, one: `Izdzēsta ${count} tērzēšana.`, other: `Izdzēstas ${count} tērzēšanas.` }),
  },

  import: {
    imported: (count) =>
      plural(count, { zero: `Importētas ${count} tērzēšanas.`, one: `Importēta ${count} tērzēšana.`, other: `Importētas ${count} tērzēšanas.` }),
    skipped: (count) =>
      plural(count, { zero: `${count} tērzēšanas jau bija šeit.`, one: `${count} tērzēšana jau bija šeit.`, other: `${count} tērzēšanas jau bija šeit.` }),
    notImported: "Nekas netika importēts.",
    title: "Importēt tērzēšanas",
    drop: "Velciet failu šurp vai izvēlieties to",
    formats: "Eksports no Ebb, ChatGPT, Claude, llama.cpp, LibreChat vai Open WebUI: JSON fails vai ZIP arhīvs, kurā tas atrodas.",
    reading: "Fails tiek lasīts…",
    importing: "Notiek importēšana…",
    found: (name, count) => plural(count, { zero: `${count} tērzēšanu no ${name}`, one: `${count} tērzēšana no ${name}`, other: `${count} tērzēšanas no ${name}` }),
    all: "Visas tērzēšanas",
    messages: (count) => plural(count, { zero: `${count} ziņu`, one: `${count} ziņa`, other: `${count} ziņas` }),
    branches: (count) => plural(count, { zero: `${count} zaru`, one: `${count} zars`, other: `${count} zari` }),
    here: "jau ir šeit",
    leftOut: (parts) => `izlaists: ${parts}`,
    kinds: {
      tools: (count) => plural(count, { zero: `${count} rīku ziņu`, one: `${count} rīka ziņa`, other: `${count} rīku ziņas` }),
      media: (count) => plural(count, { zero: `${count} attēlu vai ierakstu`, one: `${count} attēls vai ieraksts`, other: `${count} attēli vai ieraksti` }),
      files: (count) => plural(count, { zero: `${count} failu`, one: `${count} fails`, other: `${count} faili` }),
      system: (count) => plural(count, { zero: `${count} sistēmas ziņu`, one: `${count} sistēmas ziņa`, other: `${count} sistēmas ziņas` }),
      failed: (count) => plural(count, { zero: `${count} kļūdu`, one: `${count} kļūda`, other: `${count} kļūdas` }),
      other: (count) => plural(count, { zero: `${count} citu daļu`, one: `${count} cita daļa`, other: `${count} citas daļas` }),
    },
    unreadable: (count) =>
      plural(count, { zero: `${count} tērzēšanu nevar nolasīt`, one: `${count} tērzēšanu nevar nolasīt`, other: `${count} tērzēšanas nevar nolasīt` }),
    act: (count) => plural(count, { zero: `Importēt ${count} tērzēšanu`, one: `Importēt ${count} tērzēšanu`, other: `Importēt ${count} tērzēšanas` }),
    again: "Izvēlēties citu failu",
    zip: {
      none: (name) => `Failā ${name} nav conversations.json.`,
      broken: (name) => `${name} ir bojāts vai ir tāds ZIP, ko šeit nevar nolasīt. Izpakojiet to un izvēlieties JSON failu.`,
      tooBig: (name) => `${name} ir pārāk liels: ne vairāk kā 64 MiB JSON.`,
    },
  },

  tree: {
    note: "Aizpildītie punkti apzīmē parādītās ziņas. Izvēlieties ziņu, lai parādītu tās zaru.",
    empty: "(tukšs)",
  },

  settings: {
    title: "Tērzēšanas iestatījumi",
    system: "Sistēmas uzvedne",
    systemHint: "Kā modelim jāuzvedas",
    temperature: "Temperatūra",
    maxTokens: "Tokenu limits",
    topP: "Top p",
    topK: "Top k",
    minP: "Min p",
    repetition: "Sods par atkārtošanos",
    presence: "Sods par klātbūtni",
    frequency: "Sods par biežumu",
    stop: "Apturēšanas virknes (pa vienai rindā)",
    seed: "Sēkla",
    more: "Papildu izlases iestatījumi",
    window: (tokens) => `Konteksta logs (tokeni): ${tokens}`,
    random: "nejauša",
    noLimit: "nav",
    default: "noklusējums",
    thinking: "Domāšana",
    modes: {
      slow: "Vienmēr vispirms domāt",
      auto: "Lai izlemj modelis",
      off: "Atbildēt uzreiz",
    },
    note: "Izmaiņas stājas spēkā ar nākamo ziņu. Tukšā laukā spēkā ir parādītā vērtība.",
  },

  presets: {
    label: "Iestatījumu kopa",
    none: "Izvēlieties kopu…",
    ofNewChats: (name) => `${name} (jaunām tērzēšanām)`,
    add: "Saglabāt kā kopu…",
    change: "Mainīt kopu…",
    remove: "Dzēst kopu",
    name: "Kopas nosaukums",
    default: "Izmantot jaunām tērzēšanām",
    save: "Saglabāt kopu",
  },

  appearance: {
    theme: "Motīvs",
    themes: {
      system: "Sistēmas",
      light: "Gaišs",
      dark: "Tumšs",
    },
    size: "Teksta lielums",
    language: "Valoda",
    notifications: "Paziņojumi",
    notify: "Paziņot, kad atbilde ir gatava, bet šī cilne ir paslēpta",
    notifyInsecure: "Paziņojumiem un Ebb instalēšanai par lietotni ir vajadzīgs HTTPS vai pārlūks paša servera datorā.",
    notifyRefused: "Pārlūks neatļauj paziņojumus no šīs lapas.",
    tierMarks: "Atzīmēt, kur ir katras tērzēšanas kešatmiņa",
    tierMarksNote: "Jo tuvāk ir tērzēšanas kešatmiņa, jo ātrāk sākas nākamā atbilde.",
  },

  help: {
    title: "Īsinājumtaustiņi",
    palette: "Meklēt tērzēšanas un komandas",
    search: "Meklēt tērzēšanu sarakstā",
    new: "Jauna tērzēšana",
    sidebar: "Rādīt vai paslēpt tērzēšanu sarakstu",
    send: "Nosūtīt ziņu",
    prompts: "Saglabātās uzvednes, tukšā ziņā",
    newline: "Jauna rinda",
    stop: "Apturēt atbildi vai aizvērt atvērto paneli",
    walk: "Iepriekšējā vai nākamā tērzēšana sarakstā",
    undo: "Atsaukt dzēšanu vai arhivēšanu",
    branches: "Iepriekšējā vai nākamā versija, ar fokusu uz ‹ ›",
    this: "Šis saraksts",
    change: (action) => `Mainīt taustiņus: ${action}`,
    press: "Nospiediet jaunos taustiņus vai Esc",
    without: (ctrl) => `Turiet ${ctrl} un nospiediet burtu vai citu rakstzīmi.`,
    occupied: (keys) => `${keys} izmanto pārlūks vai teksta lauki. Izvēlieties citus taustiņus.`,
    taken: (keys, action) => `${keys} jau ir aizņemts: ${action}. Izvēlieties citus taustiņus.`,
    reset: "Atjaunot noklusējuma taustiņus",
  },
};
