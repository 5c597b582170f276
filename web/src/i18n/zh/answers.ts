import type { AnswerTexts } from "../en/answers";

/** Texts of the tools for answers in Chinese. */
export const texts: AnswerTexts = {
  edit: {
    field: "编辑后的回答",
    note: "后续对话将以你修改后的回答为准，原回答会保留为另一个版本。",
  },

  rating: {
    field: "哪里不好？",
    note: "选填。反馈会与回答一起保存。",
  },

  compare: {
    title: "对比回答",
    note: "所有回答同时生成。即使设置相同，回答也可能不同，除非指定了随机种子。",
    kept: "每个回答都会作为一个版本保留在对话中。",
    column: (index) => `回答 ${index}`,
    temperature: (value) => `温度 ${value}`,
    topP: (value) => `Top p ${value}`,
    seed: (value) => `随机种子 ${value}`,
    add: "添加一个回答",
    remove: (index) => `移除回答 ${index}`,
    start: "开始对比",
    keep: "采用此回答",
    merge: "合并为一个回答",
    stop: (index) => `停止生成回答 ${index}`,
    stopAll: "全部停止",
  },

  prompts: {
    title: "常用提示词",
    search: "搜索提示词",
    none: "没有找到提示词。",
    empty: "还没有常用提示词。把常用的消息开头保存下来，之后在空消息中输入“/”即可在此选用。",
    add: "新建提示词",
    edit: (name) => `编辑“${name}”`,
    name: "提示词名称",
    text: "内容",
    placeholders: "双花括号中的占位符（如 {{城市}}）会自动选中，方便填写。",
    remove: "删除提示词",
  },

  files: {
    search: "搜索文件",
    none: "没有找到文件。添加文件后，点击文件上的书签图标即可保存。",
    size: (characters) => `${characters} 个字符`,
    remove: (name) => `删除 ${name}`,
    delete: "删除",
    confirm: "要从我的文件中删除此文件吗？包含它的对话不受影响。",
  },

  find: {
    title: "在此对话中查找",
    next: "下一个匹配",
    previous: "上一个匹配",
    at: (at, total) => `第 ${at} 个，共 ${total} 个`,
    none: "未找到",
  },

  queue: {
    title: "排队中的消息",
    waiting: "已排队，回答完成后发送。",
    now: "立即发送",
    nowTitle: "停止回答并保留已写的内容",
    held: "尚未发送：回答已被停止，或在你离开期间结束。",
    files: (count) => `${count} 个文件`,
  },

  reading: {
    progress: (done, total) => `正在读取对话：${done} / ${total} 个 token`,
    left: (time) => `还需约 ${time}`,
  },

  models: {
    title: "模型",
    menu: (name) => `模型：${name}`,
    states: { loaded: "已在内存中", unloaded: "提问时加载", draining: "正在卸载", failed: "无法加载" },
    reads: (tokens) => `需要先读取此对话的 ${tokens}`,
    known: "已读过此对话",
    tooLong: "此对话对它来说太长",
    noAnswers: "仅用于嵌入和排序，无法回答",
  },

  regenerate: {
    title: "用其他设置重新生成",
    note: "这些设置仅用于此回答。采样设置留空则沿用对话设置，系统提示词留空则不使用系统提示词。",
    start: "重新生成",
  },
};
