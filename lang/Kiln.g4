// The grammar of Kiln. Every decision is LL(1), so the generated parser is plain switches and never predicts.
//
// Two things are settled elsewhere. Operators form flat chains here; their precedence is a table (operators.cpp).
// The parser reads tokens through token_filter.cpp, which decides which newlines end a statement, joins `not in` and
// `is not` into one OPERATOR, and makes keywords after a dot into NAMEs, as well as FINALLY, DEL, YIELD, MATCH and CASE
// where they stand as names.
//
// The lexer reads bytes: every byte of a non-ASCII character arrives as \u007F.
grammar Kiln;

// ---- statements

// The driver calls `statement` for one statement of the file at a time.
statement
  : expression_statement
  | if_statement
  | while_statement
  | for_statement
  | struct_statement
  | autograd_statement
  | decorated
  | with_statement
  | try_statement
  | match_statement
  | yield_statement
  | del_statement
  | return_statement
  | throw_statement
  | assert_statement
  | import_statement
  | from_statement
  | nonlocal_statement
  | BREAK
  | CONTINUE
  ;

// `x = yield e` gets what the generator is sent: the tree builder refuses more targets.
expression_statement: expressions ((ASSIGN (expressions | yield_statement))+ | AUGMENTED expressions)?;
expressions: STAR? expression (COMMA (STAR? expression)?)*;

block: LBRACE statement? ((NEWLINE | SEMICOLON) statement?)* RBRACE;

if_statement: IF expression block (ELSE (if_statement | block))?;
while_statement: WHILE expression block;
for_statement: FOR targets IN expression (COMMA expression)* block;
targets: STAR? operand (COMMA (STAR? operand)?)*;

decorated: decorator+ (definition | struct_statement | autograd_statement);
decorator: AT operand NEWLINE*;
// A function of a struct or below a decorator. One that begins a statement is read as an expression: see `function`.
definition: FN NAME? parameters (ARROW annotation)? (block | ASSIGN body);
body: STAR? expression (COMMA STAR? expression)*;
// With a name it must be a statement, and what follows its commas belongs to its body; without one it is an
// expression. The tree builder tells which.
function: FN NAME? parameters (ARROW annotation)? (block | ASSIGN STAR? expression);
parameters: LPAREN (parameter (COMMA parameter?)*)? RPAREN;
parameter: (STAR | DOUBLE_STAR)? NAME (COLON annotation)? (ASSIGN expression)?;
annotation: (NAME | NONE) (DOT NAME)* (LBRACKET (expression (COMMA expression?)*)? RBRACKET)?;

struct_statement: STRUCT NAME LBRACE member? ((NEWLINE | SEMICOLON) member?)* RBRACE;
// A method needs nothing between it and what is before it.
member: (field | definition | decorated) definition*;
field: NAME (COLON annotation)? (ASSIGN expression)?;
autograd_statement: AUTOGRAD NAME LBRACE member? ((NEWLINE | SEMICOLON) member?)* RBRACE;

with_statement: WITH with_item (COMMA with_item)* block;
with_item: expression (AS operand)?;
try_statement: TRY block (CATCH NAME? block (FINALLY block)? | FINALLY block);
match_statement: MATCH expression (COMMA expression)* LBRACE (NEWLINE | SEMICOLON | case_clause)* RBRACE;
// A pattern is read as an expression; the tree builder makes the pattern.
case_clause: CASE STAR? chain (COMMA (STAR? chain)?)* (AS NAME)? (IF expression)? block;
yield_statement: YIELD expressions?;
del_statement: DEL operand (COMMA operand)*;
return_statement: RETURN expressions?;
throw_statement: THROW expression;
assert_statement: ASSERT expression (COMMA expression)?;
import_statement: IMPORT module (AS NAME)?;
from_statement: FROM module IMPORT imported_name (COMMA imported_name)*;
imported_name: NAME (AS NAME)?;
module: STRING | NAME (DOT NAME)*;
nonlocal_statement: NONLOCAL NAME (COMMA NAME)*;

// ---- expressions

expression
  : function
  | operand ((OPERATOR | STAR | DOUBLE_STAR | PLUS | MINUS | AT | IN) operand)*
    (FAT_ARROW expression | IF chain ELSE expression)?
  ;
chain: operand ((OPERATOR | STAR | DOUBLE_STAR | PLUS | MINUS | AT | IN) operand)*;

