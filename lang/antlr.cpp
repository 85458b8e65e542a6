// The only file that knows ANTLR: it feeds the generated lexer bytes and the generated parser filtered
// tokens, and writes down the rules the parser enters instead of letting it build a tree.
#include <antlr4-runtime.h>

#include "KilnLexer.h"
#include "KilnParser.h"
#include "lang/parse.h"
#include "lang/syntax.h"

namespace kiln::lang {
namespace {

using grammar::KilnLexer;
using grammar::KilnParser;

#define KILN_TOKEN(name, generated, words) static_assert(static_cast<int>(Tok::name) == KilnLexer::generated);
#define KILN_KEYWORD KILN_TOKEN
#include "lang/tokens.def"
#undef KILN_TOKEN
#undef KILN_KEYWORD
#define KILN_RULE(name, generated, words) \
  static_assert(static_cast<int>(Rule::name) == KilnParser::Rule##generated);
#include "lang/rules.def"
#undef KILN_RULE

// A statement of more tokens than this would take gigabytes to parse.
constexpr std::size_t kMaxTokens = 4'000'000;

// Bytes of a range as the lexer's characters; all of a non-ASCII character look alike to it.
class ByteStream final : public antlr4::CharStream {
 public:
  ByteStream(std::string_view text, std::uint32_t begin, std::uint32_t end)
      : text_(text.substr(0, end)), at_(begin) {}

  void consume() override { ++at_; }
  std::size_t LA(ssize_t i) override {
    const std::size_t at = i > 0 ? at_ + static_cast<std::size_t>(i) - 1 : at_ - static_cast<std::size_t>(-i);
    if (at >= text_.size()) return antlr4::IntStream::EOF;
    const auto byte = static_cast<unsigned char>(text_[at]);
    if (byte < 0x7F) return byte;
    return byte == 0x7F ? 1 : 0x7F;
  }
  ssize_t mark() override { return 0; }
  void release(ssize_t) override {}
  std::size_t index() override { return at_; }
  void seek(std::size_t index) override { at_ = index; }
  std::size_t size() override { return text_.size(); }
  std::string getSourceName() const override { return {}; }
  std::string getText(const antlr4::misc::Interval&) override { return {}; }
  std::string toString() const override { return {}; }

 private:
  std::string_view text_;
  std::size_t at_;
};

// Asks the generated tables for one token after the other, without ANTLR's token objects.
class Lexer final : public TokenSource {
 public:
  Lexer(std::string_view text, std::uint32_t begin, std::uint32_t end)
      : bytes_(text, begin, end), lexer_(&bytes_) {}

  Token next() override {
    const auto begin = static_cast<std::uint32_t>(bytes_.index());
    if (begin >= bytes_.size()) return {Tok::End, begin, begin};
    const std::size_t kind = lexer_.getInterpreter<antlr4::atn::LexerATNSimulator>()->match(&bytes_, 0);
    return {static_cast<Tok>(kind), begin, static_cast<std::uint32_t>(bytes_.index())};
  }

 private:
  ByteStream bytes_;
  KilnLexer lexer_;
};

// What the parser reads: filtered tokens, kept for the statement at hand.
class TokenQueue final : public antlr4::TokenStream {
 public:
  explicit TokenQueue(TokenFilter& filter) : filter_(filter), placeholder_(std::size_t{1}) {}

  std::vector<Token>* tokens = nullptr;

  Tok kind() {
    if (at_ == tokens->size()) tokens->push_back(filter_.next());
    return (*tokens)[at_].kind;
  }
  std::size_t position() const { return at_; }
  void restart() { at_ = 0; }

  std::size_t LA(ssize_t) override {
    const Tok next = kind();
    return next == Tok::End ? antlr4::Token::EOF : static_cast<std::size_t>(next);
  }
  void consume() override { ++at_; }
  // Nothing of ours looks at ANTLR's tokens; the generated code only passes them on.
  antlr4::Token* LT(ssize_t) override { return &placeholder_; }
  antlr4::Token* get(std::size_t) const override { return const_cast<antlr4::CommonToken*>(&placeholder_); }
  antlr4::TokenSource* getTokenSource() const override { return nullptr; }
  ssize_t mark() override { return 0; }
  void release(ssize_t) override {}
  std::size_t index() override { return at_; }
  void seek(std::size_t index) override { at_ = index; }
  std::size_t size() override { return tokens->size(); }
  std::string getSourceName() const override { return {}; }
  std::string getText(const antlr4::misc::Interval&) override { return {}; }
  std::string getText() override { return {}; }
  std::string getText(antlr4::RuleContext*) override { return {}; }
  std::string getText(antlr4::Token*, antlr4::Token*) override { return {}; }

 private:
  TokenFilter& filter_;
  std::size_t at_ = 0;
  antlr4::CommonToken placeholder_;
};

// Runs the generated parser and writes down what it does.
class Recorder final : public KilnParser {
 public:
  Recorder(const SourceFile& file, TokenQueue& queue, TokenFilter& filter, int depth)
      : KilnParser(&queue), file_(file), queue_(queue), filter_(filter), depth_(depth) {
    setErrorHandler(std::make_shared<Strategy>(*this));
    setBuildParseTree(false);
    removeParseListeners();
    addParseListener(&silent_);  // without one, leaving a rule is not reported
  }

  void begin(Syntax& syntax) {
    syntax_ = &syntax;
    queue_.tokens = &syntax.tokens;
    getTreeTracker().reset();
  }

  void enterRule(antlr4::ParserRuleContext* context, std::size_t state, std::size_t rule) override {
    setState(state);
    setContext(context);
    if (nests(static_cast<Rule>(rule)) && ++depth_ > kMaxDepth) too_deep();
    open_.push_back(static_cast<std::uint32_t>(syntax_->entries.size()));
    syntax_->entries.push_back({true, static_cast<Rule>(rule), 0});
  }
  void triggerExitRuleEvent() override {
    SyntaxEntry& entry = syntax_->entries[open_.back()];
    open_.pop_back();
    entry.end = static_cast<std::uint32_t>(syntax_->entries.size());
    if (nests(entry.rule)) --depth_;
  }
  antlr4::Token* consume() override {
    if (queue_.position() >= kMaxTokens) {
      syntax_error(span(syntax_->tokens.back()),
                   "this statement is too long: it has more than 4 million tokens",
                   "put large data into a file and read it with `load`");
    }
    syntax_->entries.push_back({false, {}, static_cast<std::uint32_t>(queue_.position())});
    queue_.consume();
    return nullptr;
  }
  antlr4::Token* match(std::size_t kind) override {
    if (queue_.LA(1) != kind) fail(static_cast<Tok>(kind));
    return consume();
  }

  [[noreturn]] void fail(Tok expected) {
    queue_.kind();
    std::vector<Rule> rules;
    for (const std::uint32_t index : open_) rules.push_back(syntax_->entries[index].rule);
    complain(
        {file_, std::span(syntax_->tokens).first(queue_.position() + 1), rules, expected, filter_.openers()});
  }

 private:
  // ANTLR's own messages and recovery are never used: the first mistake ends the parse.
  class Strategy final : public antlr4::ANTLRErrorStrategy {
   public:
    explicit Strategy(Recorder& recorder) : recorder_(recorder) {}
    void reset(antlr4::Parser*) override {}
    antlr4::Token* recoverInline(antlr4::Parser*) override { recorder_.fail(Tok::End); }
    void recover(antlr4::Parser*, std::exception_ptr) override { recorder_.fail(Tok::End); }
    void sync(antlr4::Parser*) override {}
    bool inErrorRecoveryMode(antlr4::Parser*) override { return false; }
    void reportMatch(antlr4::Parser*) override {}
    void reportError(antlr4::Parser*, const antlr4::RecognitionException&) override {
      recorder_.fail(Tok::End);
    }

   private:
    Recorder& recorder_;
  };
  class Silent final : public antlr4::tree::ParseTreeListener {
    void visitTerminal(antlr4::tree::TerminalNode*) override {}
    void visitErrorNode(antlr4::tree::ErrorNode*) override {}
    void enterEveryRule(antlr4::ParserRuleContext*) override {}
    void exitEveryRule(antlr4::ParserRuleContext*) override {}
  };

  // Every cycle of the grammar goes through one of these.
  static bool nests(Rule rule) { return rule == Rule::Expression || rule == Rule::Block || rule == Rule::If; }
  Span span(Token token) const { return {&file_, token.begin, token.end}; }
  [[noreturn]] void too_deep() {
    queue_.kind();
    syntax_error(span(syntax_->tokens[queue_.position()]),
                 "this is nested too deeply: more than " + std::to_string(kMaxDepth) + " levels");
  }

  const SourceFile& file_;
  TokenQueue& queue_;
  TokenFilter& filter_;
  int depth_;
  Syntax* syntax_ = nullptr;
  std::vector<std::uint32_t> open_;
  Silent silent_;
};

}  // namespace

struct SyntaxReader::Machine {
  Machine(const SourceFile& file, std::uint32_t begin, std::uint32_t end, bool inside_brackets, int depth)
      : lexer(file.text(), begin, end),
        filter(file, lexer, inside_brackets),
        queue(filter),
        recorder(file, queue, filter, depth) {}

