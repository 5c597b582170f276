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
  tierMarks = $state(localStorage.getItem(TIER_MARKS) !== "off");

  constructor() {
    this.setTheme(THEMES.find((theme) => theme === localStorage.getItem(THEME)) ?? "system");
    const size = localStorage.getItem(TEXT_SIZE) ?? "";
    this.setSize(TEXT_SIZES.find((each) => String(each) === size) ?? FORMER_SIZES[size] ?? 100);
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    localStorage.setItem(THEME, theme);
    document.documentElement.dataset["theme"] = theme;
  }

  setSize(size: TextSize): void {
    this.size = size;
    localStorage.setItem(TEXT_SIZE, String(size));
    document.documentElement.dataset["textSize"] = String(size);
  }

  showTierMarks(shown: boolean): void {
    this.tierMarks = shown;
    localStorage.setItem(TIER_MARKS, shown ? "on" : "off");
  }
}
