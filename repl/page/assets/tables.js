// Kernels with what they cost, tensors that are kept, and sentences about the call.
const cell = (text, kind = "") => `<td class="${kind}">${escapeHtml(text)}</td>`;
const rowOf = (line, cells) => `<tr${line >= 0 ? ` data-go="${line}" tabindex="0"` : ""}>${cells}</tr>`;

function meter(row) {
  if (row.share === null) return "<td>-</td>";
  return `<td><span class="meter"><i style="width:${Math.min(100, Math.round(row.share * 100))}%"></i></span>${escapeHtml(row.roof)}</td>`;
}

function kernelsHtml(kernels) {
  const rows = kernels.rows.map(row => rowOf(row.line, cell(row.name, "mono") + cell(row.ops, "mono") + cell(row.bytes, "number") +
    cell(row.flops, "number") + cell(row.time, "number") + meter(row)));
  return `<h2>Kernels and library calls ${escapeHtml(kernels.title ? "· " + kernels.title : "")}</h2><table><thead><tr><th>kernel<th>ops<th>bytes<th>flops<th>time<th>roofline</tr></thead><tbody>${rows.join("")}</tbody></table>`;
}
function cutHtml(cut) {
  const rows = cut.rows.map(row => rowOf(row.line, cell(row.name, "mono") + cell(row.kept ? "kept" : "computed again") + cell(row.bytes, "number") + cell(row.why)));
  return `<h2>Kept for backward ${escapeHtml(cut.title ? "· " + cut.title : "")}</h2><p>${escapeHtml(cut.summary)}</p><table><thead><tr><th>tensor<th><th>bytes<th>why</tr></thead><tbody>${rows.join("")}</tbody></table>`;
}

function showCosts() {
  const root = document.getElementById("costs");
  if (root.firstChild) return;
  const about = page.kernels.length ? "<p>Each ran alone, up to ten times; the best time counts. The roof is the least time that arithmetic takes here, or the memory that the operands are in.</p>" : "";
  root.innerHTML = page.kernels.map(kernelsHtml).join("") + about + page.cuts.map(cutHtml).join("");
  const go = event => { const row = event.target.closest("[data-go]"); if (row) goTo(Number(row.dataset.go)); };
  root.onclick = go;
  root.onkeydown = event => { if (event.key === "Enter") go(event); };
}

function showNotes() {
  const root = document.getElementById("notes");
  if (root.firstChild) return;
  const headings = [...new Set(page.notes.map(note => note.heading))];
  root.innerHTML = headings.map(heading => `<h2>${escapeHtml(heading[0].toUpperCase() + heading.slice(1))}</h2><ul>` +
    page.notes.filter(note => note.heading === heading).flatMap(note => note.text.split("\n")).map(text => `<li>${escapeHtml(text)}</li>`).join("") + "</ul>").join("");
}
