// The graph of a stage, drawn: pan by dragging, zoom by the wheel, click a node for all that is known of it.
const drawing = {stage: "", scale: 1, x: 0, y: 0, boxes: []};

function graphStages() { return stageNames.filter(stage => tablesOf(stage).some(table => table.nodes.length)); }

function showGraph(stage) {
  const root = document.getElementById("graph");
  if (!root.firstChild) prepareGraph(root);
  if (drawing.stage === stage) return;
  drawing.stage = stage;
  root.querySelector("select").value = stage;
  const parts = tablesOf(stage).map(table => ({table, ...layout(table)}));
  let x = 0, html = "", bounds = {x0: 0, y0: 0, x1: 0, y1: 0};
  drawing.boxes = [];
  for (const part of parts) {
    const shift = x - part.bounds.x0;
    for (const box of part.boxes) { box.x += shift; drawing.boxes.push(box); }
    if (part === parts[0]) drawing.border = part.border === null ? null : part.border + shift;
    html += partHtml(part, shift);
    x = part.bounds.x1 + shift + 120;
    bounds = {x0: 0, y0: Math.min(bounds.y0, part.bounds.y0), x1: x - 120, y1: Math.max(bounds.y1, part.bounds.y1)};
  }
  drawing.bounds = bounds;
  root.querySelector("#world").innerHTML = html;
  drawing.elements = [...root.querySelectorAll(".node")];
  drawing.edges = [...root.querySelectorAll(".edge")];
  fitGraph();
}

function prepareGraph(root) {
  root.innerHTML = `<div class="sheet"><svg role="img" aria-label="the graph" tabindex="0"><g id="world"></g></svg>
    <div class="tools"><select aria-label="stage that is drawn"></select><button data-zoom="1.3">+</button>
    <button data-zoom="0.77">−</button><button data-zoom="fit">fit</button></div></div><aside class="detail"></aside>`;
  const svg = root.querySelector("svg"), choice = root.querySelector("select");
  for (const stage of graphStages()) choice.add(new Option(stage, stage));
  choice.onchange = () => { showGraph(choice.value); remember(); };
  for (const button of root.querySelectorAll("[data-zoom]")) {
    button.onclick = () => button.dataset.zoom === "fit" ? fitGraph() : zoomGraph(Number(button.dataset.zoom));
  }
  let from = null, moved = 0;
  svg.onpointerdown = event => { from = [event.clientX - drawing.x, event.clientY - drawing.y]; moved = 0; svg.setPointerCapture(event.pointerId); };
  svg.onpointermove = event => {
    if (!from) return;
    const x = event.clientX - from[0], y = event.clientY - from[1];
    moved += Math.abs(x - drawing.x) + Math.abs(y - drawing.y);
    [drawing.x, drawing.y] = [x, y];
    placeGraph();
  };
  svg.onpointerup = event => {
    from = null;
    if (moved > 4) return;
    const hit = document.elementFromPoint(event.clientX, event.clientY)?.closest(".node");
    if (hit) chooseBox(drawing.boxes[Number(hit.dataset.box)]);
  };
  svg.ondblclick = event => {
    const hit = document.elementFromPoint(event.clientX, event.clientY)?.closest(".node");
    const box = hit && drawing.boxes[Number(hit.dataset.box)];
    if (box && box.line >= 0) goTo(box.line);
  };
  svg.addEventListener("wheel", event => {
    event.preventDefault();
    const at = svg.getBoundingClientRect();
    zoomGraph(Math.exp(-event.deltaY / 500), event.clientX - at.left, event.clientY - at.top);
  }, {passive: false});
  detail(root.querySelector(".detail"), null);
}

function placeGraph() {
  document.getElementById("world").setAttribute("transform", `translate(${drawing.x} ${drawing.y}) scale(${drawing.scale})`);
  document.querySelector("#graph svg").classList.toggle("far", drawing.scale < 0.35);
}
function zoomGraph(by, x, y) {
  const svg = document.querySelector("#graph svg");
  x ??= svg.clientWidth / 2; y ??= svg.clientHeight / 2;
  const scale = Math.min(4, Math.max(0.01, drawing.scale * by));
  drawing.x = x - (x - drawing.x) * scale / drawing.scale;
  drawing.y = y - (y - drawing.y) * scale / drawing.scale;
  drawing.scale = scale;
  placeGraph();
}
// Small graphs are shown whole, large ones from their beginning in a size that can be read.
function fitGraph() {
  const svg = document.querySelector("#graph svg"), {x0, y0, x1, y1} = drawing.bounds;
  const across = svg.clientWidth / (x1 - x0 + 60), down = svg.clientHeight / (y1 - y0 + 100);
  drawing.scale = Math.min(1.3, Math.max(Math.min(across, down), Math.min(0.95, Math.max(across, 0.6))));
  const isWide = (x1 - x0) * drawing.scale > svg.clientWidth - 40;
  // Of one that is too wide the middle between forward and backward is shown, or else its left.
  const middle = !isWide ? (x0 + x1) / 2 : drawing.border ?? x0 + (svg.clientWidth / 2 - 20) / drawing.scale;
  drawing.x = svg.clientWidth / 2 - middle * drawing.scale;
  drawing.y = 60 - y0 * drawing.scale;
  placeGraph();
}

