/** Extensions by the names that models give to languages. A name without an entry is often an extension itself. */
const EXTENSIONS: Readonly<Record<string, string>> = {
  bash: "sh",
  "c#": "cs",
  "c++": "cpp",
  clojure: "clj",
  console: "txt",
  csharp: "cs",
  elixir: "ex",
  erlang: "erl",
  fortran: "f90",
  fsharp: "fs",
  golang: "go",
  graphql: "graphql",
  haskell: "hs",
  javascript: "js",
  julia: "jl",
  jupyter: "ipynb",
  kotlin: "kt",
  latex: "tex",
  markdown: "md",
  matlab: "m",
  mermaid: "mmd",
  "objective-c": "m",
  objectivec: "m",
  perl: "pl",
  plaintext: "txt",
  postgresql: "sql",
  powershell: "ps1",
  protobuf: "proto",
  python: "py",
  python3: "py",
  ruby: "rb",
  rust: "rs",
  shell: "sh",
  shellscript: "sh",
  svelte: "svelte",
  terraform: "tf",
  text: "txt",
  typescript: "ts",
  yaml: "yml",
  zsh: "sh",
};
const WHOLE_NAMES: Readonly<Record<string, string>> = { dockerfile: "Dockerfile", makefile: "Makefile", cmake: "CMakeLists.txt" };
/** A file name in the words after the language, bare or as in `title="app.py"`. No path, and no hidden file. */
const NAMED = /(?:^|[\s="'/])([\w-][\w.-]{0,80}\.\w{1,10})(?:["'\s]|$)/;

/** Return a file name for code. info: the words after the opening fence; the first is the language. */
export function fileName(info: string): string {
  const [language = "", ...words] = info.trim().split(/\s+/);
  const named = NAMED.exec(words.join(" "))?.[1];
  if (named !== undefined) return named;
  const name = language.toLowerCase();
  if (Object.hasOwn(WHOLE_NAMES, name)) return WHOLE_NAMES[name]!;
  if (Object.hasOwn(EXTENSIONS, name)) return `code.${EXTENSIONS[name]}`;
  return `code.${/^[a-z][a-z0-9]{0,9}$/.test(name) ? name : "txt"}`;
}
