import type { AnswerTexts } from "../en/answers";
import type { PartialTexts } from "../fallback";

/** Filipino texts for the answer tools. */
export const texts: PartialTexts<AnswerTexts> = {
  edit: {
    field: "In-edit na sagot",
    note: "Magpapatuloy mula sa text mo ang susunod na mensahe. Pananatilihin ang orihinal bilang isang bersyon.",
  },

  rating: {
    field: "Ano ang mali?",
    note: "Opsyonal. Ise-save ang feedback mo kasama ng sagot.",
  },

  compare: {
    title: "Ihambing ang mga sagot",
    note: "Sabay-sabay na isinusulat ang lahat ng sagot. Puwede pa ring magkaiba ang mga sagot kahit pareho ang setting, maliban kung may nakatakdang seed.",
    kept: "Mananatili sa chat ang bawat sagot bilang isang bersyon.",
    column: (index) => `Sagot ${index}`,
    temperature: (value) => `Temperature ${value}`,
    topP: (value) => `Top p ${value}`,
    seed: (value) => `Seed ${value}`,
    add: "Magdagdag ng sagot",
    remove: (index) => `Alisin ang sagot ${index}`,
    start: "Ihambing",
    keep: "Panatilihin ito",
    merge: "Pagsamahin sa isang sagot",
    stop: (index) => `Ihinto ang sagot ${index}`,
    stopAll: "Ihinto lahat",
  },

  prompts: {
    title: "Mga naka-save na prompt",
    search: "Maghanap ng prompt",
    none: "Walang nahanap na prompt.",
    empty: "Wala pang naka-save na prompt. Mag-save ng text na madalas mong ipansimula ng mensahe: kapag nag-type ka ng “/” sa blangkong mensahe, makikita mo ito rito.",
    add: "Bagong prompt",
    edit: (name) => `I-edit ang “${name}”`,
    name: "Pangalan ng prompt",
    text: "Text",
    placeholders: "Pinipili ang mga placeholder sa dobleng brace, gaya ng {{lungsod}}, para mapunan mo.",
    remove: "I-delete ang prompt",
  },

  files: {
    search: "Maghanap ng file",
    none: "Walang nahanap na file. Para mag-save ng file, i-click ang bookmark nito kapag ina-attach mo ito.",
    size: (characters) => `${characters} character`,
    remove: (name) => `I-delete ang ${name}`,
    delete: "I-delete",
    confirm: "I-delete ang file na ito mula sa mga file mo? Hindi magbabago ang mga chat na mayroon nito.",
  },

  find: {
    title: "Maghanap sa chat na ito",
    next: "Susunod na tugma",
    previous: "Naunang tugma",
    at: (at, total) => `${at} sa ${total}`,
    none: "Walang nakita",
  },

  queue: {
    title: "Nakapilang mensahe",
    waiting: "Nakapila. Ipapadala kapag kumpleto na ang sagot.",
    now: "Ipadala na",
    nowTitle: "Ihihinto ang sagot at pananatilihin ang text nito",
    held: "Hindi pa naipapadala: inihinto ang sagot, o natapos ito habang wala ka.",
    files: (count) => `${count} file`,
  },

  reading: {
    progress: (done, total) => `Binabasa ang chat: ${done} sa ${total} token`,
    left: (time) => `mga ${time} pa`,
  },

  regenerate: {
    title: "I-regenerate gamit ang ibang setting",
    note: "Para lang sa sagot na ito ang mga setting na ito. Ginagamit ng blangkong sampling field ang setting ng chat; kapag blangko ang system prompt, walang system prompt ang sagot.",
    start: "I-regenerate",
  },
};
