import { pluralsOf } from "../plurals";
import type { OrganizeTexts } from "../en/organize";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("hr");

/** Croatian texts for folders, tags and the selection of chats. */
export const texts: PartialTexts<OrganizeTexts> = {
  folders: "Mape",
  tags: "Oznake",
  inFolder: (name, count) =>
    plural(count, { one: `${name}, ${count} razgovor`, few: `${name}, ${count} razgovora`, other: `${name}, ${count} razgovora` }),
  empty: "Ova je mapa prazna.",
  remove: "Izbriši mapu",
  removed: (name, parent) =>
    parent === null
      ? `Mapa „${name}” izbrisana je. Njezin je sadržaj na popisu.`
      : `Mapa „${name}” izbrisana je. Njezin je sadržaj u mapi „${parent}”.`,
  notChanged: "Mapa nije promijenjena.",
  deleted: (name) => `Izbrisano: „${name}”.`,

  newFolder: "Nova mapa",
  newInside: "Nova mapa u ovoj mapi",
  settings: "Postavke mape",
  place: "Nadređena mapa",
  top: "Nijedna",
  systemPromptHint: "Njime počinju novi razgovori u ovoj mapi. Upotrebljavaju ga i podmape, osim ako imaju vlastiti.",

  back: "Natrag na sve razgovore",
  backTo: (name) => `Natrag: ${name}`,
  noArchived: "Nema arhiviranih razgovora.",

  chat: {
    name: "Naziv razgovora",
    notRenamed: "Razgovor nije preimenovan.",
    rename: "Preimenuj",
    pin: "Prikvači",
    unpin: "Otkvači",
    archive: "Arhiviraj",
    unarchive: "Vrati iz arhive",
    organize: "Mapa i oznake…",
    select: "Odaberi razgovore",
    share: "Podijeli…",
    exportMarkdown: "Izvezi kao Markdown",
    exportText: "Izvezi kao obični tekst",
    exportJson: "Izvezi kao JSON",
    exportAll: "Izvezi sve razgovore",
    import: "Uvezi razgovore…",
    delete: "Izbriši",
    deleteTitle: "Izbrisati ovaj razgovor?",
    deleteText: (title) => `Razgovor „${title}” premješta se u „Nedavno izbrisano”. Odatle ga možete vratiti.`,
    deleted: (title) => `Razgovor „${title}” izbrisan je.`,
    archivedNotice: (title) => `Razgovor „${title}” arhiviran je.`,
    notDeleted: "Razgovor nije izbrisan.",
    notRestored: "Razgovor nije vraćen.",
  },

  share: {
    title: (title) => `Podijeli „${title}”`,
    list: "Podijeljene poveznice",
    note: "Svatko tko ima poveznicu može bez prijave pročitati razgovor kakav je sada. Kasnije poruke, druge grane, sistemski prompt i razmišljanje ne prikazuju se.",
    leftOut: "Dijagrami i ugrađene slike ondje su prikazani kao tekst.",
    days: "Istječe za",
    day: (count) => plural(count, { one: `${count} dan`, few: `${count} dana`, other: `${count} dana` }),
    receipts: "Prikaži gdje je svaki prompt bio u predmemoriji",
    create: "Stvori poveznicu",
    link: "Poveznica",
    qr: "QR kod poveznice",
    once: "Kopirajte poveznicu sada. Ne može se ponovno prikazati.",
    none: "Nema podijeljenih poveznica.",
    until: (time) => `istječe: ${time}`,
    remove: (title) => `Izbriši poveznicu na ${title}`,
    delete: "Izbriši",
  },

  dialog: {
    title: (count) =>
      count === 1
        ? "Mapa i oznake"
        : plural(count, {
            one: `Mapa i oznake za ${count} razgovor`,
            few: `Mapa i oznake za ${count} razgovora`,
            other: `Mapa i oznake za ${count} razgovora`,
          }),
    folder: "Mapa",
    none: "Bez mape",
    mixed: "Ostavi kako jest",
    create: "Nova mapa…",
    name: "Naziv mape",
    tags: "Oznake",
    add: "Dodaj oznaku",
    hint: "Enter dodaje oznaku.",
    take: (tag) => `Ukloni oznaku ${tag}`,
  },

  filters: {
    count: (count) => (count === 0 ? "Filtri" : `Filtri: ${count}`),
    role: "Autor",
    roles: {
      "": "Bilo tko",
      user: "Vi",
      assistant: "Ebb",
    },
    period: "Kada",
    periods: {
      any: "Bilo kada",
      day: "Danas",
      week: "Posljednjih 7 dana",
      month: "Posljednjih 30 dana",
      year: "Posljednjih 12 mjeseci",
      range: "Između dva dana…",
    },
    from: "Prvi dan",
    to: "Zadnji dan",
    folder: "Mapa",
    anyFolder: "Bilo koja mapa",
    tag: "Oznaka",
    anyTag: "Bilo koja oznaka",
    archived: "Arhiva",
    archives: {
      "": "Svi razgovori",
      false: "Bez arhiviranih razgovora",
      true: "Samo arhivirani razgovori",
    },
    clear: "Očisti filtre",
  },

  selection: {
    label: "Odabrani razgovori",
    count: (count) => `Odabrano: ${count}`,
    all: "Odaberi sve",
    organize: "Mapa i oznake…",
    archive: "Arhiviraj",
    unarchive: "Vrati iz arhive",
    export: "Izvezi kao JSON",
    delete: "Izbriši",
    done: "Završi odabir",
    deleteTitle: (count) =>
      plural(count, { one: `Izbrisati ${count} razgovor?`, few: `Izbrisati ${count} razgovora?`, other: `Izbrisati ${count} razgovora?` }),
    deleteText: "Premještaju se u „Nedavno izbrisano”. Odatle ih možete vratiti.",
    deleted: (count) =>
      plural(count, { one: `Izbrisan je ${count} razgovor.`, few: `Izbrisana su ${count} razgovora.`, other: `Izbrisano je ${count} razgovora.` }),
    archived: (count) =>
      plural(count, { one: `Arhiviran je ${count} razgovor.`, few: `Arhivirana su ${count} razgovora.`, other: `Arhivirano je ${count} razgovora.` }),
    unarchived: (count) =>
      plural(count, {
        one: `Iz arhive je vraćen ${count} razgovor.`,
        few: `Iz arhive su vraćena ${count} razgovora.`,
        other: `Iz arhive je vraćeno ${count} razgovora.`,
      }),
    failed: "Razgovori nisu promijenjeni.",
    notExported: "Razgovori nisu izvezeni.",
    progress: (done, total) => `Razgovori: ${done} od ${total}`,
    partly: (done, total) => `Promijenjeno razgovora: ${done} od ${total}.`,
  },
};
