export type Theme = "system" | "light" | "dark";
export type TextSize = "small" | "normal" | "large";

export const THEMES: readonly Theme[] = ["system", "light", "dark"];
export const TEXT_SIZES: readonly TextSize[] = ["small", "normal", "large"];

const TIER_MARKS = "ebb-tier-marks";

/** Appearance of the page in this browser. The style sheet reads theme and text size from attributes of the document. */
export class Appearance {
  theme = $state<Theme>("system");
  size = $state<TextSize>("normal");
  /** Whether the list marks the tier that holds each chat. */
  tierMarks = $state(localStorage.getItem(TIER_MARKS) !== "off");

  constructor() {
    this.setTheme(THEMES.find((theme) => theme === localStorage.getItem("ebb-theme")) ?? "system");
    this.setSize(TEXT_SIZES.find((size) => size === localStorage.getItem("ebb-text-size")) ?? "normal");
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    localStorage.setItem("ebb-theme", theme);
    document.documentElement.dataset["theme"] = theme;
  }

  setSize(size: TextSize): void {
    this.size = size;
    localStorage.setItem("ebb-text-size", size);
    document.documentElement.dataset["textSize"] = size;
  }

  showTierMarks(shown: boolean): void {
    this.tierMarks = shown;
    localStorage.setItem(TIER_MARKS, shown ? "on" : "off");
  }
}
