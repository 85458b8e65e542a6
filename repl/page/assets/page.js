// The page as a whole: which view is shown, what is selected, keys, search, and the address that says all of it.
const views = {stages: "Stages", graph: "Graph", passes: "Passes", costs: "Costs", notes: "Assumed"};
let view = "stages", selected = -1, active = null, foundLines = new Set(), found = [], foundAt = -1;
const left = new Pane(document.getElementById("left"), "left"), right = new Pane(document.getElementById("right"), "right");
active = left;

function choose(pane, stage) {
  pane.show(stage);
  light(selected);
  const first = pane.firstLit();
  if (first >= 0) pane.reveal(first);
  search();
  remember();
}

// ---- What is lit, and what is told of it ----

function light(line) {
  left.light(line);
  right.light(line);
  drawBands();
  tell(line);
}
function hover(line) { if (selected < 0) light(line); else tell(line < 0 ? selected : line); }
function select(line, pane) {
  selected = selected === line ? -1 : line;
  light(selected);
  const other = pane === left ? right : left;
  if (selected >= 0 && other.firstLit() >= 0) other.reveal(other.firstLit());
  drawBands();
  remember();
}
function tell(line) {
  const root = document.getElementById("about");
  if (line < 0) { root.innerHTML = '<span class="about">Point at a line to see what it came from and what became of it; click to keep it lit.</span>'; return; }
  const table = tableOf(line), value = knownValue(line);
  const counts = stageNames.map(stage => [stage, stage === table.stage ? 0 : related(line, stage).size]).filter(each => each[1]);
  root.innerHTML = `<div class="code">${painted(textOf(line).trim(), table.stage)}</div>` +
    (value ? `<div>${escapeHtml(value)}</div>` : "") +
    `<div class="about">${escapeHtml(table.stage + (table.title ? ", " + table.title : ""))}${counts.length ? " · " : ""}${counts.map(each => `${each[0]} ${each[1]}`).join(" · ")}</div>`;
}
// Shows a line among the stages.
function goTo(line) {
  show("stages");
  const stage = tableOf(line).stage;
  const pane = left.stage === stage ? left : right;
  if (pane.stage !== stage) pane.show(stage);
  selected = line;
  light(line);
  pane.reveal(line);
  const other = pane === left ? right : left;
  if (other.firstLit() >= 0) other.reveal(other.firstLit());
  remember();
}

// ---- Views ----

function show(name) {
  view = name;
  for (const each of Object.keys(views)) document.getElementById(each).hidden = each !== name;
  for (const tab of document.querySelectorAll("#views button")) tab.setAttribute("aria-selected", tab.dataset.view === name);
  if (name === "stages") { left.draw(true); right.draw(true); drawBands(); }
  if (name === "graph") {
    const own = selected >= 0 ? tableOf(selected).stage : "";
    const stages = graphStages();
    const isAsked = tablesOf("joint").some(table => !table.title.includes("as if"));
    showGraph(drawing.stage || (stages.includes(own) ? own : isAsked ? "joint" : stages.includes("functional") ? "functional" : stages[0]));
    if (selected >= 0) showBoxOf(drawing.stage === own ? selected : [...related(selected, drawing.stage)][0]);
  }
  if (name === "passes") showPasses();
  if (name === "costs") showCosts();
  if (name === "notes") showNotes();
  document.getElementById("about").hidden = name !== "stages";
  remember();
}
for (const [name, title] of Object.entries(views)) {
  const tab = document.createElement("button");
  tab.textContent = title;
  tab.dataset.view = name;
  tab.setAttribute("role", "tab");
  tab.onclick = () => show(name);
  document.getElementById("views").append(tab);
}

// ---- Search ----

function search() {
  const wanted = document.getElementById("search").value.toLowerCase();
  found = [];
  if (wanted) {
    for (const pane of new Set([left, right])) for (const entry of pane.entries)
      if (entry.line !== undefined && entry.text.toLowerCase().includes(wanted)) found.push([pane, entry.line]);
  }
  foundLines = new Set(found.map(each => each[1]));
  foundAt = -1;
  document.getElementById("found").textContent = wanted ? `${foundLines.size} lines` : "";
  left.mark();
  right.mark();
}
function nextFound(by) {
  if (!found.length) return;
  foundAt = (foundAt + by + found.length) % found.length;
  const [pane, line] = found[foundAt];
  selected = line;
  light(line);
  pane.reveal(line);
  document.getElementById("found").textContent = `${foundAt + 1} of ${found.length}`;
}
document.getElementById("search").oninput = search;
document.getElementById("search").onkeydown = event => {
  if (event.key === "Enter") nextFound(event.shiftKey ? -1 : 1);
  if (event.key === "Escape") { event.target.value = ""; search(); event.target.blur(); }
  event.stopPropagation();
};

