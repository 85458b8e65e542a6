// Lines of all stages have one numbering. A line names the lines that it was made from, which are in the table that
// its own was made from: so tables form a tree, and what two lines have to do with each other is found by climbing to
// the table that both come from, and down again.
const page = JSON.parse(document.getElementById("data").textContent);
const tables = page.tables;
tables.forEach((table, number) => {
  table.number = number;
  table.end = table.first + table.lines.length;
  table.from = table.from.map(from => typeof from === "number" ? [from] : from);
  table.depth = table.parent < 0 ? 0 : tables[table.parent].depth + 1;
});
const stageNames = [...new Set(tables.map(table => table.stage))];
const tablesOf = stage => tables.filter(table => table.stage === stage);

function tableOf(line) {
  let low = 0, high = tables.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (tables[middle].first <= line) low = middle; else high = middle - 1;
  }
  return tables[low];
}
const textOf = line => { const table = tableOf(line); return table.lines[line - table.first]; };
const valueOf = line => tableOf(line).values[line] || "";

// A line that is about others as a whole stands for them, too.
function withParts(lines) {
  const all = new Set(lines);
  for (const line of lines) for (const part of tableOf(line).of[line] || []) all.add(part);
  return all;
}

function climb(lines, table, to) {
  let now = withParts(lines);
  while (table !== to && table.parent >= 0) {
    const above = new Set();
    for (const line of now) for (const from of table.from[line - table.first]) above.add(from);
    now = withParts(above);
    table = tables[table.parent];
  }
  return table === to ? now : new Set();
}

// For each line of the table above, the lines that were made from it.
function madeFrom(table) {
  if (table.index) return table.index;
  table.index = new Map();
  table.from.forEach((list, i) => {
    for (const from of list) {
      if (!table.index.has(from)) table.index.set(from, []);
      table.index.get(from).push(table.first + i);
    }
  });
  return table.index;
}

function descend(lines, table, to) {
  const way = [];
  for (let step = to; step !== table; step = tables[step.parent]) way.unshift(step);
  let now = lines;
  for (const step of way) {
    const index = madeFrom(step), below = new Set();
    for (const line of now) for (const made of index.get(line) || []) below.add(made);
    now = below;
  }
  return now;
}

function commonTable(a, b) {
  while (a !== b) {
    if (a.depth >= b.depth && a.parent < 0) return null;
    if (a.depth >= b.depth) a = tables[a.parent]; else b = tables[b.parent];
  }
  return a;
}

// The lines of a table that a line comes from, or that come from what it comes from.
function relatedIn(line, to) {
  const own = tableOf(line);
  let common = commonTable(own, to);
  if (!common) return new Set();
  const isBetween = common !== own && common !== to;
  // Nodes of the forward and of the backward graph have the node of the program in common, which both go back to.
  if (isBetween && common.stage === "joint") common = tables[common.parent];
  // Nodes of one line of the program that come from different calls have nothing in common.
  if (isBetween && common.stage === "source") return new Set();
  return descend(climb([line], own, common), common, to);
}

const relatedCache = new Map();
// The same in all tables of a stage.
function related(line, stage) {
  const key = line + " " + stage;
  if (!relatedCache.has(key)) {
    if (relatedCache.size > 20000) relatedCache.clear();
    const all = new Set();
    for (const table of tablesOf(stage)) for (const each of relatedIn(line, table)) all.add(each);
    relatedCache.set(key, all);
  }
  return relatedCache.get(key);
}

// The line with what it is about, and the lines of its table that were made from the same.
function withSiblings(line) {
  const table = tableOf(line), all = withParts([line]), index = madeFrom(table);
  if (table.of[line] || table.stage === "captured") return all;  // nodes of one line of the program are several
  for (const from of table.from[line - table.first]) for (const each of index.get(from) || []) all.add(each);
  return all;
}

// A colour for each node of the captured graph, which all that comes of it has.
const hueCache = new Map();
function hueOf(line) {
  if (hueCache.has(line)) return hueCache.get(line);
  let table = tableOf(line), first = -1;
  if (table.stage === "source") {
    for (const captured of tablesOf("captured")) {
      if (!(first >= 0 && Number.isFinite(first))) first = Math.min(...descend([line], table, captured));
    }
  } else {
    let captured = table;
    while (captured.stage !== "captured" && captured.parent >= 0) captured = tables[captured.parent];
    const has = !(table.of[line] && table.of[line].length > 1);
    if (captured.stage === "captured" && has) first = Math.min(...climb([line], table, captured));
  }
  const hue = Number.isFinite(first) && first >= 0 ? Math.round(first * 137.508) % 360 : -1;
  hueCache.set(line, hue);
  return hue;
}
const colorOf = line => { const hue = hueOf(line); return hue < 0 ? "var(--plain)" : `hsl(${hue} 65% 50%)`; };
