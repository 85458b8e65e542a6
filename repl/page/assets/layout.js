// Where the nodes of a graph are drawn. Nodes stand in layers, each below what it reads; within a layer they are near
// what they are joined to. The backward nodes of a layer stand to its right, from bottom to top: so forward and
// backward face each other.
const kNodeHeight = 24, kLayerGap = 30, kNodeGap = 16, kSideGap = 150;

function labelOf(node) { return node.results.length ? `${node.op}  ${node.results.join(", ")}` : node.op; }
function widthOf(label) { return Math.min(label.length, 34) * 6.7 + 18; }

// Boxes of nodes and of the inputs that are read, with what each reads.
function boxesOf(table) {
  const boxes = table.nodes.map((node, i) => ({node, index: i, line: node.line, label: labelOf(node), reads: [], origin: node.origin}));
  const inputs = new Map();
  table.nodes.forEach((node, i) => {
    for (const operand of node.operands) {
      if (operand >= 0) { boxes[i].reads.push(boxes[operand]); continue; }
      if (!inputs.has(operand)) {
        const input = table.inputs[-1 - operand];
        inputs.set(operand, {input, line: -1, label: input.name, reads: [], origin: -1, readers: []});
      }
      inputs.get(operand).readers.push(boxes[i]);
      boxes[i].reads.push(inputs.get(operand));
    }
  });
  for (const box of boxes) {
    box.isBackward = box.origin >= 0 || box.reads.some(each => each.isBackward || (each.input && each.input.role === "grad"));
  }
  for (const box of inputs.values()) box.isBackward = box.readers.every(each => each.isBackward);
  const all = [...inputs.values(), ...boxes];
  for (const box of all) box.width = widthOf(box.label);
  return {all, boxes, inputs: [...inputs.values()]};
}

// Numbers each box by the longest way to it, among those of one side.
function setLayers(boxes, inputs, isBackward) {
  for (const box of boxes) {
    if (box.isBackward !== isBackward) continue;
    box.layer = 1 + Math.max(0, ...box.reads.filter(each => each.isBackward === isBackward && !each.input).map(each => each.layer));
  }
  for (const box of inputs) {
    if (box.isBackward !== isBackward) continue;
    const layers = box.readers.filter(each => each.isBackward === isBackward).map(each => each.layer);
    box.layer = Math.max(0, Math.min(...layers) - 1);
  }
}

// Backward boxes belong to the layer of the forward node that they come from, or else to that of what they read.
function setBands(boxes, inputs) {
  const table = new Map();
  for (const box of boxes) if (!box.isBackward) table.set(box.index, box.layer);
  for (const box of boxes) {
    if (!box.isBackward) continue;
    const before = box.reads.filter(each => each.isBackward && each.band !== undefined);
    box.band = table.get(box.origin);
    if (box.band === undefined) box.band = before.length ? Math.min(...before.map(each => each.band)) : 1;
    table.set(box.index, box.band);
    box.step = 0;
    for (const each of before) if (each.band === box.band) box.step = Math.max(box.step, each.step + 1);
  }
  for (const box of inputs) {
    if (!box.isBackward) continue;
    box.band = Math.max(...box.readers.map(each => each.band));
    box.step = -1;
  }
}

function rowsBy(boxes, key) {
  const rows = new Map();
  for (const box of boxes) {
    if (!rows.has(key(box))) rows.set(key(box), []);
    rows.get(key(box)).push(box);
  }
  return [...rows.entries()].sort((a, b) => a[0] - b[0]).map(entry => entry[1]);
}

// Moves the boxes of each row near what they are joined to, without overlaps.
function setColumns(rows) {
  const joined = new Map();
  const join = (a, b) => { if (!joined.has(a)) joined.set(a, []); joined.get(a).push(b); };
  for (const row of rows) for (const box of row) for (const each of box.reads) {
    if (each.isBackward === box.isBackward) { join(box, each); join(each, box); }
  }
  for (const row of rows) row.forEach((box, i) => { box.x = (i - (row.length - 1) / 2) * 120; });
  for (let round = 0; round < 8; ++round) {
    for (const row of round % 2 ? [...rows].reverse() : rows) {
      for (const box of row) {
        const near = joined.get(box) || [];
        box.wish = near.length ? near.reduce((sum, each) => sum + each.x, 0) / near.length : box.x;
      }
      row.sort((a, b) => a.wish - b.wish);
      let end = -Infinity, shift = 0;
      for (const box of row) {
        box.x = Math.max(box.wish, end + kNodeGap + box.width / 2);
        end = box.x + box.width / 2;
        shift += box.x - box.wish;
      }
      for (const box of row) box.x -= shift / row.length;
    }
  }
}

// Sets x and y of the middle of each box. Gives them with their bounds.
function layout(table) {
  const {all, boxes, inputs} = boxesOf(table);
  const step = kNodeHeight + kLayerGap;
  setLayers(boxes, inputs, false);
  const forward = all.filter(box => !box.isBackward), backward = all.filter(box => box.isBackward);
  if (forward.length === 0) {  // a backward graph alone
    setLayers(boxes, inputs, true);
    setColumns(rowsBy(backward, box => box.layer));
    for (const box of backward) box.y = box.layer * step;
    return bounded(all, null);
  }
  setBands(boxes, inputs);
  const heights = new Map();  // of layers, in rows
  for (const box of backward) heights.set(box.band, Math.max(heights.get(box.band) || 1, box.step + 2));
  const bottoms = new Map();
  let row = 0;
  const layers = Math.max(...forward.map(box => box.layer), ...backward.map(box => box.band), 0);
  for (let layer = 0; layer <= layers; ++layer) {
    row += heights.get(layer) || 1;
    bottoms.set(layer, row);
  }
  for (const box of forward) box.y = bottoms.get(box.layer) * step;
  for (const box of backward) box.y = (bottoms.get(box.band) - box.step) * step;
  setColumns(rowsBy(forward, box => box.y));
  setColumns(rowsBy(backward, box => -box.y));
  if (backward.length === 0) return bounded(all, null);
  const right = Math.max(...forward.map(box => box.x + box.width / 2));
  const left = Math.min(...backward.map(box => box.x - box.width / 2));
  for (const box of backward) box.x += right - left + kSideGap;
  return bounded(all, right + kSideGap / 2);
}

function bounded(boxes, border) {
  const bounds = {x0: Infinity, y0: Infinity, x1: -Infinity, y1: -Infinity};
  for (const box of boxes) {
    bounds.x0 = Math.min(bounds.x0, box.x - box.width / 2);
    bounds.x1 = Math.max(bounds.x1, box.x + box.width / 2);
    bounds.y0 = Math.min(bounds.y0, box.y - kNodeHeight);
    bounds.y1 = Math.max(bounds.y1, box.y + kNodeHeight);
  }
  return {boxes, bounds, border};
}
