import { pluralsOf } from "../plurals";
import type { AnswerTexts } from "../en/answers";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("is");

/** Icelandic texts for the answer tools. */
export const texts: PartialTexts<AnswerTexts> = {
  edit: {
    field: "Breytt svar",
    note: "Næstu skilaboð halda áfram út frá textanum þínum. Upprunalega svarið er geymt sem útgáfa.",
  },

  rating: {
    field: "Hvað var að?",
    note: "Valkvætt. Umsögnin þín er geymd með svarinu.",
  },

  compare: {
    title: "Bera saman svör",
    note: "Öll svörin eru skrifuð samtímis. Svör með sömu stillingum geta samt verið ólík, nema slembifræ sé stillt.",
    kept: "Hvert svar er áfram í spjallinu sem útgáfa.",
    column: (index) => `Svar ${index}`,
    temperature: (value) => `Hitastig ${value}`,
    topP: (value) => `Top p ${value}`,
    seed: (value) => `Slembifræ ${value}`,
    add: "Bæta við svari",
    remove: (index) => `Fjarlægja svar ${index}`,
    start: "Bera saman",
    keep: "Halda þessu",
    merge: "Sameina í eitt svar",
    stop: (index) => `Stöðva svar ${index}`,
    stopAll: "Stöðva öll",
  },

  prompts: {
    title: "Vistaðar kvaðningar",
    search: "Finna kvaðningu",
    none: "Engar kvaðningar fundust.",
    empty: "Engar vistaðar kvaðningar enn. Vistaðu texta sem þú byrjar skilaboð oft á: með „/“ í tómum skilaboðum birtist hann hér.",
    add: "Ný kvaðning",
    edit: (name) => `Breyta „${name}“`,
    name: "Nafn kvaðningarinnar",
    text: "Texti",
    placeholders: "Staðgenglar í tvöföldum slaufusvigum, eins og {{borg}}, eru valdir svo að þú getir fyllt þá út.",
    remove: "Eyða kvaðningu",
  },

  files: {
    search: "Finna skrá",
    none: "Engar skrár fundust. Til að geyma skrá skaltu smella á bókamerkið á henni þegar þú hengir hana við.",
    size: (characters) => `Stafir: ${characters}`,
    remove: (name) => `Eyða ${name}`,
    delete: "Eyða",
    confirm: "Eyða þessari skrá úr skránum þínum? Spjöll sem innihalda hana haldast óbreytt.",
  },

  find: {
    title: "Finna í þessu spjalli",
    next: "Næsta niðurstaða",
    previous: "Fyrri niðurstaða",
    at: (at, total) => `${at} af ${total}`,
    none: "Fannst ekki",
  },

  queue: {
    title: "Skilaboð í biðröð",
    waiting: "Í biðröð. Sent þegar svarið er tilbúið.",
    now: "Senda núna",
    nowTitle: "Stöðvar svarið og heldur textanum",
    held: "Ekki sent enn: svarið var stöðvað eða því lauk á meðan þú varst í burtu.",
    files: (count) => plural(count, { one: `${count} skrá`, other: `${count} skrár` }),
  },

  reading: {
    progress: (done, total) => `Les spjallið: ${done} af ${total} tókum`,
    left: (time) => `u.þ.b. ${time} eftir`,
  },

  regenerate: {
    title: "Búa til aftur með öðrum stillingum",
    note: "Þessar stillingar gilda aðeins fyrir þetta svar. Autt úrtakssvæði notar stillingu spjallsins; ef kerfiskvaðningin er auð er svarið skrifað án hennar.",
    start: "Búa til aftur",
  },
};
