import { pluralsOf } from "../plurals";
import type { AnswerTexts } from "../en/answers";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("sq");

/** Albanian texts for the answer tools. */
export const texts: PartialTexts<AnswerTexts> = {
  edit: {
    field: "Përgjigjja e redaktuar",
    note: "Mesazhi tjetër vazhdon nga teksti yt. Origjinali ruhet si version.",
  },

  rating: {
    field: "Çfarë ishte gabim?",
    note: "Opsionale. Komenti yt ruhet bashkë me përgjigjen.",
  },

  compare: {
    title: "Krahaso përgjigjet",
    note: "Të gjitha përgjigjet shkruhen njëkohësisht. Edhe me të njëjtat cilësime ato mund të ndryshojnë, përveçse kur caktohet një seed.",
    kept: "Çdo përgjigje mbetet në bisedë si version.",
    column: (index) => `Përgjigjja ${index}`,
    temperature: (value) => `Temperatura ${value}`,
    topP: (value) => `Top p ${value}`,
    seed: (value) => `Seed ${value}`,
    add: "Shto përgjigje",
    remove: (index) => `Hiq përgjigjen ${index}`,
    start: "Krahaso",
    keep: "Mbaj këtë",
    merge: "Bashko në një përgjigje",
    stop: (index) => `Ndal përgjigjen ${index}`,
    stopAll: "Ndali të gjitha",
  },

  prompts: {
    title: "Promptet e ruajtura",
    search: "Gjej një prompt",
    none: "Nuk u gjet asnjë prompt.",
    empty: "Ende nuk ka prompte të ruajtura. Ruaj një tekst me të cilin i nis shpesh mesazhet: duke shkruar “/” në një mesazh bosh, ai do të shfaqet këtu.",
    add: "Prompt i ri",
    edit: (name) => `Redakto “${name}”`,
    name: "Emri i promptit",
    text: "Teksti",
    placeholders: "Vendmbajtësit në kllapa gjarpëruese të dyfishta, si {{qyteti}}, përzgjidhen që t’i plotësosh.",
    remove: "Fshi promptin",
  },

  files: {
    search: "Gjej një skedar",
    none: "Nuk u gjet asnjë skedar. Për të mbajtur një skedar, shtyp faqeruajtësin mbi të kur e bashkëngjit.",
    size: (characters) => `${characters} karaktere`,
    remove: (name) => `Fshi ${name}`,
    delete: "Fshi",
    confirm: "Të fshihet ky skedar nga skedarët e tu? Bisedat që e përmbajnë mbeten siç janë.",
  },

  find: {
    title: "Gjej në këtë bisedë",
    next: "Përputhja tjetër",
    previous: "Përputhja e mëparshme",
    at: (at, total) => `${at} nga ${total}`,
    none: "Nuk u gjet",
  },

  queue: {
    title: "Mesazh në radhë",
    waiting: "Në radhë. Dërgohet kur të përfundojë përgjigjja.",
    now: "Dërgo tani",
    nowTitle: "E ndal përgjigjen dhe e ruan tekstin e saj",
    held: "Ende nuk është dërguar: përgjigjja u ndal, ose përfundoi sa nuk ishe këtu.",
    files: (count) => plural(count, { one: "1 skedar", other: `${count} skedarë` }),
  },

  reading: {
    progress: (done, total) => `Po lexohet biseda: ${done} nga ${total} tokenë`,
    left: (time) => `edhe rreth ${time}`,
  },

  regenerate: {
    title: "Rigjenero me cilësime të tjera",
    note: "Këto cilësime vlejnë vetëm për këtë përgjigje. Një fushë kampionimi bosh përdor cilësimin e bisedës; nëse prompti i sistemit është bosh, përgjigjja shkruhet pa të.",
    start: "Rigjenero",
  },
};