function edgePath(a, b) {
  const up = b.y < a.y, y0 = a.y + (up ? -1 : 1) * kNodeHeight / 2, y1 = b.y + (up ? 1 : -1) * kNodeHeight / 2;
  if (a.isBackward !== b.isBackward) {  // across, from side to side
    const x0 = a.x + a.width / 2, x1 = b.x - b.width / 2, middle = (x0 + x1) / 2;
    return `M${x0},${a.y}C${middle},${a.y} ${middle},${b.y} ${x1},${b.y}`;
  }
  const bend = (y1 - y0) / 2;
  return `M${a.x},${y0}C${a.x},${y0 + bend} ${b.x},${y1 - bend} ${b.x},${y1}`;
}

// Nodes that one kernel computes lie in one coloured area.
function kernelsOn(table) {
  const groups = [], hasBackward = ["joint", "backward"].includes(table.stage);
  for (const fused of tablesOf("fused")) {
    if (fused.title.endsWith("backward") && !hasBackward) continue;
    fused.lines.forEach((text, i) => {
      const members = /^kernel \d+ over/.test(text) ? fused.of[fused.first + i] || [] : [];
      const lines = new Set();
      for (const member of members) {
        const common = commonTable(fused, table);
        if (common && (common === table || common.stage !== "source")) for (const line of relatedIn(member, table)) lines.add(line);
      }
      if (lines.size > 1) groups.push({name: text.match(/^kernel \d+/)[0].replace(" ", "_") + (fused.title ? ` ${fused.title}` : ""), lines, line: fused.first + i});
    });
  }
  return groups;
}

// What is done together with other ranks; a token joins the begin of it to where it is waited for.
function isCollective(box) { return !box.input && box.node.communicates; }
function isToken(from, to) { return !from.input && from.node.op === "allreduce_start" && to.node.op === "allreduce_wait"; }

function groupHtml(group, part, number, named) {
  const members = part.boxes.filter(box => group.lines.has(box.line));
  if (members.length < 2) return "";
  const inside = new Set(members), color = `hsl(${(number * 137 + 200) % 360} 70% 55%)`;
  let shapes = "";
  for (const box of members) {
    shapes += `<rect x="${box.x - box.width / 2 - 8}" y="${box.y - kNodeHeight / 2 - 8}" width="${box.width + 16}" height="${kNodeHeight + 16}" rx="10"/>`;
    for (const each of box.reads) {
      if (inside.has(each)) shapes += `<line x1="${each.x}" y1="${each.y}" x2="${box.x}" y2="${box.y}"/>`;
    }
  }
  const top = members.reduce((a, b) => (a.y < b.y ? a : b));
  const above = 12 * (named.get(top) || 0);  // a node that is computed again is in two kernels
  named.set(top, (named.get(top) || 0) + 1);
  return `<g class="group" fill="${color}" stroke="${color}"><g stroke-width="0">${shapes.replaceAll("<line", `<line style="stroke-width:22"`)}</g></g>` +
         `<text class="groupname" x="${top.x - top.width / 2 - 6}" y="${top.y - kNodeHeight / 2 - 12 - above}">${escapeHtml(group.name)}</text>`;
}

function partHtml(part, shift) {
  const first = drawing.boxes.length - part.boxes.length;
  part.boxes.forEach((box, i) => { box.number = first + i; });
  const named = new Map();
  let html = kernelsOn(part.table).map((group, i) => groupHtml(group, part, i, named)).join("");
  for (const box of part.boxes) for (const each of box.reads) {
    const kinds = isToken(each, box) ? "edge token" : each.isBackward === box.isBackward ? "edge" : "edge across";
    html += `<path class="${kinds}" data-a="${each.number}" data-b="${box.number}" d="${edgePath(each, box)}"/>`;
  }
  for (const box of part.boxes) {
    const label = box.label.length > 34 ? box.label.slice(0, 33) + "…" : box.label;
    const color = box.line >= 0 ? `--line:${colorOf(box.line)}` : "";
    html += `<g class="node${box.input ? " input" : isCollective(box) ? " collective" : ""}" data-box="${box.number}" style="${color}"><rect x="${box.x - box.width / 2}" y="${box.y - kNodeHeight / 2}" width="${box.width}" height="${kNodeHeight}"/>` +
            `<text x="${box.x}" y="${box.y}">${escapeHtml(label)}</text></g>`;
  }
  const top = part.bounds.y0 - 16;
  if (part.border !== null) {
    html += `<text class="side" x="${part.bounds.x0 + shift}" y="${top}">forward ↓</text>` +
            `<text class="side" x="${part.border + kSideGap / 2 + shift}" y="${top}">↑ backward</text>`;
  } else if (part.table.title) {
    html += `<text class="side" x="${part.bounds.x0 + shift}" y="${top}">${escapeHtml(part.table.title)}</text>`;
  }
  return html;
}

