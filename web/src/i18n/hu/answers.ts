import type { AnswerTexts } from "../en/answers";
import type { PartialTexts } from "../fallback";

/** Hungarian texts for the answer tools. */
export const texts: PartialTexts<AnswerTexts> = {
  edit: {
    field: "Szerkesztett válasz",
    note: "A következő üzenet a te szövegedből folytatódik. Az eredeti egy változatként megmarad.",
  },

  rating: {
    field: "Mi volt a baj?",
    note: "Nem kötelező. A visszajelzésedet a válasszal együtt tároljuk.",
  },

  compare: {
    title: "Válaszok összehasonlítása",
    note: "Minden válasz egyszerre készül. Az azonos beállítású válaszok is eltérhetnek, hacsak nincs megadva seed.",
    kept: "Minden válasz változatként a csevegésben marad.",
    column: (index) => `${index}. válasz`,
    temperature: (value) => `Hőmérséklet: ${value}`,
    topP: (value) => `Top p: ${value}`,
    seed: (value) => `Seed: ${value}`,
    add: "Válasz hozzáadása",
    remove: (index) => `${index}. válasz eltávolítása`,
    start: "Összehasonlítás",
    keep: "Ez maradjon",
    merge: "Egyesítés egy válaszba",
    stop: (index) => `${index}. válasz leállítása`,
    stopAll: "Összes leállítása",
  },

  prompts: {
    title: "Mentett promptok",
    search: "Prompt keresése",
    none: "Nem található prompt.",
    empty: "Még nincsenek mentett promptok. Ments el egy szöveget, amellyel gyakran kezdesz üzenetet: ha üres üzenetbe „/” jelet írsz, itt fog megjelenni.",
    add: "Új prompt",
    edit: (name) => `„${name}” szerkesztése`,
    name: "A prompt neve",
    text: "Szöveg",
    placeholders: "A kettős kapcsos zárójelek közötti helyőrzőket, például {{város}}, kijelöljük, hogy kitölthesd őket.",
    remove: "Prompt törlése",
  },

  files: {
    search: "Fájl keresése",
    none: "Nem található fájl. Ha meg szeretnél tartani egy fájlt, csatoláskor kattints a rajta lévő könyvjelzőre.",
    size: (characters) => `${characters} karakter`,
    remove: (name) => `${name} törlése`,
    delete: "Törlés",
    confirm: "Törlöd ezt a fájlt a fájljaid közül? Az ezt tartalmazó csevegések nem változnak.",
  },

  find: {
    title: "Keresés ebben a csevegésben",
    next: "Következő találat",
    previous: "Előző találat",
    at: (at, total) => `${at} / ${total}`,
    none: "Nincs találat",
  },

  queue: {
    title: "Sorban álló üzenet",
    waiting: "Sorban áll. A válasz elkészültekor elküldjük.",
    now: "Küldés most",
    nowTitle: "Leállítja a választ, és megtartja a szövegét",
    held: "Még nincs elküldve: a választ leállították, vagy akkor fejeződött be, amikor nem voltál itt.",
    files: (count) => `${count} fájl`,
  },

  reading: {
    progress: (done, total) => `Csevegés olvasása: ${done} / ${total} token`,
    left: (time) => `kb. ${time} van hátra`,
  },

  regenerate: {
    title: "Újragenerálás más beállításokkal",
    note: "Ezek a beállítások csak erre a válaszra vonatkoznak. Az üres mintavételi mező a csevegés beállítását használja; ha a rendszerprompt üres, a válasz rendszerprompt nélkül készül.",
    start: "Újragenerálás",
  },
};
