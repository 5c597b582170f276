/** Print the texts that each language lacks. */
import { runnerImport } from "vite";

const { module } = await runnerImport<typeof import("./tests/i18n/catalogue_texts.ts")>("./tests/i18n/catalogue_texts.ts");
const { lackingIn, TAGS } = module;
const lacking = TAGS.filter((tag) => tag !== "en").map((tag) => [tag, lackingIn(tag)] as const).filter(([, texts]) => texts.length > 0);
for (const [tag, texts] of lacking) console.log(`${tag} lacks ${texts.length}:\n${texts.map((text) => `  ${text}\n`).join("")}`);
console.log(`${TAGS.length - lacking.length} of ${TAGS.length} languages have every text.`);
