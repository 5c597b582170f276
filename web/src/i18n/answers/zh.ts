import type { AnswerTexts } from "./en";

/** 回答工具的中文文本。 */
export const zh: AnswerTexts = {
  edit: {
    field: "编辑后的回答",
    note: "下一条消息会接着你修改后的文字。原回答保留为另一个版本。",
  },

  queue: {
    title: "排队中的消息",
    waiting: "已排队，回答完成后发送。",
    held: "尚未发送：回答没有在你查看时完成。",
    files: (count) => `${count} 个文件`,
  },

  regenerate: {
    title: "用其他设置重新生成",
    note: "这些设置只用于这一个回答。留空则使用此对话的设置。",
    start: "重新生成",
  },
};