// ---- Light and dark, keys ----

function turnTheme() {
  const root = document.documentElement, isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  drawBands();
}
document.getElementById("theme").onclick = turnTheme;

const keys = {
  "1 … 5": "the views", "/": "search", "n N": "next and previous hit", "↑ ↓": "line by line", "← →": "left and right pane",
  "[ ]": "previous and next stage of the pane", "Enter": "scroll the other pane to what is lit", "f": "fold all of the pane",
  "Esc": "nothing is selected", "+ − 0": "zoom of the graph", "t": "light or dark", "?": "this list",
};
const dialog = document.getElementById("keys");
dialog.innerHTML = "<table>" + Object.entries(keys).map(([key, what]) => `<tr><td><kbd>${key}</kbd><td>${what}</tr>`).join("") + "</table><form method=dialog><button>close</button></form>";
document.getElementById("help").onclick = () => dialog.showModal();

function move(by) {
  selected = active.neighbour(selected, by);
  light(selected);
  active.reveal(selected);
  remember();
}
function nextStage(by) {
  const at = stageNames.indexOf(active.stage) + by;
  if (at >= 0 && at < stageNames.length) choose(active, stageNames[at]);
}
function stepKey(by) {
  if (view === "passes") { scrubber.step = Math.max(0, scrubber.step + by); showPasses(); remember(); } else if (view === "stages") move(by);
}
const actions = {
  "/": () => document.getElementById("search").focus(), "?": () => dialog.showModal(), t: turnTheme,
  n: () => nextFound(1), N: () => nextFound(-1), f: () => active.foldAll(),
  "[": () => nextStage(-1), "]": () => nextStage(1), ArrowDown: () => stepKey(1), ArrowUp: () => stepKey(-1),
  ArrowLeft: () => { active = left; left.scroll.focus(); }, ArrowRight: () => { active = right; right.scroll.focus(); },
  Enter: () => { const other = active === left ? right : left; if (other.firstLit() >= 0) other.reveal(other.firstLit()); },
  Escape: () => { selected = -1; light(-1); remember(); },
  "+": () => view === "graph" && zoomGraph(1.3), "-": () => view === "graph" && zoomGraph(0.77), 0: () => view === "graph" && fitGraph(),
};
Object.keys(views).forEach((name, i) => { actions[i + 1] = () => show(name); });
document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("select, input") || dialog.open) return;
  if (!actions[event.key]) return;
  event.preventDefault();
  actions[event.key]();
});

// ---- The address ----

function remember() {
  const state = {view, left: left.stage, right: right.stage};
  if (selected >= 0) state.line = selected;
  if (view === "graph") state.graph = drawing.stage;
  if (view === "passes") Object.assign(state, {way: scrubber.way, step: scrubber.step});
  history.replaceState(null, "", "#" + new URLSearchParams(state));
}
function recall() {
  const state = new URLSearchParams(location.hash.slice(1));
  const stage = (name, otherwise) => stageNames.includes(state.get(name)) ? state.get(name) : otherwise;
  const first = stageNames.includes("source") ? "source" : stageNames[0];
  left.show(stage("left", first));
  right.show(stage("right", stageNames.includes("fused") ? "fused" : stageNames[stageNames.length - 1]));
  scrubber.way = Number(state.get("way") || 0);
  scrubber.step = Number(state.get("step") || 0);
  selected = -1;
  if (graphStages().includes(state.get("graph"))) drawing.wanted = state.get("graph");
  const line = state.has("line") ? Number(state.get("line")) : -1;
  const wanted = views[state.get("view")] ? state.get("view") : "stages";
  if (line >= 0 && line < tables[tables.length - 1].end) {
    selected = line;
    light(line);
    for (const pane of [left, right]) if (pane.firstLit() >= 0) pane.reveal(pane.stage === tableOf(line).stage ? line : pane.firstLit());
  } else {
    light(-1);
  }
  if (wanted === "graph" && drawing.wanted) { document.getElementById("graph").hidden = false; showGraph(drawing.wanted); }
  show(wanted);
}
window.addEventListener("hashchange", recall);
window.addEventListener("resize", () => { left.draw(true); right.draw(true); drawBands(); });
window.addEventListener("beforeprint", () => { left.draw(true, true); right.draw(true, true); });
window.addEventListener("afterprint", () => { left.draw(true); right.draw(true); drawBands(); });
recall();
