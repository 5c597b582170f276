/** English texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts = {
  tooLong: {
    title: "The message is too long",
    text: (used: string, window: string) => `This chat would have ${used} tokens with the message. The model reads fewer than ${window}.`,
    farTooLong: (window: string) => `With the message, this chat is far longer than the ${window} tokens that the model reads.`,
    shorten: "Shorten it, or:",
    shortenAlone: "Shorten it.",
    remove: (name: string) => `Remove ${name}`,
    leave: (messages: number) => (messages === 1 ? "Send without the first message" : `Send without the first ${messages} messages`),
    summarize: (messages: number) => (messages === 1 ? "Summarize the first message" : `Summarize the first ${messages} messages`),
    summarizing: "The model is writing the summary. The message is sent afterwards.",
    leaveTitle: "They stay in the chat, but the model no longer sees them.",
    move: "Ask in a new chat",
  },

  allSeen: "From here on, the model sees all messages again.",
  leftOut: (messages: number) =>
    `From here on, the model no longer sees the first ${messages === 1 ? "message" : `${messages} messages`}.`,

  summary: "Summary",
  summarized: (messages: number) =>
    `From here on, the model sees a summary of the first ${messages === 1 ? "message" : `${messages} messages`}.`,

  overflow: {
    server: "This message is too large for the server, so it stays in this browser only. Shorten it, or leave out a file.",
    browser: "This message is too large to be kept until you send it. It is lost when you close or reload the page.",
  },

  notRead: (name: string) => `${name} was not read.`,

  unreadable: {
    tooBig: (name: string) => `${name} has more than 512 KiB of text. Attach the part that matters.`,
    tooBigPdf: (name: string) => `${name} is larger than 32 MiB. Attach the part that matters.`,
    noText: (name: string) => `${name} is not a text file, PDF, docx, xlsx, pptx or epub. The model reads text only: save a document in one of these formats.`,
    old: (name: string) => `${name} is in an old office format. Save it as docx, xlsx or pptx and attach that.`,
    empty: (name: string) => `${name} contains no text. Pictures of text need text recognition first.`,
    tooCostly: (name: string) => `${name} takes too much memory or time to read. Attach the part that matters.`,
    scanned: (name: string) => `${name} contains no text, only scanned pages. Run text recognition on it first.`,
    encrypted: (name: string) => `${name} is locked with a password. Save a copy without one and attach that.`,
    broken: (name: string) => `${name} is damaged and cannot be read. Save or download it again.`,
    gone: (name: string) => `${name} cannot be opened. If it is a folder, choose the files in it; otherwise choose it again.`,
  },
};

export type FileTexts = typeof texts;
