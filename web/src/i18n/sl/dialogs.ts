import { pluralsOf } from "../plurals";
import type { DialogTexts } from "../en/dialogs";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("sl");

/** Slovenian texts for the dialogs. */
export const texts: PartialTexts<DialogTexts> = {
  deleted: {
    note: "Obnovite klepet ali ga trajno izbrišite. Klepeti tukaj zasedajo vašo shrambo.",
    none: "Ni nedavno izbrisanih klepetov.",
    when: (time, left) => `Izbrisano: ${time} · ${left}`,
    left: (days) => plural(days, { one: `še ${days} dan`, two: `še ${days} dneva`, few: `še ${days} dni`, other: `še ${days} dni` }),
    leftToday: "še manj kot en dan",
    messages: "Izbrisana sporočila",
    restore: "Obnovi",
    restoreOf: (title) => `Obnovi »${title}«`,
    restoreAll: "Obnovi vse",
    erase: "Trajno izbriši",
    eraseOf: (title) => `Trajno izbriši: »${title}«`,
    eraseAll: "Trajno izbriši vse",
    eraseTitle: (title) => `Želite trajno izbrisati »${title}«?`,
    eraseAllTitle: (count) =>
      plural(count, {
        one: `Želite trajno izbrisati ${count} klepet?`,
        two: `Želite trajno izbrisati ${count} klepeta?`,
        few: `Želite trajno izbrisati ${count} klepete?`,
        other: `Želite trajno izbrisati ${count} klepetov?`,
      }),
    eraseText: "Tega ni mogoče razveljaviti.",
    allTitle: "Želite izbrisati vse klepete?",
    allText: "Vsi klepeti, tudi arhivirani, se premaknejo v »Nedavno izbrisano«. Od tam jih lahko obnovite.",
    allAction: "Izbriši vse",
    allMoved: (count) =>
      plural(count, {
        one: `Izbrisan je ${count} klepet.`,
        two: `Izbrisana sta ${count} klepeta.`,
        few: `Izbrisani so ${count} klepeti.`,
        other: `Izbrisanih je ${count} klepetov.`,
      }),
  },

  import: {
    imported: (count) =>
      plural(count, {
        one: `Uvožen je ${count} klepet.`,
        two: `Uvožena sta ${count} klepeta.`,
        few: `Uvoženi so ${count} klepeti.`,
        other: `Uvoženih je ${count} klepetov.`,
      }),
    skipped: (count) =>
      plural(count, {
        one: `${count} klepet je že bil tukaj.`,
        two: `${count} klepeta sta že bila tukaj.`,
        few: `${count} klepeti so že bili tukaj.`,
        other: `${count} klepetov je že bilo tukaj.`,
      }),
    notImported: "Nič ni bilo uvoženo.",
    title: "Uvoz klepetov",
    drop: "Spustite datoteko sem ali jo izberite",
    formats: "Izvoz iz Ebb, ChatGPT, Claude, llama.cpp, LibreChat ali Open WebUI: datoteka JSON ali arhiv ZIP, ki jo vsebuje.",
    reading: "Branje datoteke…",
    importing: "Uvažanje…",
    found: (name, count) =>
      plural(count, { one: `${count} klepet iz ${name}`, two: `${count} klepeta iz ${name}`, few: `${count} klepeti iz ${name}`, other: `${count} klepetov iz ${name}` }),
    all: "Vsi klepeti",
    messages: (count) => plural(count, { one: `${count} sporočilo`, two: `${count} sporočili`, few: `${count} sporočila`, other: `${count} sporočil` }),
    branches: (count) => plural(count, { one: `${count} veja`, two: `${count} veji`, few: `${count} veje`, other: `${count} vej` }),
    here: "že tukaj",
    leftOut: (parts) => `izpuščeno: ${parts}`,
    kinds: {
      tools: (count) =>
        plural(count, { one: `${count} sporočilo orodja`, two: `${count} sporočili orodij`, few: `${count} sporočila orodij`, other: `${count} sporočil orodij` }),
      media: (count) =>
        plural(count, {
          one: `${count} slika ali posnetek`,
          two: `${count} sliki ali posnetka`,
          few: `${count} slike ali posnetki`,
          other: `${count} slik ali posnetkov`,
        }),
      files: (count) => plural(count, { one: `${count} datoteka`, two: `${count} datoteki`, few: `${count} datoteke`, other: `${count} datotek` }),
      system: (count) =>
        plural(count, {
          one: `${count} sistemsko sporočilo`,
          two: `${count} sistemski sporočili`,
          few: `${count} sistemska sporočila`,
          other: `${count} sistemskih sporočil`,
        }),
      failed: (count) => plural(count, { one: `${count} napaka`, two: `${count} napaki`, few: `${count} napake`, other: `${count} napak` }),
      other: (count) =>
        plural(count, { one: `${count} drug element`, two: `${count} druga elementa`, few: `${count} drugi elementi`, other: `${count} drugih elementov` }),
    },
    unreadable: (count) =>
      plural(count, {
        one: `${count} klepeta ni mogoče prebrati`,
        two: `${count} klepetov ni mogoče prebrati`,
        few: `${count} klepetov ni mogoče prebrati`,
        other: `${count} klepetov ni mogoče prebrati`,
      }),
    act: (count) =>
      plural(count, { one: `Uvozi ${count} klepet`, two: `Uvozi ${count} klepeta`, few: `Uvozi ${count} klepete`, other: `Uvozi ${count} klepetov` }),
    again: "Izberi drugo datoteko",
    zip: {
      none: (name) => `Datoteka ${name} ne vsebuje conversations.json.`,
      broken: (name) => `Datoteka ${name} je poškodovana ali pa take vrste ZIP tu ni mogoče prebrati. Razširite jo in izberite datoteko JSON.`,
      tooBig: (name) => `Datoteka ${name} je prevelika: največ 64 MiB JSON.`,
    },
  },

  tree: {
    note: "Polne pike označujejo prikazana sporočila. Izberite sporočilo, da pokažete njegovo vejo.",
    empty: "(prazno)",
  },

  settings: {
    title: "Nastavitve klepeta",
    system: "Sistemski poziv",
    systemHint: "Kako naj se model vede",
    temperature: "Temperatura",
    maxTokens: "Omejitev žetonov",
    topP: "Top p",
    topK: "Top k",
    minP: "Min p",
    repetition: "Kazen za ponavljanje",
    presence: "Kazen za prisotnost",
    frequency: "Kazen za pogostost",
    stop: "Ustavitvena zaporedja (eno na vrstico)",
    seed: "Seme",
    more: "Napredno vzorčenje",
    window: (tokens) => `Kontekstno okno: ${tokens} žetonov`,
    random: "naključno",
    noLimit: "brez",
    default: "privzeto",
    thinking: "Razmišljanje",
    modes: {
      slow: "Vedno najprej razmisli",
      auto: "Naj odloči model",
      off: "Odgovori takoj",
    },
    note: "Spremembe veljajo od naslednjega sporočila. Prazno polje uporabi prikazano privzeto vrednost.",
  },

  presets: {
    label: "Prednastavitev",
    none: "Izberite prednastavitev…",
    ofNewChats: (name) => `${name} (novi klepeti)`,
    add: "Shrani kot prednastavitev…",
    change: "Spremeni prednastavitev…",
    remove: "Izbriši prednastavitev",
    name: "Ime prednastavitve",
    default: "Uporabi za nove klepete",
    save: "Shrani prednastavitev",
  },

  appearance: {
    theme: "Tema",
    themes: {
      system: "Sistemska",
      light: "Svetla",
      dark: "Temna",
    },
    size: "Velikost besedila",
    language: "Jezik",
    notifications: "Obvestila",
    notify: "Obvesti me, ko se odgovor konča, ta zavihek pa je skrit",
    notifyInsecure: "Obvestila in namestitev Ebb kot aplikacije zahtevajo HTTPS ali brskalnik v računalniku strežnika.",
    notifyRefused: "Brskalnik tej strani ne dovoli obvestil.",
    tierMarks: "Označi, kje v predpomnilniku je posamezni klepet",
    tierMarksNote: "Čim bližje je predpomnilnik klepeta, tem prej se začne naslednji odgovor.",
  },

  help: {
    title: "Bližnjične tipke",
    palette: "Išči klepete in ukaze",
    search: "Išči po seznamu klepetov",
    new: "Nov klepet",
    sidebar: "Pokaži ali skrij seznam klepetov",
    send: "Pošlji sporočilo",
    prompts: "Shranjeni pozivi, v praznem sporočilu",
    newline: "Nova vrstica",
    stop: "Ustavi odgovor ali zapri odprto podokno",
    walk: "Prejšnji ali naslednji klepet na seznamu",
    undo: "Razveljavi brisanje ali arhiviranje",
    branches: "Prejšnja ali naslednja različica, ko je izbrano ‹ ›",
    this: "Ta seznam",
    change: (action) => `Spremeni tipke: ${action}`,
    press: "Pritisnite nove tipke ali Esc",
    without: (ctrl) => `Držite ${ctrl} in pritisnite črko ali drug znak.`,
    occupied: (keys) => `Bližnjico ${keys} uporablja brskalnik ali besedilna polja. Izberite druge tipke.`,
    taken: (keys, action) => `Bližnjica ${keys} je že v uporabi: ${action}. Izberite druge tipke.`,
    reset: "Obnovi privzete tipke",
  },
};