function chooseBox(box) {
  drawing.chosen = box;
  const near = new Set([box.number, ...box.reads.map(each => each.number)]);
  const kin = box.line >= 0 ? related(box.line, drawing.stage) : new Set();
  for (const element of drawing.elements) {
    const each = drawing.boxes[Number(element.dataset.box)];
    element.classList.toggle("selected", each === box);
    element.classList.toggle("lit", each !== box && kin.has(each.line));
  }
  for (const edge of drawing.edges) edge.classList.toggle("lit", edge.dataset.a == box.number || edge.dataset.b == box.number);
  detail(document.querySelector("#graph .detail"), box);
  if (box.line >= 0) { selected = box.line; remember(); }
}
function showBoxOf(line) {
  const box = drawing.boxes.find(each => each.line === line);
  if (!box) return;
  chooseBox(box);
  const svg = document.querySelector("#graph svg");
  drawing.scale = Math.max(drawing.scale, 0.8);
  drawing.x = svg.clientWidth / 2 - box.x * drawing.scale;
  drawing.y = svg.clientHeight / 2 - box.y * drawing.scale;
  placeGraph();
}

// The value of a line in this call, or of the line with the same op that it became in the graph that ran.
const opOf = text => (text.match(/ = ([\w.]+)\(/) || [])[1];
function knownValue(line) {
  if (valueOf(line)) return valueOf(line);
  const op = opOf(textOf(line));
  for (const stage of op ? ["functional", "forward", "backward"] : []) {
    const same = [...related(line, stage)].filter(each => valueOf(each) && opOf(textOf(each)) === op);
    if (same.length === 1) return valueOf(same[0]);
  }
  return "";
}

// Sentences of fusion and of the cut that speak of a node.
function reasonsFor(line) {
  const sentences = [];
  const own = Object.entries(tableOf(line).of).filter(entry => entry[1].includes(line)).map(entry => Number(entry[0]));
  for (const each of [...related(line, "fused"), ...own]) {
    const text = textOf(each);
    if (/^%\S+( to %\S+)?: /.test(text)) sentences.push(text);
  }
  for (const cut of page.cuts) for (const row of cut.rows) {
    if (row.line >= 0 && (row.line === line || related(line, "joint").has(row.line) && tableOf(line).stage !== "joint"))
      sentences.push(`${row.name} is ${row.kept ? "kept" : "computed again"}: ${row.why}`);
  }
  return [...new Set(sentences)];
}

function detail(root, box) {
  if (!box) { root.innerHTML = "<h2>A node</h2><p>Click one for its type, its value in this call, its place and why it is where it is.</p>"; return; }
  const rows = [];
  const add = (name, value, isCode) => { if (value) rows.push(`<dt>${name}</dt><dd class="${isCode ? "code" : ""}">${isCode ? painted(value, drawing.stage) : escapeHtml(value)}</dd>`); };
  if (box.input) {
    add("input", `${box.input.name}: ${box.input.type}`, true);
    add("role", box.input.role);
    root.innerHTML = `<h2>${escapeHtml(box.label)}</h2><dl>${rows.join("")}</dl>`;
    return;
  }
  const [code, comment] = parts(textOf(box.line), drawing.stage);
  add("node", code.trim(), true);
  add("type", code.slice(code.lastIndexOf(" : ") + 3));
  add("attributes", (code.match(/\b\w+=(\[[^\]]*\]|"[^"]*"|[^,)]+)/g) || []).join(", "));
  add("value in this call", knownValue(box.line));
  add("place", comment.replace(/^# /, ""));
  for (const source of related(box.line, "source")) add("source", textOf(source).trim(), true);
  for (const sentence of reasonsFor(box.line)) add("why", sentence);
  const counts = stageNames.filter(stage => stage !== drawing.stage).map(stage => [stage, related(box.line, stage).size]).filter(each => each[1]);
  add("lines of it", counts.map(each => `${each[0]} ${each[1]}`).join(", "));
  root.innerHTML = `<h2>${escapeHtml(box.label)}</h2><dl>${rows.join("")}</dl><button id="golines">show its lines</button>`;
  root.querySelector("#golines").onclick = () => goTo(box.line);
}
