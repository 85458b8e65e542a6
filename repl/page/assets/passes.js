// The way of a graph through the passes: a slider over the steps, and what each changed.
const kContext = 2;  // unchanged lines that are shown around changes
const scrubber = {way: 0, step: 0, onlyChanges: true};

function showPasses() {
  const root = document.getElementById("passes");
  if (!page.passes.length) { root.innerHTML = "<p>no passes ran</p>"; return; }
  if (!root.firstChild) {
    root.innerHTML = `<div class="steps"><select aria-label="graph"></select><input type="range" min="0" step="1" aria-label="pass">
      <label><input type="checkbox" checked> only what changes</label><ol></ol></div><div class="change"></div>`;
    const choice = root.querySelector("select");
    page.passes.forEach((way, i) => choice.add(new Option(way.title || "the call", i)));
    choice.onchange = () => { scrubber.way = Number(choice.value); scrubber.step = 0; showPasses(); remember(); };
    root.querySelector("[type=range]").oninput = event => { scrubber.step = Number(event.target.value); showPasses(); remember(); };
    root.querySelector("[type=checkbox]").onchange = event => { scrubber.onlyChanges = event.target.checked; showPasses(); };
    root.querySelector("ol").onclick = event => {
      const item = event.target.closest("li");
      if (item) { scrubber.step = Number(item.dataset.step); showPasses(); remember(); }
    };
  }
  const steps = page.passes[scrubber.way].steps;
  scrubber.step = Math.min(scrubber.step, steps.length - 1);
  root.querySelector("select").value = scrubber.way;
  const range = root.querySelector("[type=range]");
  range.max = steps.length - 1;
  range.value = scrubber.step;
  root.querySelector("ol").innerHTML = steps.map((step, i) =>
    `<li data-step="${i}" class="${step.difference ? "changes" : ""}" aria-current="${i === scrubber.step}">${escapeHtml(step.pass)}<span>${step.nodes} nodes</span></li>`).join("");
  root.querySelector(".change").innerHTML = stepHtml(steps[scrubber.step]);
}

function stepHtml(step) {
  const time = step.seconds < 0.001 ? `${(step.seconds * 1e6).toFixed(0)} µs` : `${(step.seconds * 1e3).toFixed(1)} ms`;
  const head = `<h2>${escapeHtml(step.pass)}</h2><p>${escapeHtml(step.what)}.<br>It sits here ${escapeHtml(step.why)}. It took ${time} and left ${step.nodes} nodes.</p>`;
  if (!step.difference) return head + "<p>It changes nothing here.</p>";
  const lines = step.difference.trimEnd().split("\n");
  const near = new Array(lines.length).fill(!scrubber.onlyChanges);
  lines.forEach((line, i) => {
    if (line[0] === " ") return;
    for (let k = Math.max(0, i - kContext); k <= Math.min(lines.length - 1, i + kContext); ++k) near[k] = true;
  });
  let html = "", skipped = 0;
  lines.forEach((line, i) => {
    if (!near[i]) { ++skipped; return; }
    if (skipped) html += `<div><i>… ${skipped} lines</i></div>`;
    skipped = 0;
    const kind = line[0] === "+" ? "plus" : line[0] === "-" ? "minus" : "";
    html += `<div class="${kind}">${line[0]} ${painted(line.slice(2), "functional")}</div>`;
  });
  if (skipped) html += `<div><i>… ${skipped} lines</i></div>`;
  return head + `<div class="code">${html}</div>`;
}
