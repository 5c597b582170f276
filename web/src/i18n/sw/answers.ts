import { pluralsOf } from "../plurals";
import type { AnswerTexts } from "../en/answers";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("sw");

/** Swahili texts for the answer tools. */
export const texts: PartialTexts<AnswerTexts> = {
  edit: {
    field: "Jibu lililobadilishwa",
    note: "Ujumbe unaofuata utaendelea kutoka kwenye maandishi yako. La awali linahifadhiwa kama toleo.",
  },

  rating: {
    field: "Kosa lilikuwa nini?",
    note: "Si lazima. Maoni yako yanahifadhiwa pamoja na jibu.",
  },

  compare: {
    title: "Linganisha majibu",
    note: "Majibu yote huandikwa kwa wakati mmoja. Majibu yenye mipangilio sawa bado yanaweza kutofautiana, isipokuwa seed imewekwa.",
    kept: "Kila jibu hubaki katika gumzo kama toleo.",
    column: (index) => `Jibu la ${index}`,
    temperature: (value) => `Halijoto ${value}`,
    topP: (value) => `Top p ${value}`,
    seed: (value) => `Seed ${value}`,
    add: "Ongeza jibu",
    remove: (index) => `Ondoa jibu la ${index}`,
    start: "Linganisha",
    keep: "Baki na hili",
    merge: "Unganisha kuwa jibu moja",
    stop: (index) => `Simamisha jibu la ${index}`,
    stopAll: "Simamisha yote",
  },

  prompts: {
    title: "Vidokezo vilivyohifadhiwa",
    search: "Tafuta kidokezo",
    none: "Hakuna vidokezo vilivyopatikana.",
    empty: "Bado hakuna vidokezo vilivyohifadhiwa. Hifadhi maandishi unayoanzia ujumbe mara kwa mara: kisha “/” katika ujumbe mtupu itayaorodhesha hapa.",
    add: "Kidokezo kipya",
    edit: (name) => `Badilisha “${name}”`,
    name: "Jina la kidokezo",
    text: "Maandishi",
    placeholders: "Nafasi zilizo ndani ya mabano mawili ya mapindo, kama {{jiji}}, huchaguliwa ili uzijaze.",
    remove: "Futa kidokezo",
  },

  files: {
    search: "Tafuta faili",
    none: "Hakuna faili zilizopatikana. Ili kuweka faili, bofya alamisho iliyo juu yake unapoiambatisha.",
    size: (characters) => `herufi ${characters}`,
    remove: (name) => `Futa ${name}`,
    delete: "Futa",
    confirm: "Ungependa kufuta faili hii katika faili zako? Magumzo yaliyo nayo yatabaki yalivyo.",
  },

  find: {
    title: "Tafuta katika gumzo hili",
    next: "Tokeo linalofuata",
    previous: "Tokeo lililotangulia",
    at: (at, total) => `${at} kati ya ${total}`,
    none: "Haikupatikana",
  },

  queue: {
    title: "Ujumbe ulio kwenye foleni",
    waiting: "Uko kwenye foleni. Utatumwa jibu likikamilika.",
    now: "Tuma sasa",
    nowTitle: "Husimamisha jibu na kuhifadhi maandishi yake",
    held: "Bado haujatumwa: jibu lilisimamishwa, au liliisha ulipokuwa haupo.",
    files: (count) => plural(count, { one: "faili 1", other: `faili ${count}` }),
  },

  reading: {
    progress: (done, total) => `Inasoma gumzo: tokeni ${done} kati ya ${total}`,
    left: (time) => `bado takriban ${time}`,
  },

  regenerate: {
    title: "Tengeneza upya kwa mipangilio mingine",
    note: "Mipangilio hii ni ya jibu hili pekee. Sehemu tupu ya sampuli hutumia mpangilio wa gumzo; kidokezo cha mfumo kikiachwa tupu, jibu huandikwa bila kidokezo cha mfumo.",
    start: "Tengeneza upya",
  },
};
