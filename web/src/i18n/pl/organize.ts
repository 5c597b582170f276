import { pluralsOf } from "../plurals";
import type { OrganizeTexts } from "../en/organize";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("pl");

/** Polish texts for folders, tags and the selection of chats. */
export const texts: PartialTexts<OrganizeTexts> = {
  folders: "Foldery",
  tags: "Tagi",
  inFolder: (name, count) => plural(count, { one: `${name}, 1 czat`, few: `${name}, ${count} czaty`, other: `${name}, ${count} czatów` }),
  empty: "Ten folder jest pusty.",
  remove: "Usuń folder",
  removed: (name, parent) =>
    parent === null
      ? `Usunięto folder „${name}”. Jego zawartość jest na liście.`
      : `Usunięto folder „${name}”. Jego zawartość jest w folderze „${parent}”.`,
  notChanged: "Folder nie został zmieniony.",
  deleted: (name) => `Usunięto „${name}”.`,

  newFolder: "Nowy folder",
  newInside: "Nowy folder w tym folderze",
  settings: "Ustawienia folderu",
  place: "Folder nadrzędny",
  top: "Brak",
  systemPromptHint: "Od niego zaczynają się nowe czaty w tym folderze. Używają go też podfoldery, chyba że mają własny.",

  back: "Wróć do wszystkich czatów",
  backTo: (name) => `Wróć do: ${name}`,
  noArchived: "Brak zarchiwizowanych czatów.",

  chat: {
    name: "Nazwa czatu",
    notRenamed: "Nazwa czatu nie została zmieniona.",
    rename: "Zmień nazwę",
    pin: "Przypnij",
    unpin: "Odepnij",
    archive: "Archiwizuj",
    unarchive: "Przywróć z archiwum",
    organize: "Folder i tagi…",
    select: "Zaznacz czaty",
    share: "Udostępnij…",
    exportMarkdown: "Eksportuj jako Markdown",
    exportText: "Eksportuj jako zwykły tekst",
    exportJson: "Eksportuj jako JSON",
    exportAll: "Eksportuj wszystkie czaty",
    import: "Importuj czaty…",
    delete: "Usuń",
    deleteTitle: "Usunąć ten czat?",
    deleteText: (title) => `„${title}” trafi do sekcji „Ostatnio usunięte”. Możesz go stamtąd przywrócić.`,
    deleted: (title) => `Usunięto „${title}”.`,
    archivedNotice: (title) => `Zarchiwizowano „${title}”.`,
    notDeleted: "Czat nie został usunięty.",
    notRestored: "Czat nie został przywrócony.",
  },

  share: {
    title: (title) => `Udostępnij „${title}”`,
    list: "Udostępnione linki",
    note: "Każdy, kto ma link, może bez logowania przeczytać czat w jego obecnej postaci. Późniejsze wiadomości, inne gałęzie, prompt systemowy i przemyślenia nie są pokazywane.",
    leftOut: "Diagramy i osadzone obrazy są tam pokazane jako tekst.",
    days: "Wygasa po",
    day: (count) => plural(count, { one: "1 dniu", few: `${count} dniach`, other: `${count} dniach` }),
    receipts: "Pokazuj, gdzie każdy prompt był w pamięci podręcznej",
    create: "Utwórz link",
    link: "Link",
    qr: "Kod QR linku",
    once: "Skopiuj link teraz. Nie można go pokazać ponownie.",
    none: "Nie ma udostępnionych linków.",
    until: (time) => `wygasa: ${time}`,
    remove: (title) => `Usuń link do: ${title}`,
    delete: "Usuń",
  },

  dialog: {
    title: (count) => plural(count, { one: "Folder i tagi", few: `Folder i tagi ${count} czatów`, other: `Folder i tagi ${count} czatów` }),
    folder: "Folder",
    none: "Bez folderu",
    mixed: "Pozostaw bez zmian",
    create: "Nowy folder…",
    name: "Nazwa folderu",
    tags: "Tagi",
    add: "Dodaj tag",
    hint: "Enter dodaje tag.",
    take: (tag) => `Usuń tag ${tag}`,
  },

  filters: {
    count: (count) => (count === 0 ? "Filtry" : `Filtry: ${count}`),
    role: "Autor",
    roles: {
      "": "Dowolny",
      user: "Ty",
      assistant: "Ebb",
    },
    period: "Kiedy",
    periods: {
      any: "Kiedykolwiek",
      day: "Dzisiaj",
      week: "Ostatnie 7 dni",
      month: "Ostatnie 30 dni",
      year: "Ostatnie 12 miesięcy",
      range: "Między dwoma dniami…",
    },
    from: "Pierwszy dzień",
    to: "Ostatni dzień",
    folder: "Folder",
    anyFolder: "Dowolny folder",
    tag: "Tag",
    anyTag: "Dowolny tag",
    archived: "Archiwum",
    archives: {
      "": "Wszystkie czaty",
      false: "Bez zarchiwizowanych czatów",
      true: "Tylko zarchiwizowane czaty",
    },
    clear: "Wyczyść filtry",
  },

  selection: {
    label: "Zaznaczone czaty",
    count: (count) => `Zaznaczono: ${count}`,
    all: "Zaznacz wszystkie",
    organize: "Folder i tagi…",
    archive: "Archiwizuj",
    unarchive: "Przywróć z archiwum",
    export: "Eksportuj jako JSON",
    delete: "Usuń",
    done: "Zakończ zaznaczanie",
    deleteTitle: (count) => plural(count, { one: "Usunąć 1 czat?", few: `Usunąć ${count} czaty?`, other: `Usunąć ${count} czatów?` }),
    deleteText: "Trafią do sekcji „Ostatnio usunięte”. Możesz je stamtąd przywrócić.",
    deleted: (count) => plural(count, { one: "Usunięto 1 czat.", few: `Usunięto ${count} czaty.`, other: `Usunięto ${count} czatów.` }),
    archived: (count) => plural(count, { one: "Zarchiwizowano 1 czat.", few: `Zarchiwizowano ${count} czaty.`, other: `Zarchiwizowano ${count} czatów.` }),
    unarchived: (count) =>
      plural(count, { one: "Przywrócono z archiwum 1 czat.", few: `Przywrócono z archiwum ${count} czaty.`, other: `Przywrócono z archiwum ${count} czatów.` }),
    failed: "Czaty nie zostały zmienione.",
    notExported: "Czaty nie zostały wyeksportowane.",
    progress: (done, total) => `Czaty: ${done} z ${total}`,
    partly: (done, total) => `Zmienione czaty: ${done} z ${total}.`,
  },
};
