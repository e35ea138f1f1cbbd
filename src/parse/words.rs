//! What a token is to the parser: keywords of C and of its dialects, names, literals.

use crate::lex::TokenKind;

/// Class of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// An identifier that is no keyword.
    Name,
    /// A number or character constant.
    Literal,
    /// Adjacent string pieces, with the names between them.
    Str,
    /// A punctuator.
    Punct,
    /// `int`, `unsigned`, `__int128`, … with the spelling `lang-c` gets.
    TypeWord(&'static str),
    /// `const`, `volatile`.
    Qualifier(&'static str),
    /// `static`, `extern`, `typedef`, `_Thread_local`.
    Storage(&'static str),
    /// `struct`, `union`, `enum`.
    Tag(&'static str),
    /// `typeof(…)`
    TypeOf,
    /// `_Atomic`, alone or with a type in parentheses.
    Atomic,
    /// `sizeof`, `_Alignof`.
    SizeOf(&'static str),
    /// `_Generic`
    Generic,
    /// `va_arg`
    VaArg,
    /// `offsetof`
    OffsetOf,
    /// A word that begins or ends a statement.
    Flow(Flow),
    /// `_Static_assert`
    StaticAssert,
    /// `__label__`
    LabelDeclaration,
    /// An `asm` statement without its `;`.
    Asm,
    /// Past the last token.
    End,
}

/// Statement keywords.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    If,
    Else,
    While,
    Do,
    For,
    Switch,
    Case,
    Default,
    Return,
    Goto,
    Break,
    Continue,
}

impl Flow {
    /// The keyword.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::If => "if",
            Self::Else => "else",
            Self::While => "while",
            Self::Do => "do",
            Self::For => "for",
            Self::Switch => "switch",
            Self::Case => "case",
            Self::Default => "default",
            Self::Return => "return",
            Self::Goto => "goto",
            Self::Break => "break",
            Self::Continue => "continue",
        }
    }
}

/// Words that mean nothing to the analyses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Noise {
    /// Stands alone: `inline`, `__cdecl`, `__extension__`.
    Word,
    /// Takes parentheses: `__attribute__((…))`.
    Call,
    /// `asm`, with qualifiers and parentheses; a statement or the label of a declarator.
    Asm,
}

/// Noise, or `None` for a word that stays.
pub(super) fn noise(text: &[u8]) -> Option<Noise> {
    Some(match text {
        b"inline" | b"__inline" | b"__inline__" | b"_inline" | b"__forceinline" | b"_Noreturn"
        | b"__extension__" | b"restrict" | b"__restrict" | b"__restrict__" | b"constexpr"
        | b"__cdecl" | b"_cdecl" | b"__stdcall" | b"_stdcall" | b"__fastcall" | b"_fastcall"
        | b"__thiscall" | b"__vectorcall" | b"__regcall" | b"__clrcall" | b"__ptr32"
        | b"__ptr64" | b"__w64" | b"__unaligned" | b"__sptr" | b"__uptr" | b"_Nonnull"
        | b"_Nullable" | b"_Null_unspecified" | b"__real" | b"__real__" | b"__imag"
        | b"__imag__" | b"__try" | b"__finally" => Noise::Word,
        b"__attribute__" | b"__attribute" | b"__declspec" | b"_declspec" | b"_Pragma"
        | b"__pragma" | b"_Alignas" | b"alignas" => Noise::Call,
        b"asm" | b"__asm" | b"__asm__" | b"_asm" => Noise::Asm,
        _ => return None,
    })
}

/// Class of a token that is neither noise nor a string.
pub(super) fn classify(kind: TokenKind, text: &[u8]) -> Kind {
    match kind {
        TokenKind::Ident => keyword(text).unwrap_or(Kind::Name),
        TokenKind::Number | TokenKind::Char => Kind::Literal,
        TokenKind::Str => Kind::Str,
        TokenKind::Punct | TokenKind::Other => Kind::Punct,
    }
}

