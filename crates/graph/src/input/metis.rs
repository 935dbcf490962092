//! `.graph`: METIS (manual of version 5, section 4.1.1).
//!
//! `N M [FMT [NCON]]`, then a line a vertex with its neighbours, from 1; an empty one is a vertex
//! without. `FMT` has three digits: vertices have a size, vertices have `NCON` weights, edges have
//! a weight. `M` counts each edge once, though both its ends list it. Lines that start with `%` are
//! comments.
//!
//! A line may be as long as a vertex has neighbours, and which vertex it is follows from all lines
//! before it: one thread parses, chunk after chunk.

use crate::build;
use crate::csr::{Csr, Edge, MAX_VERTICES};
use crate::error::{At, GraphError};
use crate::input::bytes::Input;
use crate::input::cursor::{Cursor, shown};
use crate::input::lines::Text;
use crate::input::symmetry::unanswered;
use crate::load::Load;

/// More edges than memory holds; below what a cursor can count to.
const MAX_EDGES: u64 = 1 << 48;

/// The largest weight or size: the manual has 32- or 64-bit integers; a cursor counts to 2^60.
const MAX_WEIGHT: u64 = (1 << 60) - 1;

/// Bytes of the longest line: about 10^8 neighbours.
const LONGEST_LINE: u64 = 1 << 30;

struct Header {
    vertices: u64,
    edges: u64,
    /// Numbers before a vertex' neighbours.
    before: u64,
    edge_weights: bool,
}

fn header(cursor: &mut Cursor<'_>) -> Result<Option<Header>, String> {
    if cursor.peek() == b'%' {
        cursor.skip_line();
        return Ok(None);
    }
    let vertices = cursor.number(MAX_VERTICES, "a number of vertices")?;
    let edges = cursor.number(MAX_EDGES, "a number of edges")?;
    let format = if cursor.has_token() {
        cursor.token()
    } else {
        b"0"
    };
    if format.len() > 3 || !format.iter().all(|digit| matches!(digit, b'0' | b'1')) {
        let format = shown(format);
        return Err(format!("format `{format}`: up to three digits 0 or 1"));
    }
    let has = |digit: usize| format.iter().rev().nth(digit) == Some(&b'1');
    let weights = if cursor.has_token() {
        cursor.number(1 << 10, "a number of weights")?
    } else {
        1
    };
    cursor.end_line("`N M [FMT [NCON]]`")?;
    Ok(Some(Header {
        vertices,
        edges,
        before: u64::from(has(2)) + if has(1) { weights } else { 0 },
        edge_weights: has(0),
    }))
}

/// The vertices read so far.
struct Lists {
    header: Header,
    vertices: u64,
    edges: Vec<Edge>,
}

impl Lists {
    /// The line of one vertex, or a comment.
    fn line(&mut self, cursor: &mut Cursor<'_>) -> Result<(), String> {
        if cursor.peek() == b'%' {
            cursor.skip_line();
            return Ok(());
        }
        if self.vertices == self.header.vertices {
            let behind = format!("empty, after the {} of the header", self.vertices);
            return cursor.end_line(&behind);
        }
        for _ in 0..self.header.before {
            cursor.number(MAX_WEIGHT, "a size or weight")?;
        }
        let vertex = self.vertices as u32;
        while cursor.has_token() {
            let neighbour = cursor.vertex_from_1(self.header.vertices)?;
            if self.header.edge_weights {
                cursor.number(MAX_WEIGHT, "a weight")?;
            }
            self.edges.push((vertex, neighbour));
        }
        self.vertices += 1;
        cursor.end_line("a vertex' neighbours")
    }

    /// What the lines are not, that the header says.
    fn missing(&self) -> Option<String> {
        let Header {
            vertices, edges, ..
        } = self.header;
        let (lines, listed) = (self.vertices, self.edges.len() as u64);
        if lines < vertices {
            return Some(format!(
                "{lines} lines of vertices, and the header says {vertices}: the file is cut short"
            ));
        }
        (listed != 2 * edges).then(|| {
            format!(
                "{listed} neighbours, and the header's {edges} edges make {}: each stands in the \
                 lines of both its ends",
                2 * edges
            )
        })
    }
}

pub(crate) fn read(input: Input, how: &Load) -> Result<Csr, GraphError> {
    let mut text = Text::with_lines_up_to(input, LONGEST_LINE);
    let mut lists = Lists {
        header: text.header(header)?,
        vertices: 0,
        edges: Vec::new(),
    };
    let path = text.path().to_owned();
    let lines = text.each_line(how, |cursor| lists.line(cursor))?;
    let malformed = |at, why| GraphError::Malformed {
        path: path.clone(),
        at,
        why,
    };
    if let Some(why) = lists.missing() {
        return Err(malformed(At::Line(lines), why));
    }
    let (threads, progress) = (how.threads, &how.progress);
    let rows = build::listed_rows(lists.vertices as usize, &lists.edges, threads, progress)?;
    if let Some((from, to)) = unanswered(&rows, &rows, threads) {
        let (from, to) = (from + 1, to + 1);
        let why = format!("vertex {from} lists {to}, which does not list {from}");
        return Err(malformed(At::Line(lines), why));
    }
    Ok(Csr::undirected(rows))
}