  Lexer lexer;
  TokenFilter filter;
  TokenQueue queue;
  Recorder recorder;
};

SyntaxReader::SyntaxReader(const SourceFile& file, std::uint32_t begin, std::uint32_t end,
                           bool inside_brackets, int depth)
    : machine_(std::make_unique<Machine>(file, begin, end, inside_brackets, depth)) {}
SyntaxReader::~SyntaxReader() = default;

const std::vector<DocumentationLines>& SyntaxReader::documentation() const {
  return machine_->filter.documentation();
}

bool SyntaxReader::next_statement(Syntax& syntax) {
  TokenQueue& queue = machine_->queue;
  machine_->recorder.begin(syntax);
  do {
    syntax.clear();
    queue.restart();
    if (queue.kind() == Tok::End) return false;
    if (queue.kind() != Tok::Newline && queue.kind() != Tok::Semicolon) break;
  } while (true);
  machine_->recorder.statement();
  const Tok end = queue.kind();
  if (end != Tok::End && end != Tok::Newline && end != Tok::Semicolon) machine_->recorder.fail(Tok::Newline);
  syntax.ended_by_semicolon = end == Tok::Semicolon;
  return true;
}

void SyntaxReader::whole_expression(Syntax& syntax) {
  machine_->recorder.begin(syntax);
  syntax.clear();
  machine_->queue.restart();
  machine_->recorder.expression();
  if (machine_->queue.kind() != Tok::End) machine_->recorder.fail(Tok::End);
}

std::vector<Token> lex(std::string_view text) {
  std::vector<Token> tokens;
  Lexer lexer(text, 0, static_cast<std::uint32_t>(text.size()));
  for (Token token = lexer.next(); token.kind != Tok::End; token = lexer.next()) tokens.push_back(token);
  return tokens;
}

}  // namespace kiln::lang
