// The way of a graph through the passes: a slider over the steps, and what each changed.
const scrubber = {way: 0, step: 0};

function showPasses() {
  const root = document.getElementById("passes");
  if (!page.passes.length) { root.innerHTML = "<p>no passes ran</p>"; return; }
  if (!root.firstChild) {
    root.innerHTML = `<div class="steps"><select aria-label="graph"></select><input type="range" min="0" step="1" aria-label="pass"><ol></ol></div><div class="change"></div>`;
    const choice = root.querySelector("select");
    page.passes.forEach((way, i) => choice.add(new Option(way.title || "the call", i)));
    choice.onchange = () => { scrubber.way = Number(choice.value); scrubber.step = 0; showPasses(); remember(); };
    root.querySelector("[type=range]").oninput = event => { scrubber.step = Number(event.target.value); showPasses(); remember(); };
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
  const html = step.difference.trimEnd().split("\n").map(line => {
    if (line[0] === "…") return `<div><i>${escapeHtml(line)}</i></div>`;
    const kind = line[0] === "+" ? "plus" : line[0] === "-" ? "minus" : "";
    return `<div class="${kind}">${line[0]} ${painted(line.slice(2), "functional")}</div>`;
  });
  return head + `<div class="code">${html.join("")}</div>`;
}
