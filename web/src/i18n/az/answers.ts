import type { AnswerTexts } from "../en/answers";
import type { PartialTexts } from "../fallback";

/** Azerbaijani texts for the answer tools. */
export const texts: PartialTexts<AnswerTexts> = {
  edit: {
    field: "Redaktə edilmiş cavab",
    note: "Növbəti mesaj sizin mətninizdən davam edir. Orijinal versiya kimi saxlanılır.",
  },

  rating: {
    field: "Nə səhv idi?",
    note: "İstəyə bağlıdır. Rəyiniz cavabla birlikdə saxlanılır.",
  },

  compare: {
    title: "Cavabları müqayisə et",
    note: "Bütün cavablar eyni vaxtda yazılır. Seed təyin edilməyibsə, eyni parametrli cavablar da fərqlənə bilər.",
    kept: "Hər cavab söhbətdə versiya kimi qalır.",
    column: (index) => `Cavab ${index}`,
    temperature: (value) => `Temperatur ${value}`,
    topP: (value) => `Top p ${value}`,
    seed: (value) => `Seed ${value}`,
    add: "Cavab əlavə et",
    remove: (index) => `Cavab ${index}: sil`,
    start: "Müqayisə et",
    keep: "Bunu saxla",
    merge: "Bir cavabda birləşdir",
    stop: (index) => `Cavab ${index}: dayandır`,
    stopAll: "Hamısını dayandır",
  },

  prompts: {
    title: "Saxlanmış promptlar",
    search: "Prompt axtar",
    none: "Prompt tapılmadı.",
    empty: "Hələ saxlanmış prompt yoxdur. Mesajlara tez-tez başladığınız mətni saxlayın: boş mesajda “/” yazanda o, burada görünəcək.",
    add: "Yeni prompt",
    edit: (name) => `Redaktə et: “${name}”`,
    name: "Promptun adı",
    text: "Mətn",
    placeholders: "{{şəhər}} kimi qoşa fiqurlu mötərizədəki yertutanlar doldurmağınız üçün seçilir.",
    remove: "Promptu sil",
  },

  files: {
    search: "Fayl axtar",
    none: "Fayl tapılmadı. Faylı saxlamaq üçün onu əlavə edərkən üzərindəki əlfəcinə klikləyin.",
    size: (characters) => `${characters} simvol`,
    remove: (name) => `Sil: ${name}`,
    delete: "Sil",
    confirm: "Bu fayl fayllarınızdan silinsin? Onun olduğu söhbətlər dəyişməz qalır.",
  },

  find: {
    title: "Bu söhbətdə tap",
    next: "Növbəti uyğunluq",
    previous: "Əvvəlki uyğunluq",
    at: (at, total) => `${at} / ${total}`,
    none: "Tapılmadı",
  },

  queue: {
    title: "Növbədəki mesaj",
    waiting: "Növbədədir. Cavab tamamlananda göndəriləcək.",
    now: "İndi göndər",
    nowTitle: "Cavabı dayandırır və mətnini saxlayır",
    held: "Hələ göndərilməyib: cavab dayandırılıb və ya siz burada olmayanda bitib.",
    files: (count) => `${count} fayl`,
  },

  reading: {
    progress: (done, total) => `Söhbət oxunur: ${done} / ${total} token`,
    left: (time) => `təxminən ${time} qalıb`,
  },

  regenerate: {
    title: "Başqa parametrlərlə yenidən yarat",
    note: "Bu parametrlər yalnız bu cavaba aiddir. Boş seçmə sahəsində söhbətin parametri istifadə olunur; sistem promptu boş qoyulsa, cavab sistem promptu olmadan yazılır.",
    start: "Yenidən yarat",
  },
};
