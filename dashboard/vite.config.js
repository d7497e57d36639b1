import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

/** Where a gateway runs while the page is developed (`npm run dev`). */
const gateway = process.env.HOLDFAST_GATEWAY ?? "http://127.0.0.1:9000";

const proxied = {
  target: gateway,
  changeOrigin: true,
  ws: true,
  headers: { Origin: gateway },
};

export default defineConfig({
  base: "/dashboard/",
  plugins: [svelte()],
  build: {
    outDir: "../src/holdfast/gateway/dashboard",
    emptyOutDir: true,
    target: "es2022",
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // One script, and the charts' library, which is fetched with the first chart: a page that is left open over an upgrade
    // asks for no part that is gone but that one, and shows tables then.
    reportCompressedSize: true,
  },
  server: {
    proxy: { "/api": proxied, "/ws": proxied, "/health": proxied, "/openapi.json": proxied, "/a2a": proxied },
  },
});
