import { pluralsOf } from "../plurals";
import type { AnswerTexts } from "../en/answers";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("eu");

/** Basque texts for the answer tools. */
export const texts: PartialTexts<AnswerTexts> = {
  edit: {
    field: "Editatutako erantzuna",
    note: "Hurrengo mezuak zure testutik jarraitzen du. Jatorrizkoa bertsio gisa gordetzen da.",
  },

  rating: {
    field: "Zer zegoen gaizki?",
    note: "Aukerakoa. Zure iruzkina erantzunarekin gordetzen da.",
  },

  compare: {
    title: "Konparatu erantzunak",
    note: "Erantzun guztiak aldi berean idazten dira. Ezarpen berberekin ere desberdinak izan daitezke, hazi bat ezarri ezean.",
    kept: "Erantzun bakoitza bertsio gisa geratzen da txatean.",
    column: (index) => `${index}. erantzuna`,
    temperature: (value) => `Tenperatura ${value}`,
    topP: (value) => `Top p ${value}`,
    seed: (value) => `Hazia ${value}`,
    add: "Gehitu erantzun bat",
    remove: (index) => `Kendu ${index}. erantzuna`,
    start: "Konparatu",
    keep: "Geratu honekin",
    merge: "Bateratu erantzun bakar batean",
    stop: (index) => `Gelditu ${index}. erantzuna`,
    stopAll: "Gelditu guztiak",
  },

  prompts: {
    title: "Gordetako promptak",
    search: "Bilatu prompt bat",
    none: "Ez da promptik aurkitu.",
    empty: "Ez dago gordetako promptik oraindik. Gorde mezuak hasteko sarri erabiltzen duzun testu bat: mezu huts batean “/” idatzita, hemen agertuko da.",
    add: "Prompt berria",
    edit: (name) => `Editatu “${name}”`,
    name: "Promptaren izena",
    text: "Testua",
    placeholders: "Giltza bikoitzen arteko eremuak, {{hiria}} kasu, hautatu egiten dira zuk bete ditzazun.",
    remove: "Ezabatu prompta",
  },

  files: {
    search: "Bilatu fitxategi bat",
    none: "Ez da fitxategirik aurkitu. Fitxategi bat gordetzeko, erabili haren laster-marka eransten duzunean.",
    size: (characters) => `${characters} karaktere`,
    remove: (name) => `Ezabatu ${name}`,
    delete: "Ezabatu",
    confirm: "Fitxategi hau zure fitxategietatik ezabatu nahi duzu? Fitxategia duten txatak ez dira aldatuko.",
  },

  find: {
    title: "Bilatu txat honetan",
    next: "Hurrengo emaitza",
    previous: "Aurreko emaitza",
    at: (at, total) => `${at} / ${total}`,
    none: "Ez da aurkitu",
  },

  queue: {
    title: "Ilarako mezua",
    waiting: "Ilaran. Erantzuna osatzean bidaliko da.",
    now: "Bidali orain",
    nowTitle: "Erantzuna gelditzen du eta haren testua gordetzen du",
    held: "Bidali gabe oraindik: erantzuna gelditu egin da, edo zu kanpoan zinela amaitu da.",
    files: (count) => plural(count, { one: `Fitxategi ${count}`, other: `${count} fitxategi` }),
  },

  reading: {
    progress: (done, total) => `Txata irakurtzen: ${done} / ${total} token`,
    left: (time) => `${time} inguru falta dira`,
  },

  regenerate: {
    title: "Sortu berriro beste ezarpen batzuekin",
    note: "Ezarpen hauek erantzun honetarako bakarrik dira. Laginketa-eremu huts batek txataren ezarpena erabiltzen du; sistemaren prompta hutsik uzten bada, erantzunak ez du sistemaren promptik izango.",
    start: "Sortu berriro",
  },
};
