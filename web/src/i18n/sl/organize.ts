import { pluralsOf } from "../plurals";
import type { OrganizeTexts } from "../en/organize";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("sl");

/** Slovenian texts for folders, tags and the selection of chats. */
export const texts: PartialTexts<OrganizeTexts> = {
  folders: "Mape",
  tags: "Oznake",
  inFolder: (name, count) =>
    plural(count, { one: `${name}, ${count} klepet`, two: `${name}, ${count} klepeta`, few: `${name}, ${count} klepeti`, other: `${name}, ${count} klepetov` }),
  empty: "Ta mapa je prazna.",
  remove: "Izbriši mapo",
  removed: (name, parent) =>
    parent === null
      ? `Mapa »${name}« je izbrisana. Njena vsebina je na seznamu.`
      : `Mapa »${name}« je izbrisana. Njena vsebina je v mapi »${parent}«.`,
  notChanged: "Mapa ni bila spremenjena.",
  deleted: (name) => `Izbrisano: »${name}«.`,

  newFolder: "Nova mapa",
  newInside: "Nova mapa v tej mapi",
  settings: "Nastavitve mape",
  place: "Nadrejena mapa",
  top: "Brez",
  systemPromptHint: "Z njim se začnejo novi klepeti v tej mapi. Uporabljajo ga tudi podmape, razen če imajo svojega.",

  back: "Nazaj na vse klepete",
  backTo: (name) => `Nazaj: ${name}`,
  noArchived: "Ni arhiviranih klepetov.",

  chat: {
    name: "Ime klepeta",
    notRenamed: "Klepet ni bil preimenovan.",
    rename: "Preimenuj",
    pin: "Pripni",
    unpin: "Odpni",
    archive: "Arhiviraj",
    unarchive: "Povrni iz arhiva",
    organize: "Mapa in oznake…",
    select: "Izberi klepete",
    share: "Deli…",
    exportMarkdown: "Izvozi kot Markdown",
    exportText: "Izvozi kot golo besedilo",
    exportJson: "Izvozi kot JSON",
    exportAll: "Izvozi vse klepete",
    import: "Uvozi klepete…",
    delete: "Izbriši",
    deleteTitle: "Želite izbrisati ta klepet?",
    deleteText: (title) => `Klepet »${title}« se premakne v »Nedavno izbrisano«. Od tam ga lahko obnovite.`,
    deleted: (title) => `Klepet »${title}« je izbrisan.`,
    archivedNotice: (title) => `Klepet »${title}« je arhiviran.`,
    notDeleted: "Klepet ni bil izbrisan.",
    notRestored: "Klepet ni bil obnovljen.",
  },

  share: {
    title: (title) => `Deli »${title}«`,
    list: "Deljene povezave",
    note: "Vsak, ki ima povezavo, lahko klepet v trenutni obliki prebere brez prijave. Poznejša sporočila, druge veje, sistemski poziv in razmišljanje niso prikazani.",
    leftOut: "Diagrami in vdelane slike so tam prikazani kot besedilo.",
    days: "Poteče čez",
    day: (count) => plural(count, { one: `${count} dan`, two: `${count} dneva`, few: `${count} dni`, other: `${count} dni` }),
    receipts: "Pokaži, kje v predpomnilniku je bil posamezni poziv",
    create: "Ustvari povezavo",
    link: "Povezava",
    qr: "Koda QR povezave",
    once: "Kopirajte povezavo zdaj. Ni je mogoče znova prikazati.",
    none: "Ni deljenih povezav.",
    until: (time) => `poteče: ${time}`,
    remove: (title) => `Izbriši povezavo do ${title}`,
    delete: "Izbriši",
  },

  dialog: {
    title: (count) => (count === 1 ? "Mapa in oznake" : `Mapa in oznake ${count} klepetov`),
    folder: "Mapa",
    none: "Brez mape",
    mixed: "Pusti nespremenjeno",
    create: "Nova mapa…",
    name: "Ime mape",
    tags: "Oznake",
    add: "Dodaj oznako",
    hint: "Enter doda oznako.",
    take: (tag) => `Odstrani oznako ${tag}`,
  },

  filters: {
    count: (count) => (count === 0 ? "Filtri" : `Filtri: ${count}`),
    role: "Avtor",
    roles: {
      "": "Kdor koli",
      user: "Vi",
      assistant: "Ebb",
    },
    period: "Kdaj",
    periods: {
      any: "Kadar koli",
      day: "Danes",
      week: "Zadnjih 7 dni",
      month: "Zadnjih 30 dni",
      year: "Zadnjih 12 mesecev",
      range: "Med dvema dnevoma…",
    },
    from: "Prvi dan",
    to: "Zadnji dan",
    folder: "Mapa",
    anyFolder: "Katera koli mapa",
    tag: "Oznaka",
    anyTag: "Katera koli oznaka",
    archived: "Arhiv",
    archives: {
      "": "Vsi klepeti",
      false: "Brez arhiviranih klepetov",
      true: "Samo arhivirani klepeti",
    },
    clear: "Počisti filtre",
  },

  selection: {
    label: "Izbrani klepeti",
    count: (count) => `Izbrano: ${count}`,
    all: "Izberi vse",
    organize: "Mapa in oznake…",
    archive: "Arhiviraj",
    unarchive: "Povrni iz arhiva",
    export: "Izvozi kot JSON",
    delete: "Izbriši",
    done: "Končaj izbiranje",
    deleteTitle: (count) =>
      plural(count, {
        one: `Želite izbrisati ${count} klepet?`,
        two: `Želite izbrisati ${count} klepeta?`,
        few: `Želite izbrisati ${count} klepete?`,
        other: `Želite izbrisati ${count} klepetov?`,
      }),
    deleteText: "Premaknejo se v »Nedavno izbrisano«. Od tam jih lahko obnovite.",
    deleted: (count) =>
      plural(count, {
        one: `Izbrisan je ${count} klepet.`,
        two: `Izbrisana sta ${count} klepeta.`,
        few: `Izbrisani so ${count} klepeti.`,
        other: `Izbrisanih je ${count} klepetov.`,
      }),
    archived: (count) =>
      plural(count, {
        one: `Arhiviran je ${count} klepet.`,
        two: `Arhivirana sta ${count} klepeta.`,
        few: `Arhivirani so ${count} klepeti.`,
        other: `Arhiviranih je ${count} klepetov.`,
      }),
    unarchived: (count) =>
      plural(count, {
        one: `Iz arhiva je povrnjen ${count} klepet.`,
        two: `Iz arhiva sta povrnjena ${count} klepeta.`,
        few: `Iz arhiva so povrnjeni ${count} klepeti.`,
        other: `Iz arhiva je povrnjenih ${count} klepetov.`,
      }),
    failed: "Klepeti niso bili spremenjeni.",
    notExported: "Klepeti niso bili izvoženi.",
    progress: (done, total) => `Klepeti: ${done} od ${total}`,
    partly: (done, total) => `Spremenjeni klepeti: ${done} od ${total}.`,
  },
};
