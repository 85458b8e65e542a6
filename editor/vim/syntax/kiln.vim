" Colours of Kiln, made by scripts/docs of the tables of the language.
if exists('b:current_syntax')
  finish
endif

syntax keyword kilnKeyword and as assert autograd break case catch continue del else finally fn for from if import in is match nonlocal not or return struct throw try while with yield
syntax keyword kilnConstant false none true
syntax keyword kilnType bool u8 i8 i16 i32 i64 f16 bf16 f32 f64 c64 c128
syntax match kilnNumber '\v<(0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|\d[0-9_]*(\.\d[0-9_]*)?([eE][+-]?\d+)?[jJ]?)>'
syntax match kilnFunction '\h\w*\ze('
syntax match kilnDecorator '@\h[A-Za-z0-9_.]*'
syntax match kilnDefinition '\v(<(fn|struct|autograd)\s+)@<=\h\w*'
syntax match kilnEscape '\\.' contained
syntax region kilnString start=+"+ end=+"+ oneline contains=kilnEscape
syntax region kilnString start=+'+ end=+'+ oneline contains=kilnEscape
syntax match kilnComment '#.*$'
syntax match kilnDocumentation '##.*$'

highlight default link kilnKeyword Keyword
highlight default link kilnConstant Constant
highlight default link kilnType Type
highlight default link kilnFunction Function
highlight default link kilnNumber Number
highlight default link kilnDecorator PreProc
highlight default link kilnDefinition Function
highlight default link kilnEscape SpecialChar
highlight default link kilnString String
highlight default link kilnComment Comment
highlight default link kilnDocumentation SpecialComment

let b:current_syntax = 'kiln'
