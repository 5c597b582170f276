import { pluralsOf } from "../plurals";
import type { FileTexts } from "../en/files";

const plural = pluralsOf("pt-BR");

/** Brazilian Portuguese texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: FileTexts = {
  tooLong: {
    title: "A mensagem é longa demais",
    text: (used, window) => `Com a mensagem, esta conversa teria ${used} tokens. O modelo lê menos de ${window}.`,
    farTooLong: (window) => `Com a mensagem, esta conversa é muito maior que os ${window} tokens que o modelo lê.`,
    shorten: "Encurte-a ou:",
    shortenAlone: "Encurte-a.",
    remove: (name) => `Remover ${name}`,
    leave: (messages) => plural(messages, { one: "Enviar sem a primeira mensagem", other: `Enviar sem as ${messages} primeiras mensagens` }),
    summarize: (messages) => plural(messages, { one: "Resumir a primeira mensagem", other: `Resumir as ${messages} primeiras mensagens` }),
    summarizing: "O modelo está escrevendo o resumo. A mensagem será enviada em seguida.",
    leaveTitle: "Elas ficam na conversa, mas o modelo não as vê mais.",
    move: "Perguntar em uma nova conversa",
  },

  allSeen: "A partir daqui, o modelo vê todas as mensagens de novo.",
  leftOut: (messages) =>
    plural(messages, { one: "A partir daqui, o modelo não vê mais a primeira mensagem.", other: `A partir daqui, o modelo não vê mais as ${messages} primeiras mensagens.` }),

  summary: "Resumo",
  summarized: (messages) =>
    plural(messages, { one: "A partir daqui, o modelo vê um resumo da primeira mensagem.", other: `A partir daqui, o modelo vê um resumo das ${messages} primeiras mensagens.` }),

  overflow: {
    server: "Esta mensagem é grande demais para o servidor, por isso fica apenas neste navegador. Encurte-a ou remova um arquivo.",
    browser: "Esta mensagem é grande demais para ficar salva até o envio. Ela se perde se você fechar ou recarregar a página.",
  },

  notRead: (name) => `${name} não foi lido.`,

  unreadable: {
    tooBig: (name) => `${name} tem mais de 512 KiB de texto. Anexe a parte que importa.`,
    tooBigPdf: (name) => `${name} tem mais de 32 MiB. Anexe a parte que importa.`,
    noText: (name) => `${name} não é um arquivo de texto, PDF, docx, xlsx, pptx ou epub. O modelo lê apenas texto: se for um documento, salve-o em um desses formatos.`,
    old: (name) => `${name} está em um formato antigo do Office. Salve-o como docx, xlsx ou pptx e anexe o resultado.`,
    empty: (name) => `${name} não contém texto. Imagens de texto precisam antes de um reconhecimento de texto.`,
    tooCostly: (name) => `Ler ${name} exige memória ou tempo demais. Anexe a parte que importa.`,
    scanned: (name) => `${name} não contém texto, só páginas digitalizadas. Faça antes um reconhecimento de texto.`,
    encrypted: (name) => `${name} está protegido por senha. Salve uma cópia sem senha e anexe-a.`,
    broken: (name) => `${name} está danificado e não pode ser lido. Salve-o ou baixe-o novamente.`,
    gone: (name) => `Não é possível abrir ${name}. Se for uma pasta, escolha os arquivos dela; senão, escolha-o novamente.`,
  },
};
