const all = document.querySelectorAll("details.steps");
const button = document.createElement("button");
const label = () => (button.textContent = [...all].some((d) => !d.open) ? "Open all timelines" : "Close all timelines");
button.onclick = () => { const open = [...all].some((d) => !d.open); all.forEach((d) => (d.open = open)); label(); };
all.forEach((d) => d.addEventListener("toggle", label));
if (all.length) { label(); document.querySelector("#proofs").after(button); }
