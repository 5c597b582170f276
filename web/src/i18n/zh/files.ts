import type { FileTexts } from "../en/files";

export const texts: FileTexts = {
  tooLong: {
    title: "消息太长",
    text: (used, window) => `加上此消息，对话将达到 ${used} 个 token，而模型要求少于 ${window} 个。`,
    farTooLong: (window) => `加上此消息，对话远远超过模型能读取的 ${window} 个 token。`,
    shorten: "请缩短消息，或者：",
    shortenAlone: "请缩短消息。",
    remove: (name) => `移除 ${name}`,
    leave: (messages) => `略过前 ${messages} 条消息后发送`,
    summarize: (messages) => `将前 ${messages} 条消息换成摘要`,
    summarizing: "模型正在写摘要，写完后会发送消息。",
    leaveTitle: "这些消息仍保留在对话中，但模型不再看到它们。",
    move: "在新对话中提问",
  },

  allSeen: "从这里开始，模型重新看到全部消息。",
  leftOut: (messages) => `从这里开始，模型不再看到前 ${messages} 条消息。`,

  summary: "摘要",
  summarized: (messages) => `从这里开始，模型看到的是前 ${messages} 条消息的摘要。`,

  overflow: {
    server: "此消息对服务器来说太大，因此只保留在此浏览器中。请缩短消息，或移除一个文件。",
    browser: "此消息太大，发送之前无法保存。关闭或重新加载页面后，消息会丢失。",
  },

  notRead: (name) => `未能读取 ${name}。`,

  unreadable: {
    tooBig: (name) => `${name} 的文本超过 512 KiB，请只添加需要的部分。`,
    tooBigPdf: (name) => `${name} 超过 32 MiB，请只添加需要的页面。`,
    noText: (name) => `${name} 不是文本文件、PDF、docx、xlsx、pptx 或 epub。模型只能读取文字；如果是文档，请另存为其中一种格式。`,
    old: (name) => `${name} 是旧版 Office 格式。请另存为 docx、xlsx 或 pptx 再添加。`,
    empty: (name) => `${name} 中没有文字。图片中的文字需要先进行文字识别（OCR）。`,
    tooCostly: (name) => `读取 ${name} 需要太多内存或时间，请只添加需要的部分。`,
    scanned: (name) => `${name} 中没有文字，只有扫描的页面。请先进行文字识别（OCR）。`,
    encrypted: (name) => `${name} 受密码保护。请另存一份无密码的副本再添加。`,
    broken: (name) => `${name} 已损坏，无法读取。请重新保存或下载。`,
    gone: (name) => `无法打开 ${name}。如果是文件夹，请选择其中的文件；否则请重新选择。`,
  },
};
