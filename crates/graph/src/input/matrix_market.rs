//! `.mtx`: Matrix Market, coordinate format (Boisvert, Pozo, Remington, "The Matrix Market exchange
//! formats", NISTIR 5935, 1996).
//!
//! `%%MatrixMarket matrix coordinate FIELD SYMMETRY` in any case, comments that start with `%`, the
//! line `ROWS COLUMNS ENTRIES`, then an entry a line, from 1. Fields: pattern, integer, real.
//! Symmetries: general, symmetric; an entry of a symmetric matrix is an edge in both directions.
//! The entry in row `i` and column `j` is an edge from `i` to `j`.

use crate::csr::{Csr, Edge, MAX_VERTICES};
use crate::error::GraphError;
use crate::input::bytes::Input;
use crate::input::cursor::{Cursor, shown};
use crate::input::lines::{Lines, Text};
use crate::load::Load;

/// More entries than memory holds; below what a cursor can count to.
const MAX_ENTRIES: u64 = 1 << 48;

/// What the first line says.
#[derive(Clone, Copy)]
struct Banner {
    weighted: bool,
    symmetric: bool,
}

struct Header {
    banner: Banner,
    vertices: u64,
    entries: u64,
}

fn banner(cursor: &mut Cursor<'_>) -> Result<Banner, String> {
    let mut word = |expected: &[&str]| {
        let token = cursor.token();
        let lower = token.to_ascii_lowercase();
        let position = expected.iter().position(|word| word.as_bytes() == lower);
        position.ok_or_else(|| {
            let expected = expected.join(" or ");
            format!(
                "`{}` in the first line: {expected} was expected",
                shown(token)
            )
        })
    };
    word(&["%%matrixmarket"])?;
    word(&["matrix"])?;
    word(&["coordinate"])?;
    let weighted = word(&["pattern", "integer", "real"])? > 0;
    let symmetric = word(&["general", "symmetric"])? > 0;
    cursor.end_line("`%%MatrixMarket matrix coordinate FIELD SYMMETRY`")?;
    Ok(Banner {
        weighted,
        symmetric,
    })
}

fn size(cursor: &mut Cursor<'_>, banner: Banner) -> Result<Option<Header>, String> {
    if !cursor.has_token() {
        return cursor.end_line("empty").map(|()| None);
    }
    if cursor.peek() == b'%' {
        cursor.skip_line();
        return Ok(None);
    }
    let vertices = cursor.number(MAX_VERTICES, "a number of rows")?;
    let columns = cursor.number(MAX_VERTICES, "a number of columns")?;
    let entries = cursor.number(MAX_ENTRIES, "a number of entries")?;
    cursor.end_line("`rows columns entries`")?;
    if vertices != columns {
        return Err(format!(
            "{vertices} rows and {columns} columns: a graph's matrix is square"
        ));
    }
    Ok(Some(Header {
        banner,
        vertices,
        entries,
    }))
}

impl Lines for Header {
    #[inline(always)]
    fn line(&self, cursor: &mut Cursor<'_>, edges: &mut Vec<Edge>) -> Result<(), String> {
        if !cursor.has_token() {
            return cursor.end_line("empty");
        }
        if cursor.peek() == b'%' {
            cursor.skip_line();
            return Ok(());
        }
        let edge = (
            cursor.vertex_from_1(self.vertices)?,
            cursor.vertex_from_1(self.vertices)?,
        );
        if self.banner.weighted {
            cursor.weight()?;
            cursor.end_line("`row column value`")?;
        } else {
            cursor.end_line("`row column`")?;
        }
        edges.push(edge);
        Ok(())
    }
}

pub(crate) fn read(input: Input, how: &Load) -> Result<Csr, GraphError> {
    let mut text = Text::open(input);
    let mut first = None;
    let header = text.header(|cursor| match first {
        None => {
            first = Some(banner(cursor)?);
            Ok(None)
        }
        Some(banner) => size(cursor, banner),
    })?;
    let directed = how.directed && !header.banner.symmetric;
    let parsed = text.parse(&header, directed, how)?;
    if parsed.edges != header.entries {
        return Err(parsed.malformed(format!(
            "{} entries, and the header says {}: the file is cut short or was edited",
            parsed.edges, header.entries
        )));
    }
    parsed.graph(header.vertices, how)
}
