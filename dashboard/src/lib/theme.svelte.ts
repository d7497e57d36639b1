/** Dark, light or as the system has it; kept in this browser. */
export type Theme = "system" | "light" | "dark";

const KEY = "holdfast.theme";

class ThemeChoice {
  current = $state<Theme>(read());

  set(theme: Theme): void {
    this.current = theme;
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      // A browser that keeps nothing forgets it with the tab.
    }
    this.apply();
  }

  next(): void {
    this.set(this.current === "system" ? "light" : this.current === "light" ? "dark" : "system");
  }

  apply(): void {
    if (this.current === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = this.current;
  }
}

function read(): Theme {
  try {
    const found = localStorage.getItem(KEY);
    return found === "light" || found === "dark" ? found : "system";
  } catch {
    return "system";
  }
}

export const theme = new ThemeChoice();
