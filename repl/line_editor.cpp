#include "repl/line_editor.h"

#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <utility>
// After <cstdio>, which it needs.
#include <readline/history.h>
#include <readline/readline.h>

#include "repl/columns.h"
#include "repl/pasted.h"
#include "repl/screen.h"
#include "repl/terminal.h"

namespace kiln::repl {

struct LineEditor::State {
  History& history;
  Hooks hooks;
  bool color;
  std::string prompt, continuation;
  int drawn_row = 0;       // of the cursor, in the rows drawn so far
  int drawn_columns = 0;   // of the terminal, at the time; 0: nothing is drawn yet
  bool leaving = false;    // the last drawing of an entry: no hint, no bracket, cursor at the end
  bool cancelled = false;  // by Ctrl-C
  std::string last_completed;
  std::string beginning;                // of the entries that Up and Down look for
  std::optional<std::string> recalled;  // what they put there last
};

namespace {

// Readline's functions take no context.
LineEditor::State* editor = nullptr;

std::string_view buffer() { return {rl_line_buffer, static_cast<std::size_t>(rl_end)}; }
std::size_t point() { return static_cast<std::size_t>(rl_point); }

void emit(std::string_view bytes) {
  std::fwrite(bytes.data(), 1, bytes.size(), stdout);
  std::fflush(stdout);
}

// ---- Drawing ----

// Searching and counts show readline's own message in place of the prompt.
bool shows_message() { return rl_display_prompt != rl_prompt; }

std::string_view current_hint() {
  if (editor->leaving || shows_message() || rl_point != rl_end) return {};
  return editor->history.hint(buffer());
}

void redraw() {
  const Size size = terminal_size(STDOUT_FILENO);
  View view;
  view.prompt = shows_message() ? std::string_view(rl_display_prompt) : editor->prompt;
  view.continuation = editor->continuation;
  view.text = buffer();
  view.cursor = editor->leaving ? view.text.size() : point();
  view.hint = current_hint();
  view.color = editor->color;
  view.show_pair = !editor->leaving;
  const Screen screen = lay_out(view, size.columns);
  // A terminal of another size has wrapped the entry anew by itself.
  if (editor->drawn_columns != 0 && editor->drawn_columns != size.columns)
    editor->drawn_row = std::min(screen.cursor_row, size.rows - 1);
  const int height = editor->leaving ? static_cast<int>(screen.rows.size()) : size.rows;
  emit(draw(screen, editor->drawn_row, height, size.columns, editor->drawn_row));
  editor->drawn_columns = size.columns;
}

// What comes next is drawn from the row of the cursor on.
void forget_drawn() {
  editor->drawn_row = 0;
  editor->drawn_columns = 0;
}

// Leaves the entry as it is on the screen; what follows starts on a fresh row.
void leave_entry(std::string_view mark) {
  editor->leaving = true;
  redraw();
  editor->leaving = false;
  emit(std::string(mark) + "\n");
  forget_drawn();
}

void finish() {
  rl_done = 1;
  RL_SETSTATE(RL_STATE_DONE);
}

// ---- Lines within the entry ----

std::size_t line_begin(std::size_t at) {
  const std::size_t found = at == 0 ? std::string_view::npos : buffer().rfind('\n', at - 1);
  return found == std::string_view::npos ? 0 : found + 1;
}
std::size_t line_end(std::size_t at) { return std::min(buffer().find('\n', at), buffer().size()); }

// Two blanks for each bracket that is open at the cursor.
std::string indentation() {
  int depth = 0;
  for (const char c : buffer().substr(0, point())) {
    if (c == '{' || c == '(' || c == '[') ++depth;
    if (c == '}' || c == ')' || c == ']') --depth;
  }
  return std::string(static_cast<std::size_t>(std::max(depth, 0)) * 2, ' ');
}

// The terminal without what was on it, but for the entry; readline draws that next.
int clear(int, int) {
  emit("\x1b[H\x1b[2J");
  forget_drawn();
  return 0;
}

int new_line(int, int) {
  rl_insert_text(("\n" + indentation()).c_str());
  return 0;
}

int accept(int count, int key) {
  const bool on_last_line = line_end(point()) == buffer().size();
  if (!on_last_line || !editor->hooks.is_complete(buffer())) return new_line(count, key);
  leave_entry({});
  finish();
  return 0;
}

int cancel(int, int) {
  leave_entry(buffer().empty() ? "" : "^C");
  editor->cancelled = true;
  finish();
  return 0;
}

// A closing bracket typed into the indentation of its line goes back one level.
int close_bracket(int count, int key) {
  const std::size_t begin = line_begin(point());
  const std::string_view before = buffer().substr(begin, point() - begin);
  if (before.size() >= 2 && before.find_first_not_of(' ') == std::string_view::npos && begin > 0) {
    rl_delete_text(rl_point - 2, rl_point);
    rl_point -= 2;
  }
  return rl_insert(count, key);
}

// ---- History ----

bool begins_with(const HIST_ENTRY* entry, std::string_view beginning) {
  return std::string_view(entry->line).starts_with(beginning);
}

// To the next entry that begins as the text before the cursor did when the search began; direction -1 goes to
// older ones. Behind the newest stands what was typed.
int recall(int direction, int key) {
  if (editor->recalled != buffer()) editor->beginning = buffer().substr(0, point());
  HIST_ENTRY** const list = history_list();
  const int from = where_history();
  int at = from + direction;
  while (at >= 0 && at < history_length &&
         (!begins_with(list[at], editor->beginning) || buffer() == list[at]->line))
    at += direction;
  if (at < 0 || from + direction > history_length) {
    rl_ding();
    return 0;
  }
  if (direction < 0) {
    rl_get_previous_history(from - at, key);
  } else {
    rl_get_next_history(at - from, key);
  }
  editor->recalled = buffer();
  return 0;
}

// ---- Moving ----

bool take_hint() {
  const std::string hint(current_hint());
  if (hint.empty()) return false;
  rl_insert_text(hint.c_str());
  return true;
}

int right(int count, int key) { return take_hint() ? 0 : rl_forward_char(count, key); }

int home(int, int) {
  rl_point = static_cast<int>(line_begin(point()));
  return 0;
}

int end(int, int) {
  if (!take_hint()) rl_point = static_cast<int>(line_end(point()));
  return 0;
}

// Code points between two offsets: rows are kept by characters, not bytes.
std::size_t characters(std::size_t begin, std::size_t end) {
  const std::string_view text = buffer().substr(begin, end - begin);
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

void move_into_line(std::size_t begin, std::size_t column) {
  std::size_t at = begin;
  const std::size_t end = line_end(begin);
  while (column-- > 0 && at < end) at += next_code_point(buffer().substr(at)).length;
  rl_point = static_cast<int>(at);
}

int up(int, int key) {
  const std::size_t begin = line_begin(point());
  if (begin == 0) return recall(-1, key);
  move_into_line(line_begin(begin - 1), characters(begin, point()));
  return 0;
}

int down(int, int key) {
  const std::size_t end = line_end(point());
  if (end == buffer().size()) return recall(1, key);
  move_into_line(end + 1, characters(line_begin(point()), point()));
  return 0;
}

// ---- Completion ----

std::string common_prefix(const std::vector<std::string>& words) {
  std::string prefix = words.front();
  for (const std::string& word : words) {
    const auto [a, b] = std::mismatch(prefix.begin(), prefix.end(), word.begin(), word.end());
    prefix.erase(a, prefix.end());
  }
  return prefix;
}

void replace(std::size_t begin, const std::string& with) {
  rl_begin_undo_group();
  rl_delete_text(static_cast<int>(begin), rl_point);
  rl_point = static_cast<int>(begin);
  rl_insert_text(with.c_str());
  rl_end_undo_group();
}

void list_candidates(const std::vector<std::string>& candidates) {
  leave_entry({});
  constexpr std::size_t kMost = 200;
  std::vector<std::string> shown(
      candidates.begin(),
      candidates.begin() + static_cast<std::ptrdiff_t>(std::min(candidates.size(), kMost)));
  std::string text = in_columns(shown, terminal_size(STDOUT_FILENO).columns);
  if (candidates.size() > kMost) text += "… and " + std::to_string(candidates.size() - kMost) + " more\n";
  emit(text);
}

int complete(int count, int) {
  const std::size_t begin = line_begin(point());
  const std::string_view before = buffer().substr(begin, point() - begin);
  if (before.find_first_not_of(' ') == std::string_view::npos && !buffer().empty()) {
    rl_insert_text("  ");
    return 0;
  }
  const bool again = editor->last_completed == buffer();
  const Completion completion = editor->hooks.complete(buffer(), point());
  if (completion.candidates.empty()) {
    rl_ding();
    return count;
  }
  const std::string prefix = common_prefix(completion.candidates);
  if (prefix.size() > point() - completion.begin || completion.candidates.size() == 1) {
    replace(completion.begin, prefix);
  } else if (again) {
    list_candidates(completion.candidates);
  } else {
    rl_ding();
  }
  editor->last_completed = buffer();
  return 0;
}

// ---- Pasting ----

// Prompts of a pasted transcript of one entry are stripped at once, so that it reads as what will run.
int paste(int count, int key) {
  const int begin = rl_point;
  const int result = rl_bracketed_paste_begin(count, key);
  const std::string pasted(
      buffer().substr(static_cast<std::size_t>(begin), point() - static_cast<std::size_t>(begin)));
  std::string text = pasted;
  if (const auto entries = split_pasted(pasted); entries.size() == 1) text = entries.front();
  // The newline that ends a copied line is not part of the entry.
  if (rl_point == rl_end) text.erase(text.find_last_not_of("\r\n") + 1);
  if (text != pasted) replace(static_cast<std::size_t>(begin), text);
  rl_deactivate_mark();
  return result;
}

// ---- Set-up ----

struct Key {
  const char* sequence;
  rl_command_func_t* command;
};
constexpr Key kEditingKeys[] = {
    {"\r", accept},       {"\n", accept},       {"\033\r", new_line}, {"\033\n", new_line},
    {"\003", cancel},     {"\014", clear},      {"\t", complete},     {"\033[A", up},
    {"\033OA", up},       {"\033[B", down},     {"\033OB", down},     {"\033[C", right},
    {"\033OC", right},    {"\033[H", home},     {"\033OH", home},     {"\033[1~", home},
    {"\033[F", end},      {"\033OF", end},      {"\033[4~", end},     {"}", close_bracket},
    {")", close_bracket}, {"]", close_bracket}, {"\033[200~", paste},
};
constexpr Key kEmacsKeys[] = {{"\001", home}, {"\005", end}, {"\006", right}, {"\020", up}, {"\016", down}};
constexpr Key kViCommandKeys[] = {{"\r", accept},  {"\n", accept}, {"\003", cancel},
                                  {"\014", clear}, {"k", up},      {"j", down}};

void bind(Keymap map, const Key& key) { rl_bind_keyseq_in_map(key.sequence, key.command, map); }

// Ctrl-C arrives as a key while an entry is typed: nothing is running that a signal would have to stop.
void prepare_terminal(int meta) {
  rl_prep_terminal(meta);
  termios settings{};
  if (tcgetattr(STDIN_FILENO, &settings) != 0) return;
  settings.c_cc[VINTR] = _POSIX_VDISABLE;
  tcsetattr(STDIN_FILENO, TCSADRAIN, &settings);
}

// UTF-8 whatever the locale says: the language is. Readline follows the environment at each start of a line,
// so this comes after, each time.
int use_utf8() {
  if (std::setlocale(LC_CTYPE, "C.UTF-8") == nullptr) std::setlocale(LC_CTYPE, "");
  rl_variable_bind("input-meta", "on");
  rl_variable_bind("output-meta", "on");
  rl_variable_bind("convert-meta", "off");
  rl_variable_bind("byte-oriented", "off");
  return 0;
}

// After the first prompt is on the screen: reading a long history takes longer than everything before.
int recall_history() {
  rl_pre_input_hook = nullptr;
  for (const std::string& entry : editor->history.entries()) add_history(entry.c_str());
  using_history();
  return 0;
}

void prepare_readline() {
  rl_readline_name = "kiln";
  rl_redisplay_function = redraw;
  rl_prep_term_function = prepare_terminal;
  rl_startup_hook = use_utf8;
  rl_initialize();
  rl_variable_bind("enable-bracketed-paste", "on");
  Keymap vi_insertion = rl_get_keymap_by_name("vi-insert"), emacs = rl_get_keymap_by_name("emacs");
  for (const Key& key : kEditingKeys) {
    bind(emacs, key);
    // In vi's insertion mode Escape by itself leaves it, so nothing may wait for what follows it but arrows.
    bind(vi_insertion, key);
  }
  for (const Key& key : kEmacsKeys) bind(emacs, key);
  for (const Key& key : kViCommandKeys) bind(rl_get_keymap_by_name("vi-command"), key);
}

// An entry typed again moves to the end, as in History.
void remember(const std::string& entry) {
  for (int i = history_length - 1; i >= 0; --i) {
    if (entry != history_list()[i]->line) continue;
    free_history_entry(remove_history(i));
    break;
  }
  add_history(entry.c_str());
}

}  // namespace

LineEditor::LineEditor(History& history, Hooks hooks)
    : state_(new State{history, std::move(hooks), false, {}, {}, 0, 0, false, false, {}, {}, {}}) {
  editor = state_;
  prepare_readline();
  using_history();
  rl_pre_input_hook = recall_history;
}

LineEditor::~LineEditor() {
  editor = nullptr;
  delete state_;
}

std::optional<std::string> LineEditor::read(std::string_view prompt, std::string_view continuation,
                                            bool color) {
  state_->color = color;
  state_->prompt = prompt;
  state_->continuation = continuation;
  forget_drawn();
  state_->cancelled = false;
  state_->last_completed.clear();
  state_->recalled.reset();
  emit(to_row_begin(terminal_size(STDOUT_FILENO).columns, color));
  char* line = readline(state_->prompt.c_str());
  if (line == nullptr) {
    emit("\n");
    return std::nullopt;
  }
  std::string entry = state_->cancelled ? std::string() : std::string(line);
  std::free(line);
  if (!entry.empty()) {
    state_->history.add(entry);
    remember(entry);
  }
  return entry;
}

}  // namespace kiln::repl
