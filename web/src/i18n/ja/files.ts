import type { FileTexts } from "../en/files";

/** Japanese texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: FileTexts = {
  tooLong: {
    title: "メッセージが長すぎます",
    text: (used, window) => `このメッセージを加えると、チャットは ${used} トークンになります。モデルが読めるのは ${window} トークン未満です。`,
    farTooLong: (window) => `このメッセージを加えると、チャットはモデルの読める ${window} トークンを大きく超えます。`,
    shorten: "短くするか、次のいずれかを選んでください：",
    shortenAlone: "短くしてください。",
    remove: (name) => `${name} を外す`,
    leave: (messages) => `最初の ${messages} 件のメッセージを除いて送信`,
    summarize: (messages) => `最初の ${messages} 件のメッセージを要約`,
    summarizing: "モデルが要約を書いています。その後、メッセージを送信します。",
    leaveTitle: "チャットには残りますが、モデルには渡されなくなります。",
    move: "新しいチャットで質問する",
  },

  allSeen: "ここから先、モデルは再びすべてのメッセージを参照します。",
  leftOut: (messages) => `ここから先、モデルは最初の ${messages} 件のメッセージを参照しません。`,

  summary: "要約",
  summarized: (messages) => `ここから先、モデルは最初の ${messages} 件のメッセージの要約を参照します。`,

  overflow: {
    server: "このメッセージはサーバーで扱うには大きすぎるため、このブラウザーにのみ残ります。短くするか、ファイルを外してください。",
    browser: "このメッセージは大きすぎるため、送信するまで保存しておけません。ページを閉じるか再読み込みすると失われます。",
  },

  notRead: (name) => `${name} を読み込めませんでした。`,

  unreadable: {
    tooBig: (name) => `${name} のテキストが 512 KiB を超えています。必要な部分だけを添付してください。`,
    tooBigPdf: (name) => `${name} が 32 MiB を超えています。必要な部分だけを添付してください。`,
    noText: (name) => `${name} はテキストファイル、PDF、docx、xlsx、pptx、epub のいずれでもありません。モデルが読めるのはテキストだけです。文書の場合は、いずれかの形式で保存してください。`,
    old: (name) => `${name} は古い Office 形式です。docx、xlsx、pptx のいずれかで保存して添付してください。`,
    empty: (name) => `${name} にテキストが含まれていません。画像の文字は、先に文字認識が必要です。`,
    tooCostly: (name) => `${name} の読み込みには、メモリまたは時間がかかりすぎます。必要な部分だけを添付してください。`,
    scanned: (name) => `${name} にはテキストがなく、スキャンしたページだけが含まれています。先に文字認識を行ってください。`,
    encrypted: (name) => `${name} はパスワードで保護されています。パスワードなしのコピーを保存して添付してください。`,
    broken: (name) => `${name} は破損しており、読み込めません。保存またはダウンロードし直してください。`,
    gone: (name) => `${name} を開けません。フォルダーの場合は中のファイルを選択し、そうでなければもう一度選択してください。`,
  },
};
