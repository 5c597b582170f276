import { pluralsOf } from "../plurals";
import type { DialogTexts } from "../en/dialogs";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("ro");

/** Romanian texts for the dialogs. */
export const texts: PartialTexts<DialogTexts> = {
  deleted: {
    note: "Restaurează un chat sau șterge-l definitiv. Chaturile de aici ocupă din spațiul tău de stocare.",
    none: "Niciun chat șters recent.",
    when: (time, left) => `Șters: ${time} · ${left}`,
    left: (days) => plural(days, { one: `a rămas ${days} zi`, few: `au rămas ${days} zile`, other: `au rămas ${days} de zile` }),
    leftToday: "a rămas mai puțin de o zi",
    messages: "Mesaje șterse",
    restore: "Restaurează",
    restoreOf: (title) => `Restaurează „${title}”`,
    restoreAll: "Restaurează tot",
    erase: "Șterge definitiv",
    eraseOf: (title) => `Șterge definitiv: „${title}”`,
    eraseAll: "Șterge tot definitiv",
    eraseTitle: (title) => `Ștergi definitiv „${title}”?`,
    eraseAllTitle: (count) =>
      plural(count, {
        one: `Ștergi definitiv ${count} chat?`,
        few: `Ștergi definitiv ${count} chaturi?`,
        other: `Ștergi definitiv ${count} de chaturi?`,
      }),
    eraseText: "Această acțiune nu poate fi anulată.",
    allTitle: "Ștergi toate chaturile?",
    allText: "Toate chaturile, inclusiv cele arhivate, trec în „Șterse recent”. Le poți restaura de acolo.",
    allAction: "Șterge-le pe toate",
    allMoved: (count) =>
      plural(count, { one: `${count} chat a fost șters.`, few: `${count} chaturi au fost șterse.`, other: `${count} de chaturi au fost șterse.` }),
  },

  import: {
    imported: (count) =>
      plural(count, {
        one: `${count} chat a fost importat.`,
        few: `${count} chaturi au fost importate.`,
        other: `${count} de chaturi au fost importate.`,
      }),
    skipped: (count) =>
      plural(count, { one: `${count} chat era deja aici.`, few: `${count} chaturi erau deja aici.`, other: `${count} de chaturi erau deja aici.` }),
    notImported: "Nu s-a importat nimic.",
    title: "Importă chaturi",
    drop: "Trage un fișier aici sau alege unul",
    formats: "Un export din Ebb, ChatGPT, Claude, llama.cpp, LibreChat sau Open WebUI: fișierul JSON sau arhiva ZIP care îl conține.",
    reading: "Se citește fișierul…",
    importing: "Se importă…",
    found: (name, count) =>
      plural(count, { one: `${count} chat din ${name}`, few: `${count} chaturi din ${name}`, other: `${count} de chaturi din ${name}` }),
    all: "Toate chaturile",
    messages: (count) => plural(count, { one: `${count} mesaj`, few: `${count} mesaje`, other: `${count} de mesaje` }),
    branches: (count) => plural(count, { one: `${count} ramură`, few: `${count} ramuri`, other: `${count} de ramuri` }),
    here: "deja aici",
    leftOut: (parts) => `omis: ${parts}`,
    kinds: {
      tools: (count) =>
        plural(count, { one: `${count} mesaj de instrument`, few: `${count} mesaje de instrumente`, other: `${count} de mesaje de instrumente` }),
      media: (count) =>
        plural(count, {
          one: `${count} imagine sau înregistrare`,
          few: `${count} imagini sau înregistrări`,
          other: `${count} de imagini sau înregistrări`,
        }),
      files: (count) => plural(count, { one: `${count} fișier`, few: `${count} fișiere`, other: `${count} de fișiere` }),
      system: (count) => plural(count, { one: `${count} mesaj de sistem`, few: `${count} mesaje de sistem`, other: `${count} de mesaje de sistem` }),
      failed: (count) => plural(count, { one: `${count} eroare`, few: `${count} erori`, other: `${count} de erori` }),
      other: (count) => plural(count, { one: `${count} alt element`, few: `${count} alte elemente`, other: `${count} de alte elemente` }),
    },
    unreadable: (count) =>
      plural(count, {
        one: `${count} chat nu poate fi citit`,
        few: `${count} chaturi nu pot fi citite`,
        other: `${count} de chaturi nu pot fi citite`,
      }),
    act: (count) => plural(count, { one: `Importă ${count} chat`, few: `Importă ${count} chaturi`, other: `Importă ${count} de chaturi` }),
    again: "Alege alt fișier",
    zip: {
      none: (name) => `${name} nu conține conversations.json.`,
      broken: (name) => `${name} este deteriorat sau este un tip de ZIP care nu poate fi citit aici. Dezarhivează-l și alege fișierul JSON.`,
      tooBig: (name) => `${name} este prea mare: cel mult 64 MiB de JSON.`,
    },
  },

  tree: {
    note: "Punctele pline marchează mesajele afișate. Alege un mesaj ca să îi vezi ramura.",
    empty: "(gol)",
  },

  settings: {
    title: "Setările chatului",
    system: "Prompt de sistem",
    systemHint: "Cum să se comporte modelul",
    temperature: "Temperatură",
    maxTokens: "Limită de tokenuri",
    topP: "Top p",
    topK: "Top k",
    minP: "Min p",
    repetition: "Penalizare pentru repetiție",
    presence: "Penalizare pentru prezență",
    frequency: "Penalizare pentru frecvență",
    stop: "Secvențe de oprire (una pe rând)",
    seed: "Seed",
    more: "Eșantionare avansată",
    window: (tokens) => `Fereastra de context, în tokenuri: ${tokens}`,
    random: "aleatoriu",
    noLimit: "fără",
    default: "implicit",
    thinking: "Gândire",
    modes: {
      slow: "Gândește întotdeauna întâi",
      auto: "Lasă modelul să decidă",
      off: "Răspunde imediat",
    },
    note: "Modificările se aplică de la următorul mesaj. Un câmp gol folosește valoarea implicită afișată.",
  },

  presets: {
    label: "Presetare",
    none: "Alege o presetare…",
    ofNewChats: (name) => `${name} (chaturi noi)`,
    add: "Salvează ca presetare…",
    change: "Modifică presetarea…",
    remove: "Șterge presetarea",
    name: "Numele presetării",
    default: "Folosește pentru chaturi noi",
    save: "Salvează presetarea",
  },

  appearance: {
    theme: "Temă",
    themes: {
      system: "Sistem",
      light: "Luminoasă",
      dark: "Întunecată",
    },
    size: "Dimensiunea textului",
    language: "Limbă",
    notifications: "Notificări",
    notify: "Anunță-mă când se încheie un răspuns cât timp această filă este ascunsă",
    notifyInsecure: "Notificările și instalarea Ebb ca aplicație necesită HTTPS sau un browser chiar pe calculatorul serverului.",
    notifyRefused: "Browserul nu permite notificări pentru această pagină.",
    tierMarks: "Marchează unde este în cache fiecare chat",
    tierMarksNote: "Cu cât cache-ul unui chat este mai aproape, cu atât următorul răspuns începe mai repede.",
  },

  help: {
    title: "Comenzi rapide de la tastatură",
    palette: "Caută chaturi și comenzi",
    search: "Caută în lista de chaturi",
    new: "Chat nou",
    sidebar: "Afișează sau ascunde lista de chaturi",
    send: "Trimite mesajul",
    prompts: "Prompturi salvate, într-un mesaj gol",
    newline: "Rând nou",
    stop: "Oprește răspunsul sau închide panoul deschis",
    walk: "Chatul anterior sau următor din listă",
    undo: "Anulează o ștergere sau o arhivare",
    branches: "Versiunea anterioară sau următoare, cu focalizarea pe ‹ ›",
    this: "Această listă",
    change: (action) => `Schimbă tastele: ${action}`,
    press: "Apasă noile taste sau Esc",
    without: (ctrl) => `Ține apăsat ${ctrl} și apasă o literă sau alt caracter.`,
    occupied: (keys) => `${keys} aparține browserului sau câmpurilor de text. Alege alte taste.`,
    taken: (keys, action) => `${keys} este deja în uz: ${action}. Alege alte taste.`,
    reset: "Restaurează tastele implicite",
  },
};
