import { browserStorage, whenStored } from "../services/browser_storage";

export type Theme = "system" | "light" | "dark";

export const THEMES: readonly Theme[] = ["system", "light", "dark"];

/** Sizes of the page's text, in percent of the browser's own. */
export const TEXT_SIZES = [80, 90, 100, 110, 120, 135, 150, 175, 200] as const;
export type TextSize = (typeof TEXT_SIZES)[number];

/** Names under which earlier versions stored a size. */
const FORMER_SIZES: Readonly<Record<string, TextSize>> = { small: 90, normal: 100, large: 120 };

const THEME = "ebb-theme";
const TEXT_SIZE = "ebb-text-size";
const TIER_MARKS = "ebb-tier-marks";

/** Appearance of the page in this browser. The style sheet reads theme and text size from attributes of the document. */
export class Appearance {
  theme = $state<Theme>("system");
  size = $state<TextSize>(100);
  /** Whether the list marks the tier that holds each chat. */
  tierMarks = $state(true);

  constructor() {
    this.read();
  }

  /** Follow the choices of other tabs. Return the function that stops this. */
  start(): () => void {
    return whenStored([THEME, TEXT_SIZE, TIER_MARKS], () => this.read());
  }

  setTheme(theme: Theme): void {
    browserStorage.put(THEME, theme);
    this.read();
  }

  setSize(size: TextSize): void {
    browserStorage.put(TEXT_SIZE, String(size));
    this.read();
  }

  showTierMarks(shown: boolean): void {
    browserStorage.put(TIER_MARKS, shown ? "on" : "off");
    this.read();
  }

  /** Show what the browser has stored. */
  private read(): void {
    this.theme = THEMES.find((theme) => theme === browserStorage.get(THEME)) ?? "system";
    const size = browserStorage.get(TEXT_SIZE) ?? "";
    this.size = TEXT_SIZES.find((each) => String(each) === size) ?? FORMER_SIZES[size] ?? 100;
    this.tierMarks = browserStorage.get(TIER_MARKS) !== "off";
    document.documentElement.dataset["theme"] = this.theme;
    document.documentElement.dataset["textSize"] = String(this.size);
  }
}
