import type { AnswerTexts } from "../en/answers";

/** Korean texts for the answer tools. */
export const texts: AnswerTexts = {
  edit: {
    field: "편집한 답변",
    note: "다음 메시지는 편집한 내용에서 이어집니다. 원본은 버전으로 보관됩니다.",
  },

  rating: {
    field: "무엇이 잘못되었나요?",
    note: "선택 사항입니다. 의견은 답변과 함께 저장됩니다.",
  },

  compare: {
    title: "답변 비교",
    note: "모든 답변은 동시에 생성됩니다. 설정이 같아도 시드를 지정하지 않으면 답변이 다를 수 있습니다.",
    kept: "모든 답변이 버전으로 채팅에 남습니다.",
    column: (index) => `답변 ${index}`,
    temperature: (value) => `온도 ${value}`,
    topP: (value) => `Top p ${value}`,
    seed: (value) => `시드 ${value}`,
    add: "답변 추가",
    remove: (index) => `답변 ${index} 제거`,
    start: "비교",
    keep: "이 답변 선택",
    merge: "하나의 답변으로 합치기",
    stop: (index) => `답변 ${index} 중지`,
    stopAll: "모두 중지",
  },

  prompts: {
    title: "저장된 프롬프트",
    search: "프롬프트 찾기",
    none: "프롬프트를 찾을 수 없습니다.",
    empty: "저장된 프롬프트가 아직 없습니다. 메시지를 시작할 때 자주 쓰는 글을 저장하면, 빈 메시지에서 “/”를 입력할 때 여기에 표시됩니다.",
    add: "새 프롬프트",
    edit: (name) => `‘${name}’ 편집`,
    name: "프롬프트 이름",
    text: "내용",
    placeholders: "{{도시}}처럼 이중 중괄호로 묶은 부분은 바로 채울 수 있도록 선택됩니다.",
    remove: "프롬프트 삭제",
  },

  files: {
    search: "파일 찾기",
    none: "파일이 없습니다. 파일을 첨부할 때 책갈피 아이콘을 누르면 내 파일에 저장됩니다.",
    size: (characters) => `${characters}자`,
    remove: (name) => `${name} 삭제`,
    delete: "삭제",
    confirm: "내 파일에서 이 파일을 삭제할까요? 이 파일이 들어 있는 채팅은 그대로입니다.",
  },

  find: {
    title: "이 채팅에서 찾기",
    next: "다음 결과",
    previous: "이전 결과",
    at: (at, total) => `${total}개 중 ${at}번째`,
    none: "찾을 수 없음",
  },

  queue: {
    title: "대기 중인 메시지",
    waiting: "대기 중입니다. 답변이 끝나면 보냅니다.",
    now: "지금 보내기",
    nowTitle: "답변을 중지하고 지금까지 작성된 내용은 유지합니다",
    held: "아직 보내지 않았습니다. 답변이 중지되었거나, 이 페이지를 떠나 있는 동안 끝났습니다.",
    files: (count) => `파일 ${count}개`,
  },

  reading: {
    progress: (done, total) => `채팅을 읽는 중: ${done} / ${total} 토큰`,
    left: (time) => `약 ${time} 남음`,
  },

  models: {
    title: "모델",
    menu: (name) => `모델: ${name}`,
    states: { loaded: "메모리에 있음", unloaded: "질문하면 로드됨", draining: "메모리에서 내리는 중", failed: "로드하지 못함" },
    reads: (tokens) => `이 채팅의 ${tokens}을 읽어야 함`,
    known: "이 채팅을 이미 읽음",
    tooLong: "이 모델에는 채팅이 너무 김",
    noAnswers: "임베딩과 순위 지정 전용이라 답변할 수 없음",
  },

  regenerate: {
    title: "다른 설정으로 다시 생성",
    note: "이 설정은 이 답변에만 적용됩니다. 샘플링 항목을 비워 두면 채팅의 설정을 따르고, 시스템 프롬프트를 비워 두면 시스템 프롬프트 없이 답변합니다.",
    start: "다시 생성",
  },
};
