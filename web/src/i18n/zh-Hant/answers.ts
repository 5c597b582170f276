import type { AnswerTexts } from "../en/answers";

/** Traditional Chinese texts for the answer tools. */
export const texts: AnswerTexts = {
  edit: {
    field: "編輯後的回答",
    note: "下一則訊息會以你修改後的內容繼續，原回答會保留為另一個版本。",
  },

  rating: {
    field: "哪裡不好？",
    note: "選填。意見回饋會與回答一起保存。",
  },

  compare: {
    title: "比較回答",
    note: "所有回答會同時產生。即使設定相同，回答也可能不同，除非指定了種子值。",
    kept: "每個回答都會作為一個版本保留在對話中。",
    column: (index) => `回答 ${index}`,
    temperature: (value) => `溫度 ${value}`,
    topP: (value) => `Top p ${value}`,
    seed: (value) => `種子值 ${value}`,
    add: "新增回答",
    remove: (index) => `移除回答 ${index}`,
    start: "開始比較",
    keep: "採用此回答",
    merge: "合併為一個回答",
    stop: (index) => `停止產生回答 ${index}`,
    stopAll: "全部停止",
  },

  prompts: {
    title: "常用提示詞",
    search: "搜尋提示詞",
    none: "找不到提示詞。",
    empty: "還沒有常用提示詞。把常用的訊息開頭儲存下來，之後在空白訊息中輸入「/」就會列在這裡。",
    add: "新增提示詞",
    edit: (name) => `編輯「${name}」`,
    name: "提示詞名稱",
    text: "內容",
    placeholders: "雙大括號中的預留位置（例如 {{城市}}）會自動選取，方便填寫。",
    remove: "刪除提示詞",
  },

  files: {
    search: "搜尋檔案",
    none: "找不到檔案。附加檔案時，點選檔案上的書籤圖示即可儲存。",
    size: (characters) => `${characters} 個字元`,
    remove: (name) => `刪除 ${name}`,
    delete: "刪除",
    confirm: "要從我的檔案中刪除此檔案嗎？包含它的對話不受影響。",
  },

  find: {
    title: "在此對話中尋找",
    next: "下一個相符項目",
    previous: "上一個相符項目",
    at: (at, total) => `第 ${at} 個，共 ${total} 個`,
    none: "找不到",
  },

  queue: {
    title: "佇列中的訊息",
    waiting: "已排入佇列，回答完成後傳送。",
    now: "立即傳送",
    nowTitle: "停止回答並保留已寫的內容",
    held: "尚未傳送：回答已被停止，或在你離開期間結束。",
    files: (count) => `${count} 個檔案`,
  },

  reading: {
    progress: (done, total) => `正在讀取對話：${done} / ${total} 個 token`,
    left: (time) => `還需約 ${time}`,
  },

  models: {
    title: "模型",
    menu: (name) => `模型：${name}`,
    states: { loaded: "已在記憶體中", unloaded: "提問時載入", draining: "正在卸載", failed: "無法載入" },
    reads: (tokens) => `需要先讀取此對話的 ${tokens}`,
    known: "已讀過此對話",
    tooLong: "此對話對它來說太長",
    noAnswers: "僅用於嵌入和排序，無法回答",
  },

  regenerate: {
    title: "以其他設定重新產生",
    note: "這些設定只用於此回答。取樣欄位留空則沿用對話的設定，系統提示詞留空則不使用系統提示詞。",
    start: "重新產生",
  },
};