operand
  : (PLUS | MINUS | TILDE | NOT)*
    (NAME | NUMBER | STRING | FSTRING | TRUE | FALSE | NONE | ELLIPSIS | group | list | dict)
    (DOT NAME | call | index)*
  ;

// Parentheses: a value, a tuple or the parameters of an `=>`; the tree builder tells which.
group: LPAREN (item (COMMA item?)*)? RPAREN;
list: LBRACKET (item (COMMA item?)*)? RBRACKET;
call: LPAREN (item (COMMA item?)*)? RPAREN;
item: (STAR | DOUBLE_STAR) expression | expression (COLON annotation)? (ASSIGN expression)? clause*;
clause: FOR targets IN chain (IF chain)*;
// A dict of pairs or a set of values; the tree builder tells which.
dict: LBRACE (pair (COMMA pair?)*)? RBRACE;
pair: (STAR | DOUBLE_STAR) expression | expression (COLON expression)? clause*;
index: LBRACKET subscript (COMMA subscript?)* RBRACKET;
subscript: STAR expression | expression slice? | slice;
slice: COLON expression? (COLON expression?)?;

// ---- tokens, in the order of tokens.def

FN: 'fn';
RETURN: 'return';
IF: 'if';
ELSE: 'else';
FOR: 'for';
IN: 'in';
WHILE: 'while';
BREAK: 'break';
CONTINUE: 'continue';
IMPORT: 'import';
FROM: 'from';
AS: 'as';
STRUCT: 'struct';
AUTOGRAD: 'autograd';
WITH: 'with';
TRY: 'try';
CATCH: 'catch';
FINALLY: 'finally';
MATCH: 'match';
CASE: 'case';
YIELD: 'yield';
DEL: 'del';
THROW: 'throw';
ASSERT: 'assert';
NOT: 'not';
TRUE: 'true';
FALSE: 'false';
NONE: 'none';
NONLOCAL: 'nonlocal';

OPERATOR
  : 'or' | 'and' | 'is' | '==' | '!=' | '<' | '<=' | '>' | '>='
  | '|' | '^' | '&' | '<<' | '>>' | '/' | '//' | '%'
  ;
AUGMENTED: '+=' | '-=' | '*=' | '/=' | '//=' | '%=' | '@=' | '**=' | '&=' | '|=' | '^=' | '<<=' | '>>=';
PLUS: '+';
MINUS: '-';
STAR: '*';
DOUBLE_STAR: '**';
AT: '@';
TILDE: '~';
ASSIGN: '=';
FAT_ARROW: '=>';
ARROW: '->';
COMMA: ',';
COLON: ':';
SEMICOLON: ';';
DOT: '.';
ELLIPSIS: '...';
LPAREN: '(';
RPAREN: ')';
LBRACKET: '[';
RBRACKET: ']';
LBRACE: '{';
RBRACE: '}';

NAME: LETTER (LETTER | DIGIT)*;
// Also numbers with rubbish at their end: literals.cpp says what is wrong with them.
NUMBER
  : DIGIT (DIGIT | '_')* ('.' (DIGIT (DIGIT | '_')*)?)? EXPONENT? (LETTER (LETTER | DIGIT)*)?
  | '.' DIGIT (DIGIT | '_')* EXPONENT? (LETTER (LETTER | DIGIT)*)?
  ;
STRING: QUOTED;
FSTRING: 'f' QUOTED;
UNTERMINATED: 'f'? ('"' ('\\' ~'\n' | ~["\\\n])* | '\'' ('\\' ~'\n' | ~['\\\n])*) '\\'?;
NEWLINE: '\n';
COMMENT: '#' ~'\n'*;
SPACE: [ \t\r\f]+;
// What other languages have and Kiln has not, and bytes that start nothing.
FOREIGN: '&&' | '||' | .;

fragment LETTER: [a-zA-Z_\u007F];
fragment DIGIT: [0-9];
fragment EXPONENT: [eE] [+-]? DIGIT (DIGIT | '_')*;
fragment QUOTED
  : '"' ('\\' ~'\n' | ~["\\\n])* '"'
  | '\'' ('\\' ~'\n' | ~['\\\n])* '\''
  | '"""' ('\\' . | ~'\\')*? '"""'
  | '\'\'\'' ('\\' . | ~'\\')*? '\'\'\''
  ;
