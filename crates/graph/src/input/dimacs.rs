//! `.gr`: the shortest-path format of the ninth DIMACS challenge.
//!
//! `p sp N M`, then `M` lines `a SOURCE TARGET WEIGHT`, from 1; lines that start with `c` are
//! comments, empty lines are skipped.

use crate::csr::{Csr, Edge, MAX_VERTICES};
use crate::error::GraphError;
use crate::input::bytes::Input;
use crate::input::cursor::{Cursor, shown};
use crate::input::lines::{Lines, Text};
use crate::load::Load;

/// More edges than memory holds; below what a cursor can count to.
const MAX_EDGES: u64 = 1 << 48;

struct Arcs {
    vertices: u64,
}

impl Lines for Arcs {
    #[inline(always)]
    fn line(&self, cursor: &mut Cursor<'_>, edges: &mut Vec<Edge>) -> Result<(), String> {
        if !cursor.has_token() {
            return cursor.end_line("empty");
        }
        match cursor.token() {
            b"a" => {}
            token if token[0] == b'c' => {
                cursor.skip_line();
                return Ok(());
            }
            b"p" => return Err("a second line `p`: one file, one graph".into()),
            token => return Err(format!("`{}`: a line starts with a or c", shown(token))),
        }
        let edge = (
            cursor.vertex_from_1(self.vertices)?,
            cursor.vertex_from_1(self.vertices)?,
        );
        cursor.weight()?;
        cursor.end_line("`a source target weight`")?;
        edges.push(edge);
        Ok(())
    }
}

/// The line `p sp N M`; nothing where it is a comment.
fn problem(cursor: &mut Cursor<'_>) -> Result<Option<(u64, u64)>, String> {
    if !cursor.has_token() {
        return cursor.end_line("empty").map(|()| None);
    }
    match cursor.token() {
        b"p" => {}
        token if token[0] == b'c' => {
            cursor.skip_line();
            return Ok(None);
        }
        token => return Err(format!("`{}` before the line `p sp N M`", shown(token))),
    }
    match cursor.token() {
        b"sp" => {}
        token => return Err(format!("`p {}`: only `p sp N M` is read", shown(token))),
    }
    let vertices = cursor.number(MAX_VERTICES, "a number of vertices")?;
    let edges = cursor.number(MAX_EDGES, "a number of arcs")?;
    cursor.end_line("`p sp N M`")?;
    Ok(Some((vertices, edges)))
}

pub(crate) fn read(input: Input, how: &Load) -> Result<Csr, GraphError> {
    let mut text = Text::open(input);
    let (vertices, edges) = text.header(problem)?;
    let parsed = text.parse(&Arcs { vertices }, how.directed, how)?;
    if parsed.edges != edges {
        return Err(parsed.malformed(format!(
            "{} arcs, and the line `p` says {edges}: the file is cut short or was edited",
            parsed.edges
        )));
    }
    parsed.graph(vertices, how)
}
