import { pluralsOf } from "../plurals";
import type { DialogTexts } from "../en/dialogs";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("lt");

/** Lithuanian texts for the dialogs. */
export const texts: PartialTexts<DialogTexts> = {
  deleted: {
    note: "Atkurkite pokalbį arba ištrinkite jį visam laikui. Čia esantys pokalbiai užima jūsų saugyklą.",
    none: "Neseniai ištrintų pokalbių nėra.",
    when: (time, left) => `Ištrinta: ${time} · ${left}`,
    left: (days) => plural(days, { one: `liko ${days} diena`, few: `liko ${days} dienos`, other: `liko ${days} dienų` }),
    leftToday: "liko mažiau nei diena",
    messages: "Ištrintos žinutės",
    restore: "Atkurti",
    restoreOf: (title) => `Atkurti „${title}“`,
    restoreAll: "Atkurti visus",
    erase: "Ištrinti visam laikui",
    eraseOf: (title) => `Ištrinti visam laikui: „${title}“`,
    eraseAll: "Ištrinti visus visam laikui",
    eraseTitle: (title) => `Ištrinti „${title}“ visam laikui?`,
    eraseAllTitle: (count) =>
      plural(count, {
        one: `Ištrinti ${count} pokalbį visam laikui?`,
        few: `Ištrinti ${count} pokalbius visam laikui?`,
        other: `Ištrinti ${count} pokalbių visam laikui?`,
      }),
    eraseText: "To anuliuoti negalima.",
    allTitle: "Ištrinti visus pokalbius?",
    allText: "Visi pokalbiai, taip pat ir archyvuoti, bus perkelti į „Neseniai ištrinti“. Iš ten juos galėsite atkurti.",
    allAction: "Ištrinti visus",
    allMoved: (count) =>
      plural(count, { one: `Ištrintas ${count} pokalbis.`, few: `Ištrinti ${count} pokalbiai.`, other: `Ištrinta ${count} pokalbių.` }),
  },

  import: {
    imported: (count) =>
      plural(count, { one: `Importuotas ${count} pokalbis.`, few: `Importuoti ${count} pokalbiai.`, other: `Importuota ${count} pokalbių.` }),
    skipped: (count) =>
      plural(count, { one: `${count} pokalbis čia jau buvo.`, few: `${count} pokalbiai čia jau buvo.`, other: `${count} pokalbių čia jau buvo.` }),
    notImported: "Nieko neimportuota.",
    title: "Importuoti pokalbius",
    drop: "Nuvilkite failą čia arba pasirinkite jį",
    formats: "Eksportas iš Ebb, ChatGPT, Claude, llama.cpp, LibreChat arba Open WebUI: JSON failas arba jį turintis ZIP archyvas.",
    reading: "Skaitomas failas…",
    importing: "Importuojama…",
    found: (name, count) =>
      plural(count, { one: `${count} pokalbis iš ${name}`, few: `${count} pokalbiai iš ${name}`, other: `${count} pokalbių iš ${name}` }),
    all: "Visi pokalbiai",
    messages: (count) => plural(count, { one: `${count} žinutė`, few: `${count} žinutės`, other: `${count} žinučių` }),
    branches: (count) => plural(count, { one: `${count} šaka`, few: `${count} šakos`, other: `${count} šakų` }),
    here: "jau čia",
    leftOut: (parts) => `praleista: ${parts}`,
    kinds: {
      tools: (count) => plural(count, { one: `${count} įrankio žinutė`, few: `${count} įrankių žinutės`, other: `${count} įrankių žinučių` }),
      media: (count) =>
        plural(count, { one: `${count} vaizdas arba įrašas`, few: `${count} vaizdai arba įrašai`, other: `${count} vaizdų arba įrašų` }),
      files: (count) => plural(count, { one: `${count} failas`, few: `${count} failai`, other: `${count} failų` }),
      system: (count) => plural(count, { one: `${count} sistemos žinutė`, few: `${count} sistemos žinutės`, other: `${count} sistemos žinučių` }),
      failed: (count) => plural(count, { one: `${count} klaida`, few: `${count} klaidos`, other: `${count} klaidų` }),
      other: (count) => plural(count, { one: `${count} kita dalis`, few: `${count} kitos dalys`, other: `${count} kitų dalių` }),
    },
    unreadable: (count) =>
      plural(count, {
        one: `${count} pokalbio nepavyksta perskaityti`,
        few: `${count} pokalbių nepavyksta perskaityti`,
        other: `${count} pokalbių nepavyksta perskaityti`,
      }),
    act: (count) => plural(count, { one: `Importuoti ${count} pokalbį`, few: `Importuoti ${count} pokalbius`, other: `Importuoti ${count} pokalbių` }),
    again: "Pasirinkti kitą failą",
    zip: {
      none: (name) => `Faile ${name} nėra conversations.json.`,
      broken: (name) => `Failas ${name} sugadintas arba yra tokio tipo ZIP, kurio čia perskaityti negalima. Išskleiskite jį ir pasirinkite JSON failą.`,
      tooBig: (name) => `Failas ${name} per didelis: daugiausia 64 MiB JSON.`,
    },
  },

  tree: {
    note: "Užpildyti taškai žymi rodomas žinutes. Pasirinkite žinutę, kad parodytumėte jos šaką.",
    empty: "(tuščia)",
  },

  settings: {
    title: "Pokalbio nustatymai",
    system: "Sistemos raginimas",
    systemHint: "Kaip modelis turėtų elgtis",
    temperature: "Temperatūra",
    maxTokens: "Žetonų riba",
    topP: "Top p",
    topK: "Top k",
    minP: "Min p",
    repetition: "Kartojimo bauda",
    presence: "Buvimo bauda",
    frequency: "Dažnio bauda",
    stop: "Stabdymo sekos (po vieną eilutėje)",
    seed: "Pradinė reikšmė",
    more: "Išplėstinė atranka",
    window: (tokens) => `Konteksto langas: ${tokens} žetonų`,
    random: "atsitiktinė",
    noLimit: "nėra",
    default: "numatytoji",
    thinking: "Mąstymas",
    modes: {
      slow: "Visada pirma mąstyti",
      auto: "Tegul sprendžia modelis",
      off: "Atsakyti iš karto",
    },
    note: "Pakeitimai galioja nuo kitos žinutės. Tuščiam laukui taikoma rodoma numatytoji reikšmė.",
  },

  presets: {
    label: "Nustatymų rinkinys",
    none: "Pasirinkite rinkinį…",
    ofNewChats: (name) => `${name} (nauji pokalbiai)`,
    add: "Išsaugoti kaip rinkinį…",
    change: "Keisti rinkinį…",
    remove: "Ištrinti rinkinį",
    name: "Rinkinio pavadinimas",
    default: "Naudoti naujiems pokalbiams",
    save: "Išsaugoti rinkinį",
  },

  appearance: {
    theme: "Tema",
    themes: {
      system: "Sistemos",
      light: "Šviesi",
      dark: "Tamsi",
    },
    size: "Teksto dydis",
    language: "Kalba",
    notifications: "Pranešimai",
    notify: "Pranešti, kai atsakymas baigiamas, o ši kortelė paslėpta",
    notifyInsecure: "Pranešimams ir Ebb diegimui kaip programėlės reikia HTTPS arba naršyklės pačiame serverio kompiuteryje.",
    notifyRefused: "Naršyklė šiam puslapiui neleidžia rodyti pranešimų.",
    tierMarks: "Žymėti, kur podėlyje yra kiekvienas pokalbis",
    tierMarksNote: "Kuo arčiau pokalbio podėlis, tuo anksčiau prasideda kitas atsakymas.",
  },

  help: {
    title: "Spartieji klavišai",
    palette: "Ieškoti pokalbių ir komandų",
    search: "Ieškoti pokalbių sąraše",
    new: "Naujas pokalbis",
    sidebar: "Rodyti arba slėpti pokalbių sąrašą",
    send: "Siųsti žinutę",
    prompts: "Išsaugoti raginimai, tuščioje žinutėje",
    newline: "Nauja eilutė",
    stop: "Stabdyti atsakymą arba uždaryti atvertą skydelį",
    walk: "Ankstesnis arba kitas sąrašo pokalbis",
    undo: "Anuliuoti trynimą arba archyvavimą",
    branches: "Ankstesnė arba kita versija, kai pasirinkta ‹ ›",
    this: "Šis sąrašas",
    change: (action) => `Keisti klavišus: ${action}`,
    press: "Paspauskite naujus klavišus arba „Esc“",
    without: (ctrl) => `Laikykite nuspaudę ${ctrl} ir paspauskite raidę arba kitą simbolį.`,
    occupied: (keys) => `Klavišus ${keys} naudoja naršyklė arba teksto laukai. Pasirinkite kitus.`,
    taken: (keys, action) => `Klavišai ${keys} jau naudojami: ${action}. Pasirinkite kitus.`,
    reset: "Atkurti numatytuosius klavišus",
  },
};
