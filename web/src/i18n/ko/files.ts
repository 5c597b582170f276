import type { FileTexts } from "../en/files";

/** Korean texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: FileTexts = {
  tooLong: {
    title: "메시지가 너무 깁니다",
    text: (used, window) => `이 메시지를 더하면 채팅이 ${used} 토큰이 됩니다. 모델은 ${window} 토큰 미만만 읽을 수 있습니다.`,
    farTooLong: (window) => `이 메시지를 더하면 채팅이 모델이 읽을 수 있는 ${window} 토큰보다 훨씬 길어집니다.`,
    shorten: "메시지를 줄이거나 다음 중 하나를 선택하세요:",
    shortenAlone: "메시지를 줄이세요.",
    remove: (name) => `${name} 제거`,
    leave: (messages) => `처음 ${messages}개 메시지를 빼고 보내기`,
    summarize: (messages) => `처음 ${messages}개 메시지 요약`,
    summarizing: "모델이 요약을 작성하고 있습니다. 그다음 메시지를 보냅니다.",
    leaveTitle: "채팅에는 남지만 모델은 더 이상 보지 않습니다.",
    move: "새 채팅에서 질문하기",
  },

  allSeen: "여기서부터 모델이 다시 모든 메시지를 봅니다.",
  leftOut: (messages) => `여기서부터 모델이 처음 ${messages}개 메시지를 보지 않습니다.`,

  summary: "요약",
  summarized: (messages) => `여기서부터 모델이 처음 ${messages}개 메시지의 요약을 봅니다.`,

  overflow: {
    server: "이 메시지는 서버가 받기에는 너무 커서 이 브라우저에만 남습니다. 메시지를 줄이거나 파일을 빼세요.",
    browser: "이 메시지는 너무 커서 보낼 때까지 보관할 수 없습니다. 페이지를 닫거나 새로 고치면 사라집니다.",
  },

  notRead: (name) => `${name} 파일을 읽지 못했습니다.`,

  unreadable: {
    tooBig: (name) => `${name} 파일의 텍스트가 512 KiB를 넘습니다. 필요한 부분만 첨부하세요.`,
    tooBigPdf: (name) => `${name} 파일이 32 MiB를 넘습니다. 필요한 부분만 첨부하세요.`,
    noText: (name) => `${name} 파일은 텍스트, PDF, docx, xlsx, pptx, epub 파일이 아닙니다. 모델은 텍스트만 읽습니다. 문서라면 이 중 한 형식으로 저장하세요.`,
    old: (name) => `${name} 파일은 오래된 오피스 형식입니다. docx, xlsx 또는 pptx로 저장하여 첨부하세요.`,
    empty: (name) => `${name} 파일에 텍스트가 없습니다. 글자가 있는 그림은 먼저 문자 인식을 거쳐야 합니다.`,
    tooCostly: (name) => `${name} 파일을 읽는 데 메모리나 시간이 너무 많이 듭니다. 필요한 부분만 첨부하세요.`,
    scanned: (name) => `${name} 파일에 텍스트가 없고 스캔한 페이지만 있습니다. 먼저 문자 인식을 실행하세요.`,
    encrypted: (name) => `${name} 파일이 비밀번호로 잠겨 있습니다. 비밀번호 없는 사본을 저장하여 첨부하세요.`,
    broken: (name) => `${name} 파일이 손상되어 읽을 수 없습니다. 다시 저장하거나 다운로드하세요.`,
    gone: (name) => `${name} 파일을 열 수 없습니다. 폴더라면 그 안의 파일을 선택하고, 아니면 다시 선택하세요.`,
  },
};
