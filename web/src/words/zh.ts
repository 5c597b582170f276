import type { Words } from "./en";

export const zh: Words = {
  you: "你",
  ebb: "Ebb",
  cancel: "取消",
  close: "关闭",
  retry: "重试",
  edit: "编辑",
  send: "发送",
  copy: "复制",
  copied: "已复制",

  answer: {
    stopped: "已停止。",
    interrupted: "回答在结束前中断。",
    cut: "已达到 token 上限。",
    raise: "若要更长的回答，请在对话设置中提高上限。",
    joining: "连接断开，正在重新接上回答……",
    copy: "复制回答",
    again: "重新回答",
    goOn: "继续",
    raw: "原始文本",
    rendered: "排版文本",
    thinking: "思考中……",
    thoughts: "思考过程",
    notStarted: "未能开始回答。",
    notStopped: "未能停止回答。",
    notContinued: "未能继续回答。",
  },

  question: {
    edit: "编辑问题",
    copy: "复制问题",
    field: "编辑后的问题",
    note: "两个版本都会保留。",
  },

  branches: {
    place: (index, count) => `第 ${index} 版，共 ${count} 版`,
    previous: "上一版",
    next: "下一版",
    notShown: "未能显示另一个版本。",
  },
};
