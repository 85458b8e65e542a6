// Sessions of kiln.h, and what runs in them.
#include <cstring>
#include <filesystem>

#include "embed/guarded.h"
#include "repl/version.h"

using namespace kiln;
using embed::given;
using embed::guarded;
using embed::guarded_in;

namespace {

std::function<void(std::string_view)> writer(kiln_sink sink, void* context) {
  if (sink == nullptr) return {};
  return [sink, context](std::string_view text) { sink(context, text.data(), text.size()); };
}

// A program that was compiled with an earlier version gives fewer fields.
kiln_options complete(const kiln_options* given_options) {
  kiln_options options{};
  if (given_options == nullptr) return options;
  if (given_options->size < sizeof(std::size_t) || given_options->size > sizeof options)
    throw embed::WrongCall{"options->size is not sizeof(kiln_options) of a header that this library knows"};
  std::memcpy(&options, given_options, given_options->size);
  return options;
}

interp::Options settings_of(const kiln_options& options) {
  interp::Options settings;
  for (std::size_t i = 0; i < options.argument_count; ++i)
    settings.arguments.emplace_back(&given(options.arguments[i], "an argument"));
  settings.out = writer(options.out, options.out_context);
  settings.err = writer(options.err, options.err_context);
  if (options.never_compiles != 0) settings.hot_after = -1;
  return settings;
}

std::string text_name(kiln_session& session) { return "<eval:" + std::to_string(++session.texts_run) + ">"; }

[[noreturn]] void refuse_name(kiln_session& session, std::string_view name) {
  const std::vector<std::string> known = session.interpreter.names();
  const std::vector<std::string_view> candidates(known.begin(), known.end());
  throw lang::UserError(
      {"NameError", "`" + std::string(name) + "` is not defined", {}, lang::suggest(name, candidates), {}});
}

}  // namespace

int kiln_abi_version(void) { return KILN_ABI_VERSION; }
const char* kiln_version(void) { return repl::kVersion.data(); }

kiln_error* kiln_session_new(const kiln_options* options, kiln_session** session) {
  return guarded(nullptr, [&] {
    kiln_session*& made = given(session, "session");
    const kiln_options all = complete(options);
    made = new kiln_session{interp::Interpreter(settings_of(all)), all.out == nullptr || all.err == nullptr};
    embed::begin_session(made);
  });
}

void kiln_session_free(kiln_session* session) { embed::free_session(session); }

kiln_error* kiln_eval(kiln_session* session, const char* text, kiln_value** value) {
  return guarded_in(session, [&](kiln_session& in) {
    const interp::Interpreter::Outcome outcome =
        in.interpreter.run(text_name(in), std::string(&given(text, "text")));
    if (value != nullptr) *value = embed::handle_of(outcome.value).release();
  });
}

kiln_error* kiln_load(kiln_session* session, const char* path) {
  return guarded_in(session, [&](kiln_session& in) { in.interpreter.run_file(&given(path, "path")); });
}

kiln_error* kiln_lookup(kiln_session* session, const char* name, kiln_value** value) {
  return guarded_in(session, [&](kiln_session& in) {
    kiln_value*& found = given(value, "value");
    const interp::Value* const known = in.interpreter.lookup(&given(name, "name"));
    if (known == nullptr) refuse_name(in, name);
    found = embed::handle_of(*known).release();
  });
}

kiln_error* kiln_watch_signal(kiln_session* session, int signal_number) {
  return guarded_in(session, [&](kiln_session& in) {
    in.watched_signal = signal_number;
    in.watching_thread = std::this_thread::get_id();
  });
}
