import { pluralsOf } from "../plurals";
import type { AnswerTexts } from "../en/answers";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("da");

/** Danish texts for the answer tools. */
export const texts: PartialTexts<AnswerTexts> = {
  edit: {
    field: "Redigeret svar",
    note: "Den næste besked fortsætter fra din tekst. Originalen beholdes som en version.",
  },

  rating: {
    field: "Hvad var der galt?",
    note: "Valgfrit. Din feedback gemmes sammen med svaret.",
  },

  compare: {
    title: "Sammenlign svar",
    note: "Alle svar skrives samtidig. Svar med de samme indstillinger kan stadig være forskellige, medmindre der er angivet et seed.",
    kept: "Hvert svar bliver i chatten som en version.",
    column: (index) => `Svar ${index}`,
    temperature: (value) => `Temperatur ${value}`,
    topP: (value) => `Top p ${value}`,
    seed: (value) => `Seed ${value}`,
    add: "Tilføj et svar",
    remove: (index) => `Fjern svar ${index}`,
    start: "Sammenlign",
    keep: "Behold dette",
    merge: "Flet til ét svar",
    stop: (index) => `Stop svar ${index}`,
    stopAll: "Stop alle",
  },

  prompts: {
    title: "Gemte prompts",
    search: "Find en prompt",
    none: "Ingen prompts fundet.",
    empty: "Ingen gemte prompts endnu. Gem en tekst, som du tit begynder beskeder med: Skriv ”/” i en tom besked for at se den her.",
    add: "Ny prompt",
    edit: (name) => `Redigér ”${name}”`,
    name: "Navn på prompten",
    text: "Tekst",
    placeholders: "Pladsholdere i dobbelte krøllede parenteser, f.eks. {{by}}, markeres, så du kan udfylde dem.",
    remove: "Slet prompten",
  },

  files: {
    search: "Find en fil",
    none: "Ingen filer fundet. Brug bogmærket på en fil, når du vedhæfter den, for at beholde den her.",
    size: (characters) => `${characters} tegn`,
    remove: (name) => `Slet ${name}`,
    delete: "Slet",
    confirm: "Slet filen fra dine filer? Chats, der indeholder den, forbliver, som de er.",
  },

  find: {
    title: "Find i denne chat",
    next: "Næste forekomst",
    previous: "Forrige forekomst",
    at: (at, total) => `${at} af ${total}`,
    none: "Ikke fundet",
  },

  queue: {
    title: "Besked i kø",
    waiting: "I kø. Sendes, når svaret er færdigt.",
    now: "Send nu",
    nowTitle: "Stopper svaret og beholder teksten",
    held: "Ikke sendt endnu: Svaret blev stoppet, eller det sluttede, mens du var væk.",
    files: (count) => plural(count, { one: "1 fil", other: `${count} filer` }),
  },

  reading: {
    progress: (done, total) => `Læser chatten: ${done} af ${total} tokens`,
    left: (time) => `ca. ${time} tilbage`,
  },

  regenerate: {
    title: "Generér igen med andre indstillinger",
    note: "Indstillingerne gælder kun for dette svar. Et tomt samplingfelt bruger chattens indstilling; hvis systemprompten er tom, har svaret ingen.",
    start: "Generér igen",
  },
};
