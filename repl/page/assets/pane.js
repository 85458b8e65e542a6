// A pane shows one stage. Only the rows that are in view are elements, so that a stage of many thousand lines opens at
// once.
const kRow = 19;  // pixels of a row, as in page.css

class Pane {
  constructor(root, name) {
    this.root = root;
    this.name = name;
    root.innerHTML = `<div class="bar"><select aria-label="stage of the ${name} pane"></select><span class="count"></span>
      <button class="foldall" title="fold or unfold all">±</button></div>
      <div class="scroll" tabindex="0" role="listbox" aria-label="lines of the ${name} pane"><div class="rows"></div></div>`;
    this.select = root.querySelector("select");
    this.scroll = root.querySelector(".scroll");
    this.rows = root.querySelector(".rows");
    this.lit = new Set();
    this.folded = new Set();
    for (const stage of stageNames) this.select.add(new Option(stage, stage));
    this.select.onchange = () => choose(this, this.select.value);
    this.scroll.addEventListener("scroll", () => { this.draw(); drawBands(); }, {passive: true});
    this.scroll.addEventListener("focus", () => { active = this; });
    this.rows.addEventListener("pointerover", event => hover(lineOfEvent(event)));
    this.rows.addEventListener("pointerleave", () => hover(-1));
    this.rows.addEventListener("click", event => this.clicked(event));
    root.querySelector(".foldall").onclick = () => this.foldAll();
  }

  show(stage) {
    this.stage = this.select.value = stage;
    this.folded.clear();
    this.entries = [];  // rows: a line of a table, or the title of one
    for (const table of tablesOf(stage)) {
      if (table.title) this.entries.push({title: table.title});
      const first = this.entries.length;
      table.lines.forEach((text, i) => this.entries.push({line: table.first + i, text}));
      this.findFolds(first, stage);
    }
    this.arrange();
    this.scroll.scrollTop = this.scroll.scrollLeft = 0;
    const lines = this.entries.filter(each => each.line !== undefined).length;
    this.root.querySelector(".count").textContent = `${lines} lines`;
  }

