import { pluralsOf } from "../plurals";
import type { OrganizeTexts } from "../en/organize";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("lv");

/** Latvian texts for folders, tags and the selection of chats. */
export const texts: PartialTexts<OrganizeTexts> = {
  folders: "Mapes",
  tags: "Birkas",
  inFolder: (name, count) => plural(count, { zero: `${name}, ${count} tērzēšanu`, one: `${name}, ${count} tērzēšana`, other: `${name}, ${count} tērzēšanas` }),
  empty: "Šī mape ir tukša.",
  remove: "Dzēst mapi",
  removed: (name, parent) =>
    parent === null ? `Mape „${name}” ir izdzēsta. Tās saturs ir sarakstā.` : `Mape „${name}” ir izdzēsta. Tās saturs ir mapē „${parent}”.`,
  notChanged: "Mape netika mainīta.",
  deleted: (name) => `Izdzēsts: „${name}”.`,

  newFolder: "Jauna mape",
  newInside: "Jauna mape šajā mapē",
  settings: "Mapes iestatījumi",
  place: "Atrodas mapē",
  top: "Ārpus citām mapēm",
  systemPromptHint: "Ar to sākas jaunas tērzēšanas šajā mapē. To izmanto arī iekšējās mapes, ja tām nav savas.",

  back: "Atpakaļ uz visām tērzēšanām",
  backTo: (name) => `Atpakaļ uz ${name}`,
  noArchived: "Nav arhivētu tērzēšanu.",

  chat: {
    name: "Tērzēšanas nosaukums",
    notRenamed: "Tērzēšana netika pārdēvēta.",
    rename: "Pārdēvēt",
    pin: "Piespraust",
    unpin: "Atspraust",
    archive: "Arhivēt",
    unarchive: "Izņemt no arhīva",
    organize: "Mape un birkas…",
    select: "Atlasīt tērzēšanas",
    share: "Kopīgot…",
    exportMarkdown: "Eksportēt kā Markdown",
    exportText: "Eksportēt kā vienkāršu tekstu",
    exportJson: "Eksportēt kā JSON",
    exportAll: "Eksportēt visas tērzēšanas",
    import: "Importēt tērzēšanas…",
    delete: "Dzēst",
    deleteTitle: "Vai dzēst šo tērzēšanu?",
    deleteText: (title) => `„${title}” tiek pārvietota uz „Nesen izdzēstās”. No turienes to var atjaunot.`,
    deleted: (title) => `„${title}” ir izdzēsta.`,
    archivedNotice: (title) => `„${title}” ir arhivēta.`,
    notDeleted: "Tērzēšana netika izdzēsta.",
    notRestored: "Tērzēšana netika atjaunota.",
  },

  share: {
    title: (title) => `Kopīgot „${title}”`,
    list: "Kopīgotās saites",
    note: "Ikviens, kam ir saite, var lasīt tērzēšanu tādu, kāda tā ir tagad, nepierakstoties. Vēlākas ziņas, citi zari, sistēmas uzvedne un domu gaita netiek rādīti.",
    leftOut: "Tur diagrammas un iegultie attēli ir redzami kā teksts.",
    days: "Derīguma termiņš",
    day: (count) => plural(count, { zero: `${count} dienu`, one: `${count} diena`, other: `${count} dienas` }),
    receipts: "Rādīt, kur bija katras uzvednes kešatmiņa",
    create: "Izveidot saiti",
    link: "Saite",
    qr: "Saites QR kods",
    once: "Nokopējiet saiti tūlīt. Vēlreiz to parādīt nevar.",
    none: "Nav kopīgotu saišu.",
    until: (time) => `derīga līdz: ${time}`,
    remove: (title) => `Dzēst saiti uz „${title}”`,
    delete: "Dzēst",
  },

  dialog: {
    title: (count) =>
      count === 1
        ? "Mape un birkas"
        : plural(count, { zero: `Mape un birkas ${count} tērzēšanām`, one: `Mape un birkas ${count} tērzēšanai`, other: `Mape un birkas ${count} tērzēšanām` }),
    folder: "Mape",
    none: "Bez mapes",
    mixed: "Atstāt, kā ir",
    create: "Jauna mape…",
    name: "Mapes nosaukums",
    tags: "Birkas",
    add: "Pievienot birku",
    hint: "Enter pievieno birku.",
    take: (tag) => `Noņemt birku ${tag}`,
  },

  filters: {
    count: (count) => (count === 0 ? "Filtri" : `Filtri: ${count}`),
    role: "Autors",
    roles: {
      "": "Jebkurš",
      user: "Jūs",
      assistant: "Ebb",
    },
    period: "Kad",
    periods: {
      any: "Jebkurā laikā",
      day: "Šodien",
      week: "Pēdējās 7 dienas",
      month: "Pēdējās 30 dienas",
      year: "Pēdējie 12 mēneši",
      range: "Starp divām dienām…",
    },
    from: "Pirmā diena",
    to: "Pēdējā diena",
    folder: "Mape",
    anyFolder: "Jebkura mape",
    tag: "Birka",
    anyTag: "Jebkura birka",
    archived: "Arhīvs",
    archives: {
      "": "Visas tērzēšanas",
      false: "Bez arhivētajām tērzēšanām",
      true: "Tikai arhivētās tērzēšanas",
    },
    clear: "Notīrīt filtrus",
  },

  selection: {
    label: "Atlasītās tērzēšanas",
    count: (count) => `Atlasīts: ${count}`,
    all: "Atlasīt visas",
    organize: "Mape un birkas…",
    archive: "Arhivēt",
    unarchive: "Izņemt no arhīva",
    export: "Eksportēt kā JSON",
    delete: "Dzēst",
    done: "Beigt atlasi",
    deleteTitle: (count) => plural(count, { zero: `Vai dzēst ${count} tērzēšanu?`, one: `Vai dzēst ${count} tērzēšanu?`, other: `Vai dzēst ${count} tērzēšanas?` }),
    deleteText: "Tās tiek pārvietotas uz „Nesen izdzēstās”. No turienes tās var atjaunot.",
    deleted: (count) => plural(count, { zero: `Izdzēstas ${count} tērzēšanas.`, one: `Izdzēsta ${count} tērzēšana.`, other: `Izdzēstas ${count} tērzēšanas.` }),
    archived: (count) => plural(count, { zero: `Arhivētas ${count} tērzēšanas.`, one: `Arhivēta ${count} tērzēšana.`, other: `Arhivētas ${count} tērzēšanas.` }),
    unarchived: (count) =>
      plural(count, {
        zero: `No arhīva izņemtas ${count} tērzēšanas.`,
        one: `No arhīva izņemta ${count} tērzēšana.`,
        other: `No arhīva izņemtas ${count} tērzēšanas.`,
      }),
    failed: "Tērzēšanas netika mainītas.",
    notExported: "Tērzēšanas netika eksportētas.",
    progress: (done, total) => `Tērzēšanas: ${done} no ${total}`,
    partly: (done, total) => `Mainītas tērzēšanas: ${done} no ${total}.`,
  },
};
