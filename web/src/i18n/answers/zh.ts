import type { AnswerTexts } from "./en";

/** 回答工具的中文文本。 */
export const zh: AnswerTexts = {
  edit: {
    field: "编辑后的回答",
    note: "下一条消息会接着你修改后的文字。原回答保留为另一个版本。",
  },

  compare: {
    title: "比较回答",
    note: "所有回答同时生成。设置相同的回答会随机不同，除非指定了种子。系统提示词都相同。",
    kept: "每个回答都会作为一个版本留在对话中。",
    column: (index) => `回答 ${index}`,
    settings: ({ temperature, top_p, seed }) =>
      [
        temperature == null ? "" : `温度 ${temperature}`,
        top_p == null ? "" : `Top p：${top_p}`,
        seed == null ? "" : `种子 ${seed}`,
      ].filter((part) => part !== "").join(" · "),
    add: "添加一个回答",
    remove: (index) => `移除回答 ${index}`,
    start: "开始比较",
    keep: "采用这个回答",
    stop: (index) => `停止回答 ${index}`,
    stopAll: "全部停止",
  },

  prompts: {
    title: "常用提示词",
    search: "查找提示词",
    none: "没有找到提示词。可以把常用的开头保存在这里。",
    add: "新建提示词",
    edit: (name) => `编辑“${name}”`,
    name: "提示词名称",
    text: "内容",
    placeholders: "双花括号中的占位符（如 {{城市}}）会自动选中，方便填写。",
    remove: "删除提示词",
  },

  queue: {
    title: "排队中的消息",
    waiting: "已排队，回答完成后发送。",
    held: "尚未发送：回答没有在你查看时完成。",
    files: (count) => `${count} 个文件`,
  },

  regenerate: {
    title: "用其他设置重新生成",
    note: "这些设置只用于这一个回答。留空则使用此对话的设置。预设只填入采样设置，系统提示词不变。",
    start: "重新生成",
  },
};