  // A row folds what follows it up to its closing bracket; a heading of code what follows up to the next one.
  findFolds(first, stage) {
    const open = [];
    let heading = -1;
    for (let i = first; i < this.entries.length; ++i) {
      const text = this.entries[i].text;
      const isHeading = (stage === "asm" && /^# \w/.test(text)) || (stage === "llvm" && /^; \w/.test(text)) ||
                        (/cuda|ptx/.test(stage) && /^\/\/ kernel_/.test(text)) ||
                        (stage === "source" && /^## /.test(text));
      if (isHeading) {
        if (heading >= 0) this.entries[heading].until = i;
        heading = i;
      }
      if (stage === "source" || stage === "llvm") continue;
      if (/^graph .*\($/.test(text)) this.foldInputs(i);
      if (/^(kernel \d|buffers)/.test(text)) {
        let end = i + 1;
        while (end < this.entries.length && /^  /.test(this.entries[end].text)) ++end;
        this.entries[i].until = end;
      } else if (text.trimEnd().endsWith("{")) open.push(i);
      else if (text.trim() === "}" && open.length) { const from = open.pop(); this.entries[from].until = i + 1; }
    }
    if (heading >= 0) this.entries[heading].until = this.entries.length;
  }

  // The inputs of a graph that has many are folded at first.
  foldInputs(i) {
    let end = i + 1;
    while (end < this.entries.length && !this.entries[end].text.startsWith(")")) ++end;
    this.entries[i].until = end;
    if (end - i > 10) this.folded.add(i);
  }

  arrange() {
    this.shown = [];
    this.rowOf = new Map();
    for (let i = 0; i < this.entries.length; ++i) {
      const entry = this.entries[i];
      if (entry.line !== undefined) this.rowOf.set(entry.line, this.shown.length);
      this.shown.push(i);
      if (!this.folded.has(i)) continue;
      for (let k = i + 1; k < entry.until; ++k) {
        if (this.entries[k].line !== undefined) this.rowOf.set(this.entries[k].line, this.shown.length - 1);
      }
      i = entry.until - 1;
    }
    this.rows.style.height = this.shown.length * kRow + "px";
    this.longest = Math.max(20, ...this.entries.map(each => Math.min((each.text || "").length, 400)));
    this.rows.style.minWidth = this.longest + 6 + "ch";
    this.draw(true);
  }

  range(all) {
    if (all) return [0, this.shown.length];
    const first = Math.max(0, Math.floor(this.scroll.scrollTop / kRow) - 10);
    return [first, Math.min(this.shown.length, first + Math.ceil(this.scroll.clientHeight / kRow) + 20)];
  }

  draw(force, all) {
    if (!this.shown) return;
    const [first, end] = this.range(all);
    if (!force && this.drawn && this.drawn[0] === first && this.drawn[1] === end) return;
    this.drawn = [first, end];
    let html = "";
    for (let row = first; row < end; ++row) html += this.rowHtml(row);
    this.rows.innerHTML = html;
  }

  rowHtml(row) {
    const number = this.shown[row], entry = this.entries[number];
    const top = `top:${row * kRow}px`;
    if (entry.line === undefined) return `<div class="row title" style="${top}">${escapeHtml(entry.title)}</div>`;
    const isFolded = this.folded.has(number);
    const fold = entry.until > number + 1 ? `<u data-fold="${number}">${isFolded ? "▸" : "▾"}</u>` : "<u></u>";
    const text = entry.text.length > 400 ? entry.text.slice(0, 400) + "…" : entry.text;
    return `<div class="${this.kindsOf(entry.line)}" data-line="${entry.line}" style="${top};--hue:${colorOf(entry.line)}">${fold}` +
           `<span>${painted(text, this.stage)}${isFolded ? " …" : ""}</span></div>`;
  }

  kindsOf(line) {
    const kinds = ["row"];
    if (this.lit.has(line)) kinds.push("lit");
    else if (this.isAround(line)) kinds.push("around");
    if (selected === line) kinds.push("selected");
    if (foundLines.has(line)) kinds.push("found");
    return kinds.join(" ");
  }
  // Rows stay the elements that they are, so that a click begins and ends on the same one.
  mark() {
    for (const row of this.rows.children) if (row.dataset.line) row.className = this.kindsOf(Number(row.dataset.line));
  }

  // Is the line about others, of which one is lit?
  isAround(line) {
    const parts = this.lit.size ? tableOf(line).of[line] : undefined;
    return parts !== undefined && parts.some(part => this.lit.has(part));
  }

  clicked(event) {
    const fold = event.target.closest("[data-fold]");
    if (fold) return this.toggle(Number(fold.dataset.fold));
    const line = lineOfEvent(event);
    if (line >= 0) select(line, this);
  }
  toggle(number) {
    if (!this.folded.delete(number)) this.folded.add(number);
    this.arrange();
    drawBands();
  }
  foldAll() {
    const all = [];
    this.entries.forEach((entry, number) => { if (entry.until > number + 1) all.push(number); });
    const isFolding = this.folded.size === 0;
    this.folded.clear();
    if (isFolding) for (const number of all) this.folded.add(number);
    this.arrange();
    drawBands();
  }

  light(line) {
    this.lit = line < 0 ? new Set() : tableOf(line).stage === this.stage ? withSiblings(line) : related(line, this.stage);
    this.mark();
  }
  // Unfolds what hides the line, and scrolls so that it can be seen.
  reveal(line) {
    const at = this.entries.findIndex(entry => entry.line === line);
    if (at < 0) return;
    const hiding = [...this.folded].filter(number => number < at && at < this.entries[number].until);
    for (const number of hiding) this.folded.delete(number);
    if (hiding.length) this.arrange();
    const top = this.rowOf.get(line) * kRow, height = this.scroll.clientHeight;
    if (top < this.scroll.scrollTop || top > this.scroll.scrollTop + height - 2 * kRow)
      this.scroll.scrollTop = Math.max(0, top - height / 3);
    this.draw();
  }
  firstLit() {
    let best = -1;
    for (const line of this.lit) if (best < 0 || this.rowOf.get(line) < this.rowOf.get(best)) best = line;
    return best;
  }
  // The line some rows from another one.
  neighbour(line, by) {
    let row = this.rowOf.has(line) ? this.rowOf.get(line) + by : Math.floor(this.scroll.scrollTop / kRow);
    row = Math.max(0, Math.min(this.shown.length - 1, row));
    while (row > 0 && row < this.shown.length - 1 && this.entries[this.shown[row]].line === undefined) row += Math.sign(by) || 1;
    const found = this.entries[this.shown[row]].line;
    return found === undefined ? line : found;
  }
}
const lineOfEvent = event => { const row = event.target.closest("[data-line]"); return row ? Number(row.dataset.line) : -1; };
