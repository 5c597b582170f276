import { pluralsOf } from "../plurals";
import type { OrganizeTexts } from "../en/organize";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("sr");

/** Serbian texts for folders, tags and the selection of chats. */
export const texts: PartialTexts<OrganizeTexts> = {
  folders: "Фасцикле",
  tags: "Ознаке",
  inFolder: (name, count) => plural(count, { one: `${name}, ${count} ћаскање`, few: `${name}, ${count} ћаскања`, other: `${name}, ${count} ћаскања` }),
  empty: "Ова фасцикла је празна.",
  remove: "Избриши фасциклу",
  removed: (name, parent) =>
    parent === null
      ? `Фасцикла „${name}“ је избрисана. Њен садржај је на листи.`
      : `Фасцикла „${name}“ је избрисана. Њен садржај је у фасцикли „${parent}“.`,
  notChanged: "Фасцикла није промењена.",
  deleted: (name) => `Избрисано: „${name}“.`,

  newFolder: "Нова фасцикла",
  newInside: "Нова фасцикла унутар ове",
  settings: "Подешавања фасцикле",
  place: "Надређена фасцикла",
  top: "Ниједна",
  systemPromptHint: "Нова ћаскања у овој фасцикли почињу њиме. Користе га и фасцикле унутар ње, осим ако имају сопствени.",

  back: "Назад на сва ћаскања",
  backTo: (name) => `Назад на ${name}`,
  noArchived: "Нема архивираних ћаскања.",

  chat: {
    name: "Назив ћаскања",
    notRenamed: "Ћаскање није преименовано.",
    rename: "Преименуј",
    pin: "Закачи",
    unpin: "Откачи",
    archive: "Архивирај",
    unarchive: "Врати из архиве",
    organize: "Фасцикла и ознаке…",
    select: "Изабери ћаскања",
    share: "Подели…",
    exportMarkdown: "Извези као Markdown",
    exportText: "Извези као обичан текст",
    exportJson: "Извези као JSON",
    exportAll: "Извези сва ћаскања",
    import: "Увези ћаскања…",
    delete: "Избриши",
    deleteTitle: "Избрисати ово ћаскање?",
    deleteText: (title) => `„${title}“ се премешта у „Недавно избрисано“. Одатле можете да га вратите.`,
    deleted: (title) => `Ћаскање „${title}“ је избрисано.`,
    archivedNotice: (title) => `Ћаскање „${title}“ је архивирано.`,
    notDeleted: "Ћаскање није избрисано.",
    notRestored: "Ћаскање није враћено.",
  },

  share: {
    title: (title) => `Подели „${title}“`,
    list: "Дељени линкови",
    note: "Свако ко има линк може да прочита ћаскање какво је сада, без пријаве. Касније поруке, друге гране, системски промпт и размишљање се не приказују.",
    leftOut: "Дијаграми и уграђене слике тамо су приказани као текст.",
    days: "Истиче за",
    day: (count) => plural(count, { one: `${count} дан`, few: `${count} дана`, other: `${count} дана` }),
    receipts: "Прикажи где је сваки промпт кеширан",
    create: "Направи линк",
    link: "Линк",
    qr: "QR кôд линка",
    once: "Копирајте линк сада. Не може поново да се прикаже.",
    none: "Нема дељених линкова.",
    until: (time) => `истиче: ${time}`,
    remove: (title) => `Избриши линк ка „${title}“`,
    delete: "Избриши",
  },

  dialog: {
    title: (count) =>
      count === 1 ? "Фасцикла и ознаке" : plural(count, { one: `Фасцикла и ознаке за ${count} ћаскање`, few: `Фасцикла и ознаке за ${count} ћаскања`, other: `Фасцикла и ознаке за ${count} ћаскања` }),
    folder: "Фасцикла",
    none: "Без фасцикле",
    mixed: "Остави како јесте",
    create: "Нова фасцикла…",
    name: "Назив фасцикле",
    tags: "Ознаке",
    add: "Додај ознаку",
    hint: "Enter додаје ознаку.",
    take: (tag) => `Уклони ознаку ${tag}`,
  },

  filters: {
    count: (count) => (count === 0 ? "Филтери" : `Филтери: ${count}`),
    role: "Аутор",
    roles: {
      "": "Било ко",
      user: "Ви",
      assistant: "Ebb",
    },
    period: "Када",
    periods: {
      any: "Било када",
      day: "Данас",
      week: "Последњих 7 дана",
      month: "Последњих 30 дана",
      year: "Последњих 12 месеци",
      range: "Између два дана…",
    },
    from: "Први дан",
    to: "Последњи дан",
    folder: "Фасцикла",
    anyFolder: "Било која фасцикла",
    tag: "Ознака",
    anyTag: "Било која ознака",
    archived: "Архива",
    archives: {
      "": "Сва ћаскања",
      false: "Без архивираних ћаскања",
      true: "Само архивирана ћаскања",
    },
    clear: "Обриши филтере",
  },

  selection: {
    label: "Изабрана ћаскања",
    count: (count) => `Изабрано: ${count}`,
    all: "Изабери све",
    organize: "Фасцикла и ознаке…",
    archive: "Архивирај",
    unarchive: "Врати из архиве",
    export: "Извези као JSON",
    delete: "Избриши",
    done: "Заврши избор",
    deleteTitle: (count) => plural(count, { one: `Избрисати ${count} ћаскање?`, few: `Избрисати ${count} ћаскања?`, other: `Избрисати ${count} ћаскања?` }),
    deleteText: "Премештају се у „Недавно избрисано“. Одатле можете да их вратите.",
    deleted: (count) => plural(count, { one: `Избрисано је ${count} ћаскање.`, few: `Избрисана су ${count} ћаскања.`, other: `Избрисано је ${count} ћаскања.` }),
    archived: (count) => plural(count, { one: `Архивирано је ${count} ћаскање.`, few: `Архивирана су ${count} ћаскања.`, other: `Архивирано је ${count} ћаскања.` }),
    unarchived: (count) =>
      plural(count, { one: `Из архиве је враћено ${count} ћаскање.`, few: `Из архиве су враћена ${count} ћаскања.`, other: `Из архиве је враћено ${count} ћаскања.` }),
    failed: "Ћаскања нису промењена.",
    notExported: "Ћаскања нису извезена.",
    progress: (done, total) => `Ћаскања: ${done} од ${total}`,
    partly: (done, total) => `Промењено ћаскања: ${done} од ${total}.`,
  },
};
