import type { FileTexts } from "../en/files";

/** Traditional Chinese texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: FileTexts = {
  tooLong: {
    title: "訊息太長",
    text: (used, window) => `加上此訊息，對話會達到 ${used} 個 token，而模型要求少於 ${window} 個。`,
    farTooLong: (window) => `加上此訊息，對話遠遠超過模型能讀取的 ${window} 個 token。`,
    shorten: "請縮短訊息，或是：",
    shortenAlone: "請縮短訊息。",
    remove: (name) => `移除 ${name}`,
    leave: (messages) => `略過前 ${messages} 則訊息後傳送`,
    summarize: (messages) => `將前 ${messages} 則訊息換成摘要`,
    summarizing: "模型正在撰寫摘要，完成後會傳送訊息。",
    leaveTitle: "這些訊息仍會留在對話中，但模型不會再看到它們。",
    move: "在新對話中提問",
  },

  allSeen: "從這裡開始，模型會再次看到所有訊息。",
  leftOut: (messages) => `從這裡開始，模型不會再看到前 ${messages} 則訊息。`,

  summary: "摘要",
  summarized: (messages) => `從這裡開始，模型看到的是前 ${messages} 則訊息的摘要。`,

  overflow: {
    server: "此訊息對伺服器來說太大，因此只會留在此瀏覽器中。請縮短訊息，或移除一個檔案。",
    browser: "此訊息太大，傳送前無法保存。關閉或重新載入頁面後，訊息就會遺失。",
  },

  notRead: (name) => `無法讀取 ${name}。`,

  unreadable: {
    tooBig: (name) => `${name} 的文字超過 512 KiB，請只附加需要的部分。`,
    tooBigPdf: (name) => `${name} 超過 32 MiB，請只附加需要的部分。`,
    noText: (name) => `${name} 不是文字檔、PDF、docx、xlsx、pptx 或 epub。模型只能讀取文字；如果是文件，請另存為其中一種格式。`,
    old: (name) => `${name} 是舊版 Office 格式。請另存為 docx、xlsx 或 pptx 再附加。`,
    empty: (name) => `${name} 中沒有文字。圖片中的文字需要先做文字辨識（OCR）。`,
    tooCostly: (name) => `讀取 ${name} 需要太多記憶體或時間，請只附加需要的部分。`,
    scanned: (name) => `${name} 中沒有文字，只有掃描的頁面。請先做文字辨識（OCR）。`,
    encrypted: (name) => `${name} 受密碼保護。請另存一份沒有密碼的副本再附加。`,
    broken: (name) => `${name} 已損毀，無法讀取。請重新儲存或下載。`,
    gone: (name) => `無法開啟 ${name}。如果是資料夾，請選擇其中的檔案；否則請重新選擇。`,
  },
};
