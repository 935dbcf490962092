//! One Rust source as a flat list of tokens.
//!
//! Tokens, not a syntax tree: bodies of macros are in it, comments and strings cannot be mistaken
//! for code, and what the checks ask for (`fn` and its body, `unsafe`, a path) shows in a few
//! neighbouring tokens.

use std::str::FromStr;

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};

/// What a [`Token`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A keyword or an identifier.
    Word,
    /// One character of punctuation: a path separator is two of them.
    Mark,
    /// A literal with its quotes. Doc comments arrive as literals in a `doc` attribute.
    Literal,
    /// An opening bracket.
    Open,
    /// A closing bracket.
    Close,
}

/// One token and its place.
#[derive(Clone, Debug)]
pub struct Token {
    /// As written.
    pub text: String,
    /// What it is.
    pub kind: Kind,
    /// Line, from 1.
    pub line: usize,
}

/// The tokens of one source, brackets included.
#[derive(Clone, Debug, Default)]
pub struct Code(Vec<Token>);

impl Code {
    /// The tokens of `text`; none if it is no Rust, which the compiler will say better.
    pub fn lex(text: &str) -> Self {
        let mut tokens = Vec::new();
        if let Ok(stream) = TokenStream::from_str(text) {
            flatten(stream, &mut tokens);
        }
        Self(tokens)
    }

    /// All tokens in order.
    pub fn tokens(&self) -> &[Token] {
        &self.0
    }

    /// Whether the tokens from `index` read as `texts`. Literals never match.
    pub fn reads(&self, index: usize, texts: &[&str]) -> bool {
        self.0.get(index..index + texts.len()).is_some_and(|part| {
            part.iter()
                .zip(texts)
                .all(|(token, text)| token.kind != Kind::Literal && token.text == *text)
        })
    }

    /// Whether `texts` stand immediately before `index`.
    pub fn follows(&self, index: usize, texts: &[&str]) -> bool {
        index >= texts.len() && self.reads(index - texts.len(), texts)
    }

    /// Every place where the tokens read as `texts`.
    pub fn find<'a>(&'a self, texts: &'a [&'a str]) -> impl Iterator<Item = usize> + 'a {
        (0..self.0.len()).filter(move |&index| self.reads(index, texts))
    }

    /// The closing bracket that belongs to the opening one at `open`.
    ///
    /// # Panics
    /// If `open` is no opening bracket.
    pub fn close_of(&self, open: usize) -> usize {
        assert_eq!(self.0[open].kind, Kind::Open, "token {open} opens nothing");
        let mut depth = 0;
        for (index, token) in self.0.iter().enumerate().skip(open) {
            match token.kind {
                Kind::Open => depth += 1,
                Kind::Close => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return index;
            }
        }
        unreachable!("the lexer balances brackets")
    }
}

fn flatten(stream: TokenStream, to: &mut Vec<Token>) {
    for tree in stream {
        match tree {
            TokenTree::Ident(word) => push(to, Kind::Word, word.to_string(), word.span()),
            TokenTree::Punct(mark) => push(to, Kind::Mark, mark.to_string(), mark.span()),
            TokenTree::Literal(literal) => {
                push(to, Kind::Literal, literal.to_string(), literal.span());
            }
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::None => unreachable!("source text has no invisible brackets"),
                };
                push(to, Kind::Open, open.to_owned(), group.span_open());
                flatten(group.stream(), to);
                push(to, Kind::Close, close.to_owned(), group.span_close());
            }
        }
    }
}

fn push(to: &mut Vec<Token>, kind: Kind, text: String, at: Span) {
    let line = at.start().line;
    to.push(Token { text, kind, line });
}
