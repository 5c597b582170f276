import type { AnswerTexts } from "../en/answers";

/** Japanese texts for the answer tools. */
export const texts: AnswerTexts = {
  edit: {
    field: "編集した回答",
    note: "次のメッセージは編集後のテキストから続きます。元の回答はバージョンとして残ります。",
  },

  rating: {
    field: "どこが良くありませんでしたか？",
    note: "任意です。フィードバックは回答と一緒に保存されます。",
  },

  compare: {
    title: "回答を比較",
    note: "すべての回答は同時に生成されます。設定が同じでも、シードを指定しないかぎり異なる回答になることがあります。",
    kept: "どの回答もバージョンとしてチャットに残ります。",
    column: (index) => `回答 ${index}`,
    temperature: (value) => `温度 ${value}`,
    topP: (value) => `Top p ${value}`,
    seed: (value) => `シード ${value}`,
    add: "回答を追加",
    remove: (index) => `回答 ${index} を外す`,
    start: "比較する",
    keep: "これを採用",
    merge: "1 つの回答に統合",
    stop: (index) => `回答 ${index} を停止`,
    stopAll: "すべて停止",
  },

  prompts: {
    title: "保存したプロンプト",
    search: "プロンプトを検索",
    none: "プロンプトが見つかりません。",
    empty: "保存したプロンプトはまだありません。書き出しによく使うテキストを保存すると、空のメッセージで「/」を入力したときにここに表示されます。",
    add: "新しいプロンプト",
    edit: (name) => `「${name}」を編集`,
    name: "プロンプトの名前",
    text: "テキスト",
    placeholders: "{{都市}} のように二重の波かっこで囲んだ部分が選択され、すぐに書き換えられます。",
    remove: "プロンプトを削除",
  },

  files: {
    search: "ファイルを検索",
    none: "ファイルが見つかりません。添付するときに、ファイルのしおりアイコンを押すと保存できます。",
    size: (characters) => `${characters} 文字`,
    remove: (name) => `${name} を削除`,
    delete: "削除",
    confirm: "このファイルをマイファイルから削除しますか？ このファイルを含むチャットは変わりません。",
  },

  find: {
    title: "このチャット内を検索",
    next: "次の一致",
    previous: "前の一致",
    at: (at, total) => `${total} 件中 ${at} 件目`,
    none: "見つかりません",
  },

  queue: {
    title: "送信待ちのメッセージ",
    waiting: "送信待ちです。回答が完了したら送信します。",
    now: "今すぐ送信",
    nowTitle: "回答を停止し、それまでのテキストを残します",
    held: "まだ送信していません。回答が停止されたか、このページを離れている間に終わりました。",
    files: (count) => `${count} 個のファイル`,
  },

  reading: {
    progress: (done, total) => `チャットを読んでいます：${done} / ${total} トークン`,
    left: (time) => `残り約 ${time}`,
  },

  models: {
    title: "モデル",
    menu: (name) => `モデル: ${name}`,
    states: { loaded: "メモリ内", unloaded: "質問すると読み込まれます", draining: "メモリから解放中", failed: "読み込めませんでした" },
    reads: (tokens) => `このチャットの${tokens}を読む必要があります`,
    known: "このチャットは読み込み済み",
    tooLong: "このチャットはこのモデルには長すぎます",
    noAnswers: "埋め込みと順位付け専用で、回答はできません",
  },

  regenerate: {
    title: "設定を変えて再生成",
    note: "この設定はこの回答だけに適用されます。サンプリングの空欄にはチャットの設定が使われ、システムプロンプトを空にすると、システムプロンプトなしで回答が生成されます。",
    start: "再生成",
  },
};
