import { pluralsOf } from "../plurals";
import type { OrganizeTexts } from "../en/organize";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("cs");

/** Czech texts for folders, tags and the selection of chats. */
export const texts: PartialTexts<OrganizeTexts> = {
  folders: "Složky",
  tags: "Štítky",
  inFolder: (name, count) => plural(count, { one: `${name}, 1 chat`, few: `${name}, ${count} chaty`, other: `${name}, ${count} chatů` }),
  empty: "Tato složka je prázdná.",
  remove: "Smazat složku",
  removed: (name, parent) =>
    parent === null
      ? `Složka „${name}“ byla smazána. Její obsah je v seznamu.`
      : `Složka „${name}“ byla smazána. Její obsah je ve složce „${parent}“.`,
  notChanged: "Složka nebyla změněna.",
  deleted: (name) => `Smazáno: „${name}“.`,

  newFolder: "Nová složka",
  newInside: "Nová složka uvnitř této",
  settings: "Nastavení složky",
  place: "Nadřazená složka",
  top: "Žádná",
  systemPromptHint: "Začínají jím nové chaty v této složce. Používají ho i podsložky, pokud nemají vlastní.",

  back: "Zpět na všechny chaty",
  backTo: (name) => `Zpět: ${name}`,
  noArchived: "Žádné archivované chaty.",

  chat: {
    name: "Název chatu",
    notRenamed: "Chat nebyl přejmenován.",
    rename: "Přejmenovat",
    pin: "Připnout",
    unpin: "Odepnout",
    archive: "Archivovat",
    unarchive: "Zrušit archivaci",
    organize: "Složka a štítky…",
    select: "Vybrat chaty",
    share: "Sdílet…",
    exportMarkdown: "Exportovat jako Markdown",
    exportText: "Exportovat jako prostý text",
    exportJson: "Exportovat jako JSON",
    exportAll: "Exportovat všechny chaty",
    import: "Importovat chaty…",
    delete: "Smazat",
    deleteTitle: "Smazat tento chat?",
    deleteText: (title) => `Chat „${title}“ se přesune do Nedávno smazaných. Odtud ho můžete obnovit.`,
    deleted: (title) => `Chat „${title}“ byl smazán.`,
    archivedNotice: (title) => `Chat „${title}“ byl archivován.`,
    notDeleted: "Chat nebyl smazán.",
    notRestored: "Chat nebyl obnoven.",
  },

  share: {
    title: (title) => `Sdílet „${title}“`,
    list: "Sdílené odkazy",
    note: "Každý, kdo má odkaz, si může chat v současné podobě přečíst bez přihlášení. Pozdější zprávy, jiné větve, systémový prompt ani úvahy se nezobrazují.",
    leftOut: "Diagramy a vložené obrázky jsou tam zobrazeny jako text.",
    days: "Platnost skončí za",
    day: (count) => plural(count, { one: "1 den", few: `${count} dny`, other: `${count} dní` }),
    receipts: "Zobrazovat, kde byl každý prompt v mezipaměti",
    create: "Vytvořit odkaz",
    link: "Odkaz",
    qr: "QR kód odkazu",
    once: "Zkopírujte si odkaz teď. Znovu ho nelze zobrazit.",
    none: "Žádné sdílené odkazy.",
    until: (time) => `platnost končí: ${time}`,
    remove: (title) => `Smazat odkaz na ${title}`,
    delete: "Smazat",
  },

  dialog: {
    title: (count) => plural(count, { one: "Složka a štítky", few: `Složka a štítky ${count} chatů`, other: `Složka a štítky ${count} chatů` }),
    folder: "Složka",
    none: "Bez složky",
    mixed: "Ponechat beze změny",
    create: "Nová složka…",
    name: "Název složky",
    tags: "Štítky",
    add: "Přidat štítek",
    hint: "Enter přidá štítek.",
    take: (tag) => `Odebrat štítek ${tag}`,
  },

  filters: {
    count: (count) => (count === 0 ? "Filtry" : `Filtry: ${count}`),
    role: "Autor",
    roles: {
      "": "Kdokoli",
      user: "Vy",
      assistant: "Ebb",
    },
    period: "Kdy",
    periods: {
      any: "Kdykoli",
      day: "Dnes",
      week: "Posledních 7 dní",
      month: "Posledních 30 dní",
      year: "Posledních 12 měsíců",
      range: "Mezi dvěma dny…",
    },
    from: "První den",
    to: "Poslední den",
    folder: "Složka",
    anyFolder: "Libovolná složka",
    tag: "Štítek",
    anyTag: "Libovolný štítek",
    archived: "Archiv",
    archives: {
      "": "Všechny chaty",
      false: "Bez archivovaných chatů",
      true: "Jen archivované chaty",
    },
    clear: "Vymazat filtry",
  },

  selection: {
    label: "Vybrané chaty",
    count: (count) => `Vybráno: ${count}`,
    all: "Vybrat vše",
    organize: "Složka a štítky…",
    archive: "Archivovat",
    unarchive: "Zrušit archivaci",
    export: "Exportovat jako JSON",
    delete: "Smazat",
    done: "Ukončit výběr",
    deleteTitle: (count) => plural(count, { one: "Smazat 1 chat?", few: `Smazat ${count} chaty?`, other: `Smazat ${count} chatů?` }),
    deleteText: "Přesunou se do Nedávno smazaných. Odtud je můžete obnovit.",
    deleted: (count) => plural(count, { one: "Byl smazán 1 chat.", few: `Byly smazány ${count} chaty.`, other: `Bylo smazáno ${count} chatů.` }),
    archived: (count) => plural(count, { one: "Byl archivován 1 chat.", few: `Byly archivovány ${count} chaty.`, other: `Bylo archivováno ${count} chatů.` }),
    unarchived: (count) =>
      plural(count, {
        one: "U 1 chatu byla zrušena archivace.",
        few: `U ${count} chatů byla zrušena archivace.`,
        other: `U ${count} chatů byla zrušena archivace.`,
      }),
    failed: "Chaty nebyly změněny.",
    notExported: "Chaty nebyly exportovány.",
    progress: (done, total) => `Chaty: ${done} z ${total}`,
    partly: (done, total) => `Změněno chatů: ${done} z ${total}.`,
  },
};
