import type { Catalogue } from "./en";

export const zh: Catalogue = {
  you: "你",
  ebb: "Ebb",
  cancel: "取消",
  close: "关闭",
  save: "保存",
  retry: "重试",
  edit: "编辑",
  send: "发送",
  stop: "停止",
  copy: "复制",
  copied: "已复制",
  undo: "撤销",
  dismiss: "关闭提示",
  tryAgain: "再试一次",
  skip: "跳过对话列表",
  notCopied: "浏览器不允许复制，请选中文字手动复制。",

  chats: {
    list: "对话",
    open: "打开对话列表",
    close: "关闭对话列表",
    new: "新对话",
    none: "你的对话会列在这里。",
    opening: "正在打开对话",
    pinned: "置顶",
    today: "今天",
    yesterday: "昨天",
    week: "最近七天",
    archived: "已归档的对话",
    noArchived: "没有已归档的对话。",
    back: "返回全部对话",
    menu: "更多",
    menuOf: (title) => `更多：${title}`,
    rename: "重命名",
    name: "对话名称",
    pin: "置顶",
    unpin: "取消置顶",
    archive: "归档",
    unarchive: "取消归档",
    exportJson: "导出为 JSON",
    exportMarkdown: "导出为 Markdown",
    exportAll: "导出全部对话",
    import: "导入对话…",
    delete: "删除",
    deleteTitle: "删除这个对话？",
    deleteText: (title) => `“${title}”将移到“最近删除”，可从那里恢复。`,
    deleted: (title) => `“${title}”已删除。`,
    archivedNotice: (title) => `“${title}”已归档。`,
    imported: (added, skipped) => `已导入 ${added} 个对话` + (skipped > 0 ? `，另有 ${skipped} 个原已存在。` : "。"),
    notRenamed: "未能重命名。",
    notChanged: "未能更改对话。",
    notDeleted: "未能删除对话。",
    notRestored: "未能恢复对话。",
    notImported: "没有导入任何内容。",
  },

  deleted: {
    title: "最近删除",
    all: "删除全部对话…",
  },

  search: {
    field: "搜索对话",
    results: "搜索结果",
    count: (count) => (count === 0 ? "没有找到。" : `找到 ${count} 条结果。`),
    titles: "标题",
    messages: "消息",
    none: "没有找到相关内容。",
    failed: "搜索失败。",
    clear: "清除搜索",
  },

  composer: {
    field: "消息",
    placeholder: "给 Ebb 发消息",
    hint: "Enter 发送，Shift+Enter 换行",
    busyHint: "按 Esc 停止回答",
  },

  attachments: {
    attach: "添加文本文件或 PDF",
    list: "此消息的文件",
    remove: (name) => `移除 ${name}`,
    reading: "正在读取文件…",
    notRead: (name) => `${name} 未能读取。`,
    unreadable: {
      tooBig: (name) => `${name} 太大：最多 512 KiB 文本。`,
      tooBigPdf: (name) => `${name} 太大：最多 32 MiB。`,
      noText: (name) => `${name} 不是文本文件，也不是 PDF。`,
      scanned: (name) => `${name} 中没有文字，只有页面的图像。`,
      encrypted: (name) => `${name} 有密码保护。请另存一份无密码的副本再添加。`,
      broken: (name) => `${name} 已损坏，无法读取。`,
    },
  },

  activity: {
    answering: "正在回答",
    unread: "有新回答",
  },

  conversation: {
    waitingModel: "正在等待模型就绪…",
    waitingServer: "正在等待服务器…",
    answering: "Ebb 正在回答",
    finished: "回答完毕",
    stopped: "回答已停止",
    latest: "跳到最新消息",
    earlier: "更早的消息",
    settings: "此对话的设置",
    systemPrompt: "系统提示词",
    notSent: "未发送。",
  },

  context: {
    used: (used, window) => `已用 ${used} / ${window} token`,
    title: "此对话占用了多少模型上下文窗口",
  },

  answer: {
    stopped: "已停止。",
    interrupted: "回答在结束前中断。",
    cut: "已达到 token 上限。",
    joining: "连接断开，正在重新接上回答…",
    copy: "复制回答",
    again: "重新生成",
    continue: "继续",
    raw: "原始文本",
    formatted: "排版后的文字",
    thinking: "思考中…",
    thoughts: "思考过程",
    notStarted: "未能开始回答。",
    notStopped: "未能停止回答。",
    notContinued: "未能继续回答。",
    more: "此回答的更多操作",
    fork: "从这里开始新对话",
    forked: "这个对话从副本继续；原来的对话保持不变。",
    notForked: "未能创建新对话。",
    remove: "删除这个回答",
    removed: "已删除回答及之后的全部内容。",
    notRemoved: "未能删除回答。",
    notRestored: "未能恢复回答。",
  },

  question: {
    edit: "编辑问题",
    copy: "复制问题",
    field: "编辑后的问题",
    note: "两个版本都会保留。",
    answer: "回答这个问题",
    more: "此问题的更多操作",
    remove: "删除它及之后的全部内容",
    removed: "已删除问题及之后的全部内容。",
    notRemoved: "未能删除问题。",
    notRestored: "未能恢复问题。",
  },

  branches: {
    position: (index, count) => `第 ${index} 版，共 ${count} 版`,
    previous: "上一版",
    next: "下一版",
    notShown: "未能显示另一个版本。",
  },

  tree: {
    title: "此对话的分支",
  },

  markdown: {
    code: (language) => `代码，${language}`,
    copyCode: "复制代码",
    plain: "文本",
    done: "已完成",
    todo: "待办",
  },

  tiers: {
    device: {
      name: "设备内存",
      short: "设备",
      from: "设备内存",
      mark: "热：保存在设备内存中",
      off: "",
      offTodo: "",
    },
    cpu: {
      name: "CPU 内存",
      short: "CPU",
      from: " CPU 内存",
      mark: "温：保存在 CPU 内存中",
      off: "CPU 内存不保存缓存块。",
      offTodo: "用 --cpu-kv-memory 给它空间，离开设备的内容就留在近处。",
    },
    redis: {
      name: "Redis",
      short: "Redis",
      from: " Redis",
      mark: "冷：保存在 Redis 中",
      off: "没有 Redis。",
      offTodo: "请在本机安装 redis-server 或 valkey-server，或用 --redis-url 指定一个，然后重新启动 Ebb：重启后对话的缓存也能恢复。",
    },
  },

  otherTier: (name) => ({
    name,
    short: name,
    from: ` ${name} 层`,
    mark: `冷：保存在 ${name} 层中`,
    off: `未启用 ${name} 层。`,
    offTodo: "请在服务器设置中启用它，然后重新启动 Ebb。",
  }),

  receipt: {
    title: "这个回答的上下文从哪里来",
    cached: (share, time) => `${share} 命中缓存 · ${time}`,
    restored: (share, from, time) => `已恢复 ${share}，来自${from} · ${time}`,
    typed: (share, from, time) => `输入时已恢复 ${share}，来自${from} · ${time}`,
    computed: (tokens, time) => `计算了 ${tokens} 个 token · ${time}`,
    tokens: (tokens) => `${tokens} 个 token`,
    underMillisecond: "不到 1 ms",
    notLoaded: "未能加载详情。",
  },

  login: {
    title: "登录",
  },

  /** Titles of views whose texts are loaded with them. */
  views: {
    account: "账户",
    palette: "搜索与命令",
    admin: "人员与限额",
    unknown: "这里没有内容",
  },

  appearance: {
    title: "外观",
  },

  help: {
    open: "键盘快捷键",
  },

  welcome: {
    promise: "对话中算过的 token，不再重算。",
    prompts: ["用三小段话解释海洋为什么有潮汐", "写一个 Python 函数，找出一段文字中最长的单词", "给我一份周末帆船出行的行李清单"],
    runs: (model, where) => `${model} 正在${where}上运行。`,
    devices: { cpu: "本机 CPU ", cuda: "本机 GPU ", npu: " NPU " },
    recent: "最近的对话",
    better: (name) => `更适合本机的模型：ebb pull ${name}`,
  },

  live: {
    title: "实时",
    open: "服务器实时数据",
    notLoaded: "未能加载此页面。",
  },

  server: {
    unreachable: "无法连接服务器，正在重试…",
    loading: (progress) => (progress ? `正在加载模型（${progress}）` : "正在加载模型"),
    stopping: "服务器正在停止；恢复后 Ebb 会继续。",
    recovering: "模型进程正在重启，请求将等待。",
    slower: "回答速度低于应有水平：",
    degraded: "目前无法保存对话。",
    restarting: "服务器正在重启。",
    failed: "未能加载模型。",
    log: "原因见服务器日志。",
  },

  errors: {
    unreachable: "无法连接服务器。",
    seeRunning: "请确认 Ebb 正在运行，然后再试。",
    page: "页面出了点问题。",
    reload: "请重新加载后再试。",
    status: (status) => `服务器返回了 ${status}。`,
    unfinished: "回答未能完成。",
    tooLong: "请开始新对话，或在设置中要求更短的回答。",
    signIn: "请重新加载页面并再次登录。",
    refused: (reason) => REFUSALS[reason] ?? null,
    missing: "没有这个对话或消息。",
    gone: "它可能已在另一个标签页中被删除。",
    wait: "请稍候再试。",
    twice: "请再试；若再次发生，服务器日志中有更多说明。",
    change: "请修改消息或设置后再试。",
  },
};

/** Messages of the server's errors, by error code, or by status where an error has no code. */
const REFUSALS: Record<string, string> = {
  answer_not_cut: "这个回答没有被截断，无法继续。",
  body_too_complex: "内容过于复杂，服务器没有接受。",
  context_length_exceeded: "对话超出了模型的上下文窗口。",
  conversation_locked: "这个对话中还有一个回答正在生成。",
  deleted_with_another: "它是随另一条消息一起删除的，请恢复那一条。",
  head_moved: "与此同时，这个对话中发送了另一条消息。",
  invalid_api_key: "密钥无效。",
  message_exists: "这条消息已经存在。",
  missing_api_key: "需要登录。",
  not_resumed: "服务器在生成此回答时停止，且未能继续。请点击“继续”，或重新提问。",
  prompt_changed: "模型或系统提示词已更改，请重新生成这个回答。",
  question_unanswered: "上一个问题还没有回答，请先重新生成。",
  queue_timeout: "服务器太忙，没有轮到这个请求。",
  run_in_progress: "这个回答还在生成。",
  server_restart: "服务器正在停止或重新启动。",
  storage_failed: "回答暂时未能保存，服务器会尽快重试。",
  "429": "服务器现在太忙。",
  "503": "服务器还没有准备好。",
};