/// Whether a word has a meaning of its own in C, so that nothing is called so.
pub(crate) fn is_keyword(text: &[u8]) -> bool {
    keyword(text).is_some()
}

fn keyword(text: &[u8]) -> Option<Kind> {
    type_word(text)
        .map(Kind::TypeWord)
        .or_else(|| declaration_word(text))
        .or_else(|| flow(text))
}

fn type_word(text: &[u8]) -> Option<&'static str> {
    Some(match text {
        b"void" => "void",
        b"char" => "char",
        b"short" => "short",
        // `unsigned __int128` must stay a list of keywords; `lower` reads the token's own text.
        b"int" | b"__int128" | b"__int8" | b"__int16" | b"__int32" | b"__int64" => "int",
        b"long" => "long",
        b"float" => "float",
        b"double" => "double",
        b"signed" | b"__signed" | b"__signed__" => "signed",
        b"unsigned" => "unsigned",
        b"_Bool" => "_Bool",
        b"_Complex" | b"__complex__" | b"__complex" => "_Complex",
        b"__auto_type" | b"_Float16" | b"_Float32" | b"_Float64" | b"_Float128" | b"__float128"
        | b"_Float32x" | b"_Float64x" | b"_Decimal32" | b"_Decimal64" | b"_Decimal128" => {
            super::shadow::TYPE
        }
        _ => return None,
    })
}

fn declaration_word(text: &[u8]) -> Option<Kind> {
    Some(match text {
        b"const" | b"__const" | b"__const__" => Kind::Qualifier("const"),
        b"volatile" | b"__volatile" | b"__volatile__" => Kind::Qualifier("volatile"),
        b"static" => Kind::Storage("static"),
        b"extern" => Kind::Storage("extern"),
        b"typedef" => Kind::Storage("typedef"),
        b"register" => Kind::Storage("register"),
        b"_Thread_local" | b"__thread" | b"thread_local" => Kind::Storage("_Thread_local"),
        b"struct" => Kind::Tag("struct"),
        b"union" => Kind::Tag("union"),
        b"enum" => Kind::Tag("enum"),
        b"typeof" | b"__typeof" | b"__typeof__" | b"typeof_unqual" => Kind::TypeOf,
        b"_Atomic" => Kind::Atomic,
        b"sizeof" => Kind::SizeOf("sizeof"),
        b"_Alignof" | b"__alignof" | b"__alignof__" | b"alignof" => Kind::SizeOf("_Alignof"),
        b"_Generic" => Kind::Generic,
        b"va_arg" | b"__builtin_va_arg" => Kind::VaArg,
        b"offsetof" | b"__builtin_offsetof" => Kind::OffsetOf,
        b"_Static_assert" | b"static_assert" => Kind::StaticAssert,
        b"__label__" => Kind::LabelDeclaration,
        _ => return None,
    })
}

fn flow(text: &[u8]) -> Option<Kind> {
    Some(Kind::Flow(match text {
        // Structured exceptions of the Microsoft compiler: the handler may run or not.
        b"if" | b"__except" => Flow::If,
        b"else" => Flow::Else,
        b"while" => Flow::While,
        b"do" => Flow::Do,
        b"for" => Flow::For,
        b"switch" => Flow::Switch,
        b"case" => Flow::Case,
        b"default" => Flow::Default,
        b"return" => Flow::Return,
        b"goto" => Flow::Goto,
        b"break" => Flow::Break,
        b"continue" => Flow::Continue,
        _ => return None,
    }))
}

/// The punctuator in its usual spelling: digraphs replaced.
pub(super) fn punctuator(text: &[u8]) -> &[u8] {
    match text {
        b"<:" => b"[",
        b":>" => b"]",
        b"<%" => b"{",
        b"%>" => b"}",
        _ => text,
    }
}

/// Whether a name is spelled as macros are: `WINAPI`, `__pure`.
pub(super) fn looks_like_macro(name: &[u8]) -> bool {
    let upper = |b: &u8| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b'_';
    name.starts_with(b"__") || (name.len() > 1 && name.iter().all(upper))
}
