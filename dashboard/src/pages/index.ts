/** The pages of the navigation, in its order. A page is one component; `key` follows `g` on the keyboard. */
import type { Component } from "svelte";

import type { IconName } from "../parts/Icon.svelte";
import Administration from "./Administration.svelte";
import Approvals from "./Approvals.svelte";
import Memory from "./Memory.svelte";
import Overview from "./Overview.svelte";
import Proofs from "./Proofs.svelte";
import Sessions from "./Sessions.svelte";

export interface PageEntry {
  id: string;
  title: string;
  icon: IconName;
  key: string;
  /** The scope without which it is not offered. */
  scope: string;
  component: Component;
}

export const pages: PageEntry[] = [
  { id: "overview", title: "Overview", icon: "overview", key: "o", scope: "admin", component: Overview },
  { id: "sessions", title: "Sessions", icon: "sessions", key: "s", scope: "read", component: Sessions },
  { id: "approvals", title: "Approvals", icon: "approvals", key: "a", scope: "read", component: Approvals },
  { id: "memory", title: "Memory", icon: "memory", key: "m", scope: "read", component: Memory },
  { id: "proofs", title: "Proofs", icon: "proofs", key: "p", scope: "read", component: Proofs },
  { id: "administration", title: "Administration", icon: "administration", key: "d", scope: "admin", component: Administration },
];
