// Bands join rows of the left pane with the rows of the right one that they are related to.
const kMostBands = 600;

// Neighbouring rows as pairs of first and last.
function runsOf(rows) {
  const runs = [];
  for (const row of [...rows].sort((a, b) => a - b)) {
    if (runs.length && row <= runs[runs.length - 1][1] + 1) runs[runs.length - 1][1] = row;
    else runs.push([row, row]);
  }
  return runs;
}

function bandPath(y0, y1, z0, z1, width) {
  const middle = width / 2;
  return `M0,${y0}C${middle},${y0} ${middle},${z0} ${width},${z0}L${width},${z1}C${middle},${z1} ${middle},${y1} 0,${y1}Z`;
}

let bandsAsked = false;
function drawBands() {
  if (bandsAsked) return;
  bandsAsked = true;
  requestAnimationFrame(() => { bandsAsked = false; drawBandsNow(); });
}
function drawBandsNow() {
  const svg = document.getElementById("bands");
  if (!left.shown || !right.shown || svg.clientWidth === 0) return;
  const width = svg.clientWidth, height = left.scroll.clientHeight;
  const top = left.scroll.getBoundingClientRect().top - svg.getBoundingClientRect().top;
  let faint = "", strong = "", count = 0;
  const [first, end] = left.range(false);
  for (let row = first; row < end && count < kMostBands; ++row) {
    const line = left.entries[left.shown[row]].line;
    if (line === undefined) continue;
    const y = top + row * kRow - left.scroll.scrollTop;
    if (y + kRow < top || y > top + height) continue;
    const isLit = left.lit.has(line);
    const other = new Set();
    for (const each of related(line, right.stage)) {
      if (isLit && !right.lit.has(each)) continue;
      const at = right.rowOf.get(each);
      if (at !== undefined) other.add(at);
    }
    if (tableOf(line).of[line] && !isLit) continue;  // those that it is about have bands of their own
    for (const [a, b] of runsOf(other)) {
      const z0 = top + a * kRow - right.scroll.scrollTop, z1 = top + (b + 1) * kRow - right.scroll.scrollTop;
      if (z1 < top - 300 || z0 > top + height + 300 || count++ > kMostBands) continue;
      const path = `<path d="${bandPath(y + 2, y + kRow - 2, z0 + 2, z1 - 2, width)}" fill="${colorOf(line)}"`;
      if (isLit) strong += path + ' class="strong"/>'; else faint += path + "/>";
    }
  }
  svg.classList.toggle("dimmed", strong !== "");
  svg.innerHTML = faint + strong;
}
