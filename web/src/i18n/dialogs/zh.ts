import type { DialogTexts } from "./en";

/** Texts of the dialogs in Chinese. */
export const zh: DialogTexts = {
  deleted: {
    note: "可以恢复对话，也可以永久删除。这里的对话仍占用你的存储空间。",
    none: "没有最近删除的对话。",
    when: (time, days) => `删除于 ${time} · ${days === 0 ? "剩余不到 1 天" : `剩余 ${days} 天`}`,
    restore: "恢复",
    restoreOf: (title) => `恢复“${title}”`,
    erase: "永久删除",
    eraseOf: (title) => `永久删除“${title}”`,
    eraseAll: "全部永久删除",
    eraseTitle: (title) => `永久删除“${title}”？`,
    eraseAllTitle: (count) => `永久删除 ${count} 个对话？`,
    eraseText: "此操作无法撤销。",
    allTitle: "删除全部对话？",
    allText: "全部对话（包括已归档的）将移到“最近删除”，可从那里恢复。",
    allAction: "全部删除",
    allMoved: (count) => `已删除 ${count} 个对话。`,
    show: "查看",
  },

  tree: {
    note: "实心表示当前显示的分支。选择一条消息即可显示它所在的分支。",
    empty: "（空）",
  },

  settings: {
    title: "此对话的设置",
    system: "系统提示词",
    systemHint: "希望模型怎样回答",
    temperature: "温度",
    maxTokens: "token 上限",
    topP: "Top p",
    topK: "Top k",
    minP: "Min p",
    repetition: "重复惩罚",
    presence: "存在惩罚",
    frequency: "频率惩罚",
    seed: "随机种子",
    more: "更多采样设置",
    window: (tokens: string) => `上下文窗口为 ${tokens} 个 token。`,
    random: "随机",
    noLimit: "无",
    default: "默认",
    thinking: "思考",
    modes: { slow: "总是先思考", auto: "由模型决定", off: "直接回答" },
    note: "从下一条消息起生效。留空即用所示的默认值。",
  },

  appearance: {
    theme: "主题",
    themes: { system: "跟随系统", light: "浅色", dark: "深色" },
    size: "文字大小",
    sizes: { small: "小", normal: "标准", large: "大" },
    language: "语言",
  },

  help: {
    title: "快捷键",
    search: "搜索对话",
    new: "新对话",
    sidebar: "显示或隐藏对话列表",
    send: "发送消息",
    newline: "换行",
    stop: "停止回答，或关闭打开的窗口",
    walk: "列表中的上一个或下一个对话",
    undo: "撤销删除或归档",
    branches: "在 ‹ › 上切换到上一版或下一版",
    edit: "发送编辑后的问题",
    this: "显示此帮助",
  },
};
