import type { FileTexts } from "../en/files";
import type { PartialTexts } from "../fallback";

/** Turkish texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: PartialTexts<FileTexts> = {
  tooLong: {
    title: "Mesaj çok uzun",
    text: (used, window) => `Bu mesajla sohbet ${used} token olur. Modelin okuyabildiği miktar ${window} tokenden azdır.`,
    farTooLong: (window) => `Bu mesajla sohbet, modelin okuyabildiği ${window} tokenden çok daha uzun olur.`,
    shorten: "Mesajı kısaltın veya:",
    shortenAlone: "Mesajı kısaltın.",
    remove: (name) => `Kaldır: ${name}`,
    leave: (messages) => (messages === 1 ? "İlk mesaj olmadan gönder" : `İlk ${messages} mesaj olmadan gönder`),
    summarize: (messages) => (messages === 1 ? "İlk mesajı özetle" : `İlk ${messages} mesajı özetle`),
    summarizing: "Model özeti yazıyor. Mesaj bundan sonra gönderilecek.",
    leaveTitle: "Sohbette kalırlar ama model artık onları görmez.",
    move: "Yeni bir sohbette sor",
  },

  allSeen: "Model buradan itibaren tüm mesajları yeniden görüyor.",
  leftOut: (messages) => `Model buradan itibaren ${messages === 1 ? "ilk mesajı" : `ilk ${messages} mesajı`} artık görmüyor.`,

  summary: "Özet",
  summarized: (messages) => `Model buradan itibaren ${messages === 1 ? "ilk mesajın" : `ilk ${messages} mesajın`} bir özetini görüyor.`,

  overflow: {
    server: "Bu mesaj sunucu için çok büyük, bu nedenle yalnızca bu tarayıcıda kalır. Mesajı kısaltın veya bir dosyayı kaldırın.",
    browser: "Bu mesaj, gönderilene kadar saklanamayacak kadar büyük. Sayfayı kapatır veya yenilerseniz kaybolur.",
  },

  notRead: (name) => `${name} okunmadı.`,

  unreadable: {
    tooBig: (name) => `${name} 512 KiB’den fazla metin içeriyor. Yalnızca önemli bölümünü ekleyin.`,
    tooBigPdf: (name) => `${name} 32 MiB’den büyük. Yalnızca önemli bölümünü ekleyin.`,
    noText: (name) => `${name} bir metin dosyası, PDF, docx, xlsx, pptx veya epub değil. Model yalnızca metin okur: Bir belgeyi bu biçimlerden birinde kaydedin.`,
    old: (name) => `${name} eski bir Office biçiminde. docx, xlsx veya pptx olarak kaydedip onu ekleyin.`,
    empty: (name) => `${name} metin içermiyor. Görüntü halindeki metinler için önce metin tanıma gerekir.`,
    tooCostly: (name) => `${name} dosyasını okumak çok fazla bellek veya zaman gerektiriyor. Yalnızca önemli bölümünü ekleyin.`,
    scanned: (name) => `${name} metin içermiyor, yalnızca taranmış sayfalardan oluşuyor. Önce metin tanıma uygulayın.`,
    encrypted: (name) => `${name} parolayla korunuyor. Parolasız bir kopyasını kaydedip onu ekleyin.`,
    broken: (name) => `${name} bozuk olduğu için okunamıyor. Yeniden kaydedin veya indirin.`,
    gone: (name) => `${name} açılamıyor. Bu bir klasörse içindeki dosyaları seçin, değilse dosyayı yeniden seçin.`,
  },
};
