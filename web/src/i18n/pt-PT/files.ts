import { pluralsOf } from "../plurals";
import type { FileTexts } from "../en/files";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("pt-PT");

/** European Portuguese texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: PartialTexts<FileTexts> = {
  tooLong: {
    title: "A mensagem é demasiado longa",
    text: (used, window) => `Com a mensagem, esta conversa teria ${used} tokens. O modelo lê menos de ${window}.`,
    farTooLong: (window) => `Com a mensagem, esta conversa é muito maior do que os ${window} tokens que o modelo lê.`,
    shorten: "Encurte-a ou:",
    shortenAlone: "Encurte-a.",
    remove: (name) => `Remover ${name}`,
    leave: (messages) => plural(messages, { one: "Enviar sem a primeira mensagem", other: `Enviar sem as primeiras ${messages} mensagens` }),
    summarize: (messages) => plural(messages, { one: "Resumir a primeira mensagem", other: `Resumir as primeiras ${messages} mensagens` }),
    summarizing: "O modelo está a escrever o resumo. A mensagem é enviada a seguir.",
    leaveTitle: "Ficam na conversa, mas o modelo deixa de as ver.",
    move: "Perguntar numa nova conversa",
  },

  allSeen: "A partir daqui, o modelo volta a ver todas as mensagens.",
  leftOut: (messages) =>
    plural(messages, {
      one: "A partir daqui, o modelo deixa de ver a primeira mensagem.",
      other: `A partir daqui, o modelo deixa de ver as primeiras ${messages} mensagens.`,
    }),

  summary: "Resumo",
  summarized: (messages) =>
    plural(messages, {
      one: "A partir daqui, o modelo vê um resumo da primeira mensagem.",
      other: `A partir daqui, o modelo vê um resumo das primeiras ${messages} mensagens.`,
    }),

  overflow: {
    server: "Esta mensagem é demasiado grande para o servidor, por isso fica apenas neste navegador. Encurte-a ou remova um ficheiro.",
    browser: "Esta mensagem é demasiado grande para ser guardada até ao envio. Perde-se se fechar ou recarregar a página.",
  },

  notRead: (name) => `${name} não foi lido.`,

  unreadable: {
    tooBig: (name) => `${name} tem mais de 512 KiB de texto. Anexe a parte que importa.`,
    tooBigPdf: (name) => `${name} tem mais de 32 MiB. Anexe a parte que importa.`,
    noText: (name) => `${name} não é um ficheiro de texto, PDF, docx, xlsx, pptx ou epub. O modelo lê apenas texto: se for um documento, guarde-o num destes formatos.`,
    old: (name) => `${name} está num formato antigo do Office. Guarde-o como docx, xlsx ou pptx e anexe o resultado.`,
    empty: (name) => `${name} não contém texto. As imagens de texto precisam primeiro de reconhecimento de texto.`,
    tooCostly: (name) => `Ler ${name} exige demasiada memória ou tempo. Anexe a parte que importa.`,
    scanned: (name) => `${name} não contém texto, apenas páginas digitalizadas. Faça primeiro o reconhecimento de texto.`,
    encrypted: (name) => `${name} está protegido por palavra-passe. Guarde uma cópia sem ela e anexe-a.`,
    broken: (name) => `${name} está danificado e não pode ser lido. Volte a guardá-lo ou a transferi-lo.`,
    gone: (name) => `Não é possível abrir ${name}. Se for uma pasta, escolha os ficheiros que contém; caso contrário, escolha-o novamente.`,
  },
};
