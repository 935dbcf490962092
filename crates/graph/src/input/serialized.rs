//! `.sg`: rows as GAPBS (sbeamer/gapbs, `writer.h` and `reader.h`) holds them in memory.
//!
//! Little endian, without magic or padding: a byte that says whether edges have a direction; `M`,
//! the stored arcs of one direction; `N`, the vertices, both as i64; `N + 1` offsets as i64, in
//! arcs; `M` targets as i32. If directed, offsets and targets again, for incoming edges.
//!
//! GAPBS trusts all of it. Here every claim is checked: the sizes against the file's, the offsets
//! for order, the rows for order and for vertices that are not there, and that each arc has its
//! counterpart.

use crate::csr::{Adjacency, Csr, MAX_VERTICES};
use crate::error::{At, GraphError};
use crate::input::bytes::Input;
use crate::input::symmetry::unanswered;
use crate::load::Load;
use crate::source::Shape;

pub(crate) const HEADER_BYTES: u64 = 17;

/// More arcs than memory holds; sizes in bytes do not overflow.
const MAX_ARCS: u64 = 1 << 48;

/// Bytes that are read and converted at a time, a multiple of 8.
const BLOCK_BYTES: u64 = 1 << 18;

struct Header {
    directed: bool,
    arcs: u64,
    vertices: u64,
}

impl Header {
    fn read(input: &mut Input) -> Result<Self, GraphError> {
        let mut bytes = Vec::new();
        if input.append(HEADER_BYTES as usize, &mut bytes)? < HEADER_BYTES as usize {
            let why = match bytes.len() {
                0 => format!("the file is empty; it begins with a header of {HEADER_BYTES} bytes"),
                _ => format!("the file ends within its header of {HEADER_BYTES} bytes"),
            };
            return Err(input.malformed(At::Byte(input.at()), why));
        }
        let number = |at: usize| {
            let bytes = bytes[at..at + 8].try_into().expect("eight bytes");
            u64::from_le_bytes(bytes)
        };
        let header = Self {
            directed: bytes[0] == 1,
            arcs: number(1),
            vertices: number(9),
        };
        if bytes[0] > 1 {
            let why = format!("{} says whether edges have a direction: 0 or 1", bytes[0]);
            return Err(input.malformed(At::Byte(0), why));
        }
        if header.arcs > MAX_ARCS {
            let why = format!("{} arcs; at most {MAX_ARCS} are read", header.arcs);
            return Err(input.malformed(At::Byte(1), why));
        }
        if header.vertices > MAX_VERTICES {
            let why = format!(
                "{} vertices; at most {MAX_VERTICES} are read",
                header.vertices
            );
            return Err(input.malformed(At::Byte(9), why));
        }
        header.held_against_size(input)?;
        Ok(header)
    }

    /// Bytes of a file with this header.
    fn file_bytes(&self) -> u64 {
        let directions = if self.directed { 2 } else { 1 };
        HEADER_BYTES + directions * (8 * (self.vertices + 1) + 4 * self.arcs)
    }

    /// Without decompression the file's size is known before anything is allocated.
    fn held_against_size(&self, input: &Input) -> Result<(), GraphError> {
        let expected = self.file_bytes();
        match input.plain_bytes {
            Some(bytes) if bytes != expected => {
                let why = format!(
                    "{} vertices and {} arcs make {expected} bytes, and the file has {bytes}",
                    self.vertices, self.arcs
                );
                Err(input.malformed(At::Byte(1), why))
            }
            _ => Ok(()),
        }
    }
}

/// Reads `count` little-endian words of `N` bytes.
fn words<const N: usize, T>(
    input: &mut Input,
    count: u64,
    word: impl Fn([u8; N]) -> T,
) -> Result<Vec<T>, GraphError> {
    let mut left = count * N as u64;
    // What is claimed is believed block by block: a compressed file's size is not known.
    let mut words = Vec::with_capacity(count.min(BLOCK_BYTES) as usize);
    let mut block = Vec::with_capacity(BLOCK_BYTES as usize);
    while left > 0 {
        block.clear();
        let wanted = left.min(BLOCK_BYTES);
        if input.append(wanted as usize, &mut block)? < wanted as usize {
            let why = format!("the file ends, and {left} bytes are missing: it is cut short");
            return Err(input.malformed(At::Byte(input.at()), why));
        }
        let (exact, _) = block.as_chunks::<N>();
        words.extend(exact.iter().map(|&bytes| word(bytes)));
        left -= wanted;
    }
    Ok(words)
}

