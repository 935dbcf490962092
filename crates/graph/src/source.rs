//! Which graph: the value of the parameter `graph`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::csr::Csr;
use crate::error::GraphError;
use crate::generate::{DEGREE, Generator, Model};
use crate::input;
use crate::load::{self, Load};

/// A graph by name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum GraphSource {
    /// `kron:SCALE`: Graph500's generator, 2^SCALE vertices, 16 edges a vertex.
    Kronecker {
        /// Binary logarithm of the number of vertices.
        scale: u32,
    },
    /// `uniform:SCALE`: as many, uniformly.
    Uniform {
        /// Binary logarithm of the number of vertices.
        scale: u32,
    },
    /// `file:PATH`: whatever its suffix says.
    File {
        /// On each host.
        path: PathBuf,
    },
}

/// How much room a graph takes: what a layout must know before the graph is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Vertices, exactly.
    pub vertices: u64,
    /// Stored arcs of one direction, at most.
    pub arcs: u64,
    /// Whether edges have a direction: then the rows are stored twice, by source and by target.
    pub directed: bool,
}

impl GraphSource {
    /// Reads or makes the graph; a file is always read as a whole.
    ///
    /// # Errors
    /// What is wrong with the file or the scale, or somebody stopped it.
    pub fn load(&self, how: &Load) -> Result<Csr, GraphError> {
        match self {
            Self::File { path } => input::read(path, how),
            Self::Kronecker { scale } => generate(Model::Kronecker, *scale, how),
            Self::Uniform { scale } => generate(Model::Uniform, *scale, how),
        }
    }

    /// How much room it takes. A generated graph's bound is what is drawn, an `.sg`'s stands in its
    /// header; other files are read for it, once a process, and kept for who loads them next.
    ///
    /// It also starts the thread that [`loaded`](crate::loaded) loads with: called where a workload
    /// lays out, it starts it on CPUs that no lane has been pinned to yet.
    ///
    /// # Errors
    /// As for [`load`](Self::load).
    pub fn shape(&self, directed: bool) -> Result<Shape, GraphError> {
        load::start();
        let (model, scale) = match self {
            Self::File { path } => return input::shape(path, directed),
            Self::Kronecker { scale } => (Model::Kronecker, *scale),
            Self::Uniform { scale } => (Model::Uniform, *scale),
        };
        let generator = generator(model, scale, 0);
        generator.check()?;
        Ok(Shape {
            vertices: generator.vertices(),
            arcs: generator.drawn() * if directed { 1 } else { 2 },
            directed,
        })
    }

    /// For a workload's `check`: that the graph can be had, here and now, and is not empty; how much
    /// room it takes. A generated one's scale,
    /// an `.sg`'s header; other files are read, and kept for who loads them next.
    ///
    /// # Errors
    /// As for [`load`](Self::load), as the sentence that `check` returns.
    pub fn check(&self, directed: bool) -> Result<Shape, String> {
        let shape = self.shape(directed).map_err(|error| error.to_string())?;
        if shape.vertices == 0 {
            return Err(format!(
                "{self} has no vertices, so that there is nothing to compute; choose another graph"
            ));
        }
        Ok(shape)
    }

    /// Whether a seed changes it.
    pub(crate) fn is_random(&self) -> bool {
        !matches!(self, Self::File { .. })
    }
}

fn generator(model: Model, scale: u32, seed: u64) -> Generator {
    Generator {
        model,
        scale,
        degree: DEGREE,
        seed,
    }
}

fn generate(model: Model, scale: u32, how: &Load) -> Result<Csr, GraphError> {
    let generator = generator(model, scale, how.seed);
    generator.check()?;
    let vertices = generator.vertices() as usize;
    let rows = how.share.map_or(0..vertices, |share| share.rows(vertices));
    generator.generate_rows(how.directed, &rows, how.threads, &how.progress)
}

impl fmt::Display for GraphSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kronecker { scale } => write!(f, "kron:{scale}"),
            Self::Uniform { scale } => write!(f, "uniform:{scale}"),
            Self::File { path } => write!(f, "file:{}", path.display()),
        }
    }
}

impl FromStr for GraphSource {
    type Err = GraphError;

    fn from_str(given: &str) -> Result<Self, GraphError> {
        let unknown = |near| GraphError::Source {
            given: given.to_owned(),
            near,
        };
        let (kind, value) = given.split_once(':').ok_or_else(|| unknown(None))?;
        let scale = || value.parse::<u32>().map_err(|_| unknown(None));
        match kind {
            "kron" => Ok(Self::Kronecker { scale: scale()? }),
            "uniform" => Ok(Self::Uniform { scale: scale()? }),
            "file" if !value.is_empty() => Ok(Self::File { path: value.into() }),
            _ => {
                let near = fabric::nearest(kind, ["kron", "uniform", "file"].into_iter());
                Err(unknown(near.map(|near| format!("{near}:{value}"))))
            }
        }
    }
}

impl TryFrom<String> for GraphSource {
    type Error = GraphError;

    fn try_from(given: String) -> Result<Self, GraphError> {
        given.parse()
    }
}

impl From<GraphSource> for String {
    fn from(source: GraphSource) -> Self {
        source.to_string()
    }
}

/// What a load brought.
pub type Loaded = Result<Arc<Csr>, GraphError>;
