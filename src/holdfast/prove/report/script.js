const make = (name, properties, ...inside) => {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...inside);
  return element;
};

const all = document.querySelectorAll("details.steps");
const opener = make("button", { type: "button" });
const label = () => (opener.textContent = [...all].some((d) => !d.open) ? "Open all timelines" : "Close all timelines");
opener.onclick = () => { const open = [...all].some((d) => !d.open); all.forEach((d) => (d.open = open)); label(); };
all.forEach((d) => d.addEventListener("toggle", label));

const found = document.querySelectorAll("[data-name]");
const words = make("input", { type: "search", id: "words" });
const verdicts = make("select", { id: "verdicts" }, make("option", { value: "", textContent: "any verdict" }));
for (const verdict of new Set([...found].map((e) => e.dataset.verdict))) {
  verdicts.append(make("option", { value: verdict, textContent: verdict }));
}
const count = make("span", { className: "soft" });
count.setAttribute("role", "status");
const filter = () => {
  const wanted = words.value.trim().toLowerCase();
  let shown = 0;
  found.forEach((e) => {
    const fits = (!verdicts.value || e.dataset.verdict === verdicts.value) && e.dataset.name.toLowerCase().includes(wanted);
    e.hidden = !fits;
    shown += fits && e.tagName === "LI" ? 1 : 0;
  });
  count.textContent = wanted || verdicts.value ? `${shown} shown` : "";
};
words.oninput = verdicts.onchange = filter;
const controls = make(
  "div", { className: "controls" },
  make("label", { htmlFor: "words", textContent: "Filter by name" }), words,
  make("label", { htmlFor: "verdicts", textContent: "and verdict" }), verdicts,
  count, ...(all.length ? [opener] : []),
);
if (found.length) { label(); document.querySelector("#proofs h2").after(controls); }

const copy = async (text) => {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = make("textarea", { value: text });
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (!done) throw new Error("not allowed");
};
document.querySelectorAll("dd pre").forEach((pre) => {
  const button = make("button", { type: "button", className: "copy", textContent: "Copy" });
  button.setAttribute("aria-live", "polite");
  button.onclick = () => copy(pre.textContent).then(() => "Copied", () => "Select it and copy").then((said) => {
    button.textContent = said;
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
  pre.before(button);
});