/// Reads offsets and targets of one direction.
fn rows(input: &mut Input, header: &Header) -> Result<Adjacency, GraphError> {
    let at = input.at();
    let offsets = words(input, header.vertices + 1, u64::from_le_bytes)?;
    let malformed = |input: &Input, index: usize, why: String| {
        input.malformed(At::Byte(at + 8 * index as u64), why)
    };
    if offsets[0] != 0 {
        return Err(malformed(
            input,
            0,
            format!("offset {}: the first is 0", offsets[0]),
        ));
    }
    if let Some(index) = offsets.windows(2).position(|pair| pair[0] > pair[1]) {
        let why = format!("offset {} after {}", offsets[index + 1], offsets[index]);
        return Err(malformed(input, index + 1, why));
    }
    let last = offsets.len() - 1;
    if offsets[last] != header.arcs {
        let why = format!(
            "the last offset is {}, and there are {} arcs",
            offsets[last], header.arcs
        );
        return Err(malformed(input, last, why));
    }
    let at = input.at();
    let targets = words(input, header.arcs, u32::from_le_bytes)?;
    let rows = Adjacency::from_parts(offsets, targets);
    match misplaced(&rows) {
        None => Ok(rows),
        Some((index, why)) => Err(input.malformed(At::Byte(at + 4 * index), why)),
    }
}

/// The first target that is out of order, absent, or its own source.
fn misplaced(rows: &Adjacency) -> Option<(u64, String)> {
    let vertices = rows.vertices();
    for (vertex, row) in rows.rows().enumerate() {
        let at = |index: usize| rows.offsets()[vertex] + index as u64;
        if let Some(index) = row.windows(2).position(|pair| pair[0] >= pair[1]) {
            let why = format!(
                "vertex {vertex} lists {} after {}: rows are sorted, each neighbour stands once",
                row[index + 1],
                row[index]
            );
            return Some((at(index + 1), why));
        }
        if let Some(&largest) = row.last().filter(|&&largest| largest as usize >= vertices) {
            let why = format!("vertex {vertex} lists {largest}, and there are {vertices} vertices");
            return Some((at(row.len() - 1), why));
        }
        if let Ok(index) = row.binary_search(&(vertex as u32)) {
            return Some((at(index), format!("vertex {vertex} lists itself")));
        }
    }
    None
}

pub(crate) fn read(mut input: Input, how: &Load) -> Result<Csr, GraphError> {
    let header = Header::read(&mut input)?;
    let outgoing = rows(&mut input, &header)?;
    let incoming = if header.directed {
        Some(rows(&mut input, &header)?)
    } else {
        None
    };
    if input.append(1, &mut Vec::new())? > 0 {
        let why = format!(
            "more than the {} bytes that the header says",
            header.file_bytes()
        );
        return Err(input.malformed(At::Byte(header.file_bytes()), why));
    }
    let back = incoming.as_ref().unwrap_or(&outgoing);
    if let Some((from, to)) = unanswered(&outgoing, back, how.threads) {
        let at = At::Byte(HEADER_BYTES);
        let why = if header.directed {
            format!("the edge from {from} to {to} stands in one direction's rows alone")
        } else {
            format!(
                "vertex {from} lists {to}, which does not list {from}, and no edge has a direction"
            )
        };
        return Err(input.malformed(at, why));
    }
    match incoming {
        None => Ok(Csr::undirected(outgoing)),
        Some(incoming) if how.directed => Ok(Csr::of_both(outgoing, incoming)),
        Some(incoming) => Csr::of_both(outgoing, incoming).without_direction(how),
    }
}

/// What the header alone says.
pub(crate) fn shape(mut input: Input, directed: bool) -> Result<Shape, GraphError> {
    let header = Header::read(&mut input)?;
    let doubled = header.directed && !directed;
    Ok(Shape {
        vertices: header.vertices,
        arcs: header.arcs * if doubled { 2 } else { 1 },
        directed,
    })
}
