// Colours of a line, by what its words are in any of the stages.
const escapeHtml = text => text.replace(/[&<>"]/g, c => ({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}[c]));

const kCommentOf = {source: /(^|\s)#.*$/, asm: /(^|\s)#.*$/, llvm: /(^|\s);.*$/, cuda: /(^|\s)\/\/.*$/, ptx: /(^|\s)\/\/.*$/};
const kWords = new RegExp([
  "(?<name>%[\\w.]+)",
  "(?<label>^[\\w.]+:|\\.L\\w+)",
  "(?<type>\\b(?:f16|f32|f64|bf16|i8|i16|i32|i64|u8|bool|float|double|ptr|half|void)\\b(?:\\[[^\\]]*\\])?|<\\d+ x \\w+>)",
  "(?<key>\\b(?:graph|kernel|for|return|fn|struct|const|extern|auto|__global__|if|else|save|write|program|buffers|load|store|in|define|ret|br|call|phi|rows|of|threads|vectors|launch|alias|copies|constant|grad|saved|parameter|import|from|while|not|and|or)\\b)",
  "(?<number>(?<![\\w.])-?(?:0x[0-9a-fA-F]+|\\d+(?:\\.\\d+)?(?:e[-+]?\\d+)?)\\b)",
  '(?<string>"[^"]*")',
].join("|"), "g");

function paintedCode(code) {
  let html = "", last = 0;
  for (const match of code.matchAll(kWords)) {
    const kind = Object.keys(match.groups).find(name => match.groups[name] !== undefined);
    html += escapeHtml(code.slice(last, match.index)) + `<b class="${kind}">${escapeHtml(match[0])}</b>`;
    last = match.index + match[0].length;
  }
  return html + escapeHtml(code.slice(last));
}

// The code and the comment of a line; comments stand close behind.
function parts(text, stage) {
  const match = text.match(kCommentOf[stage] || /(^|\s)# .*$/);
  if (!match) return [text, ""];
  return [text.slice(0, match.index).trimEnd(), text.slice(match.index).trim()];
}
function painted(text, stage) {
  const [code, comment] = parts(text, stage);
  const blank = code.trim() === "" ? text.match(/^\s*/)[0] : code + "  ";
  const shown = code.trim() === "" ? blank : paintedCode(code) + (comment ? "  " : "");
  return shown + (comment ? `<i>${escapeHtml(comment)}</i>` : "");
}
