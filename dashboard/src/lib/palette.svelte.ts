/** What the command palette offers: the frame's commands, and those of the page that is shown. */
import type { IconName } from "../parts/Icon.svelte";
import { Layers } from "./layers.svelte";

export interface Command {
  title: string;
  icon?: IconName;
  keys?: string;
  run: () => void;
}

export const commands = new Layers<Command>();
