"""Colours programs in Kiln on the site. Keywords are those of the language's table, lang/tokens.def."""

import os
import pathlib
import re

from pygments import lexer, token
from pygments.lexers import _mapping

__all__ = ["KilnLexer"]  # what Pygments takes from this module

TABLE = (pathlib.Path(os.environ["KILN_ROOT"]) / "lang" / "tokens.def").read_text(encoding="utf-8")
KEYWORDS = re.findall(r'KILN_KEYWORD\(\w+, \w+, "(\w+)"\)', TABLE) + ["and", "or", "is"]


class KilnLexer(lexer.RegexLexer):
    name = "Kiln"
    aliases = ["kiln"]
    tokens = {
        "root": [
            (r"^(kiln> |\.\.\. )", token.Generic.Prompt),
            (r"#.*$", token.Comment),
            (r'f?"""(.|\n)*?"""', token.String),
            (r"""f?"(\\.|[^"\\\n])*"|f?'(\\.|[^'\\\n])*'""", token.String),
            (lexer.words(KEYWORDS, prefix=r"\b", suffix=r"\b"), token.Keyword),
            (r"@\w+", token.Name.Decorator),
            (r"(?<![\w.])\d[\d_]*(\.\d*)?([eE][+-]?\d+)?", token.Number),
            (r"\w+(?=\()", token.Name.Function),
            (r"\w+", token.Name),
            (r"\s+|.", token.Text),
        ]
    }


# Pygments finds lexers in this table, or in packages that are installed.
_mapping.LEXERS["KilnLexer"] = ("kiln_lexer", "Kiln", ("kiln",), ("*.kiln",), ())
