import type { FileTexts } from "../en/files";
import type { PartialTexts } from "../fallback";

/** Azerbaijani texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: PartialTexts<FileTexts> = {
  tooLong: {
    title: "Mesaj çox uzundur",
    text: (used, window) => `Bu mesajla söhbət ${used} token olar. Model ${window} tokendən az oxuyur.`,
    farTooLong: (window) => `Bu mesajla söhbət modelin oxuduğu ${window} tokendən qat-qat uzun olur.`,
    shorten: "Onu qısaldın və ya:",
    shortenAlone: "Onu qısaldın.",
    remove: (name) => `Sil: ${name}`,
    leave: (messages) => (messages === 1 ? "İlk mesaj olmadan göndər" : `İlk ${messages} mesaj olmadan göndər`),
    summarize: (messages) => (messages === 1 ? "İlk mesajın xülasəsini çıxar" : `İlk ${messages} mesajın xülasəsini çıxar`),
    summarizing: "Model xülasəni yazır. Mesaj bundan sonra göndəriləcək.",
    leaveTitle: "Onlar söhbətdə qalır, amma model onları daha görmür.",
    move: "Yeni söhbətdə soruş",
  },

  allSeen: "Model buradan etibarən bütün mesajları yenidən görür.",
  leftOut: (messages) => `Model buradan etibarən ${messages === 1 ? "ilk mesajı" : `ilk ${messages} mesajı`} daha görmür.`,

  summary: "Xülasə",
  summarized: (messages) => `Model buradan etibarən ${messages === 1 ? "ilk mesajın" : `ilk ${messages} mesajın`} xülasəsini görür.`,

  overflow: {
    server: "Bu mesaj server üçün çox böyükdür, ona görə yalnız bu brauzerdə qalır. Onu qısaldın və ya bir faylı çıxarın.",
    browser: "Bu mesaj göndərilənə qədər saxlanmaq üçün çox böyükdür. Səhifəni bağlasanız və ya yeniləsəniz, itəcək.",
  },

  notRead: (name) => `${name} oxunmadı.`,

  unreadable: {
    tooBig: (name) => `${name} faylında 512 KiB-dan çox mətn var. Vacib hissəsini əlavə edin.`,
    tooBigPdf: (name) => `${name} 32 MiB-dan böyükdür. Vacib hissəsini əlavə edin.`,
    noText: (name) => `${name} mətn faylı, PDF, docx, xlsx, pptx və ya epub deyil. Model yalnız mətn oxuyur: sənədi bu formatlardan birində saxlayın.`,
    old: (name) => `${name} köhnə Office formatındadır. Onu docx, xlsx və ya pptx kimi saxlayıb əlavə edin.`,
    empty: (name) => `${name} faylında mətn yoxdur. Şəkil halında olan mətn üçün əvvəlcə mətn tanıma lazımdır.`,
    tooCostly: (name) => `${name} faylını oxumaq çox yaddaş və ya vaxt tələb edir. Vacib hissəsini əlavə edin.`,
    scanned: (name) => `${name} faylında mətn yoxdur, yalnız skan edilmiş səhifələr var. Əvvəlcə mətn tanımadan keçirin.`,
    encrypted: (name) => `${name} parolla qorunur. Parolsuz nüsxəsini saxlayıb əlavə edin.`,
    broken: (name) => `${name} zədələnib və oxunmur. Onu yenidən saxlayın və ya endirin.`,
    gone: (name) => `${name} açılmır. Bu qovluqdursa, içindəki faylları seçin, deyilsə, onu yenidən seçin.`,
  },
};
