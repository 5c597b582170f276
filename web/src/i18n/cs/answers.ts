import { pluralsOf } from "../plurals";
import type { AnswerTexts } from "../en/answers";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("cs");

/** Czech texts for the answer tools. */
export const texts: PartialTexts<AnswerTexts> = {
  edit: {
    field: "Upravená odpověď",
    note: "Další zpráva naváže na váš text. Původní odpověď zůstane jako verze.",
  },

  rating: {
    field: "Co bylo špatně?",
    note: "Nepovinné. Zpětná vazba se uloží k odpovědi.",
  },

  compare: {
    title: "Porovnat odpovědi",
    note: "Všechny odpovědi se píšou současně. I při stejném nastavení se mohou lišit, pokud není nastaven seed.",
    kept: "Každá odpověď zůstane v chatu jako verze.",
    column: (index) => `Odpověď ${index}`,
    temperature: (value) => `Teplota ${value}`,
    topP: (value) => `Top p ${value}`,
    seed: (value) => `Seed ${value}`,
    add: "Přidat odpověď",
    remove: (index) => `Odebrat odpověď ${index}`,
    start: "Porovnat",
    keep: "Ponechat tuto",
    merge: "Sloučit do jedné odpovědi",
    stop: (index) => `Zastavit odpověď ${index}`,
    stopAll: "Zastavit vše",
  },

  prompts: {
    title: "Uložené prompty",
    search: "Najít prompt",
    none: "Žádné prompty se nenašly.",
    empty: "Zatím žádné uložené prompty. Uložte text, kterým často začínáte zprávy: „/“ v prázdné zprávě ho pak zobrazí zde.",
    add: "Nový prompt",
    edit: (name) => `Upravit „${name}“`,
    name: "Název promptu",
    text: "Text",
    placeholders: "Zástupná místa ve dvojitých složených závorkách, například {{město}}, se označí k vyplnění.",
    remove: "Smazat prompt",
  },

  files: {
    search: "Najít soubor",
    none: "Žádné soubory se nenašly. Soubor si uložíte kliknutím na záložku, když ho přikládáte.",
    size: (characters) => `znaků: ${characters}`,
    remove: (name) => `Smazat ${name}`,
    delete: "Smazat",
    confirm: "Smazat tento soubor z vašich souborů? Chaty, které ho obsahují, zůstanou beze změny.",
  },

  find: {
    title: "Najít v tomto chatu",
    next: "Další výskyt",
    previous: "Předchozí výskyt",
    at: (at, total) => `${at} z ${total}`,
    none: "Nenalezeno",
  },

  queue: {
    title: "Zpráva ve frontě",
    waiting: "Ve frontě. Odešle se po dokončení odpovědi.",
    now: "Odeslat hned",
    nowTitle: "Zastaví odpověď a ponechá její text",
    held: "Zatím neodesláno: odpověď byla zastavena, nebo skončila, když jste tu nebyli.",
    files: (count) => plural(count, { one: "1 soubor", few: `${count} soubory`, other: `${count} souborů` }),
  },

  reading: {
    progress: (done, total) => `Čtení chatu: ${done} z ${total} tokenů`,
    left: (time) => `zbývá přibližně ${time}`,
  },

  regenerate: {
    title: "Vygenerovat znovu s jiným nastavením",
    note: "Toto nastavení platí jen pro tuto odpověď. Prázdné pole vzorkování použije nastavení chatu; pokud je systémový prompt prázdný, odpověď žádný nemá.",
    start: "Vygenerovat znovu",
  },
};
