//! `.el` and `.wel`: `source target`, or `source target weight`, a line, from 0.
//!
//! Tokens are separated by blanks or tabs; a line ends with `\n` or `\r\n`. Empty lines are
//! skipped, and so are comments: lines whose first token starts with `#` or `%`, as the collections
//! SNAP and KONECT write them. GAPBS writes none, and stops reading at the first.

use crate::csr::{Csr, Edge};
use crate::error::GraphError;
use crate::input::bytes::Input;
use crate::input::cursor::Cursor;
use crate::input::lines::{Lines, Text};
use crate::load::Load;

struct EdgeLines {
    weighted: bool,
}

impl Lines for EdgeLines {
    #[inline(always)]
    fn line(&self, cursor: &mut Cursor<'_>, edges: &mut Vec<Edge>) -> Result<(), String> {
        if !cursor.has_token() {
            return cursor.end_line("empty");
        }
        if matches!(cursor.peek(), b'#' | b'%') {
            cursor.skip_line();
            return Ok(());
        }
        let edge = (cursor.vertex()?, cursor.vertex()?);
        if self.weighted {
            cursor.weight()?;
            cursor.end_line("`source target weight`")?;
        } else {
            cursor.end_line("`source target`; with weights the suffix is .wel")?;
        }
        edges.push(edge);
        Ok(())
    }
}

pub(crate) fn read(input: Input, weighted: bool, how: &Load) -> Result<Csr, GraphError> {
    let parsed = Text::open(input).parse(&EdgeLines { weighted }, how.directed, how)?;
    let vertices = parsed.vertices;
    parsed.graph(vertices, how)
}
