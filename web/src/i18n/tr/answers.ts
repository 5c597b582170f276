import type { AnswerTexts } from "../en/answers";
import type { PartialTexts } from "../fallback";

/** Turkish texts for the answer tools. */
export const texts: PartialTexts<AnswerTexts> = {
  edit: {
    field: "Düzenlenen yanıt",
    note: "Sonraki mesaj sizin metninizden devam eder. Özgün yanıt bir sürüm olarak saklanır.",
  },

  rating: {
    field: "Yanlış olan neydi?",
    note: "İsteğe bağlı. Geri bildiriminiz yanıtla birlikte saklanır.",
  },

  compare: {
    title: "Yanıtları karşılaştır",
    note: "Tüm yanıtlar aynı anda yazılır. Seed belirlenmemişse, aynı ayarlara sahip yanıtlar bile farklı olabilir.",
    kept: "Her yanıt, sohbette bir sürüm olarak kalır.",
    column: (index) => `Yanıt ${index}`,
    temperature: (value) => `Sıcaklık ${value}`,
    topP: (value) => `Top p ${value}`,
    seed: (value) => `Seed ${value}`,
    add: "Yanıt ekle",
    remove: (index) => `Yanıt ${index}: kaldır`,
    start: "Karşılaştır",
    keep: "Bunu kullan",
    merge: "Tek yanıtta birleştir",
    stop: (index) => `Yanıt ${index}: durdur`,
    stopAll: "Tümünü durdur",
  },

  prompts: {
    title: "Kayıtlı istemler",
    search: "İstem ara",
    none: "İstem bulunamadı.",
    empty: "Henüz kayıtlı istem yok. Mesajlarınıza sık sık başladığınız bir metni kaydedin: Boş bir mesaja “/” yazınca burada listelenir.",
    add: "Yeni istem",
    edit: (name) => `Düzenle: “${name}”`,
    name: "İstemin adı",
    text: "Metin",
    placeholders: "{{şehir}} gibi çift süslü ayraç içindeki yer tutucular, doldurmanız için seçilir.",
    remove: "İstemi sil",
  },

  files: {
    search: "Dosya ara",
    none: "Dosya bulunamadı. Bir dosyayı saklamak için eklerken üzerindeki yer imine tıklayın.",
    size: (characters) => `${characters} karakter`,
    remove: (name) => `Sil: ${name}`,
    delete: "Sil",
    confirm: "Bu dosya, dosyalarınızdan silinsin mi? Dosyayı içeren sohbetler olduğu gibi kalır.",
  },

  find: {
    title: "Bu sohbette bul",
    next: "Sonraki eşleşme",
    previous: "Önceki eşleşme",
    at: (at, total) => `${at} / ${total}`,
    none: "Bulunamadı",
  },

  queue: {
    title: "Sıradaki mesaj",
    waiting: "Sırada. Yanıt tamamlanınca gönderilecek.",
    now: "Şimdi gönder",
    nowTitle: "Yanıtı durdurur ve metnini saklar",
    held: "Henüz gönderilmedi: Yanıt durduruldu veya siz burada değilken sona erdi.",
    files: (count) => `${count} dosya`,
  },

  reading: {
    progress: (done, total) => `Sohbet okunuyor: ${done} / ${total} token`,
    left: (time) => `yaklaşık ${time} kaldı`,
  },

  regenerate: {
    title: "Başka ayarlarla yeniden oluştur",
    note: "Bu ayarlar yalnızca bu yanıt için geçerlidir. Boş örnekleme alanında sohbetin ayarı kullanılır; sistem istemi boş bırakılırsa yanıt sistem istemi olmadan yazılır.",
    start: "Yeniden oluştur",
  },
};
