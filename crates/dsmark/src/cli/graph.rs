//! What can be typed after `dsmark graph`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(crate) enum Graph {
    /// Make a graph from a seed: the same graph for the same seed, whatever the threads
    #[command(
        after_help = "Example:\n  dsmark graph generate kron --scale 18 --out kron18.sg\n\n\
        The suffix decides the format: .el .wel .mtx .gr .graph .sg, each also with .gz."
    )]
    Generate(Generate),
    /// Write a graph in another format
    #[command(
        after_help = "Example:\n  dsmark graph convert roads.gr.gz roads.sg\n\n\
        The suffixes decide the formats: .el .wel .mtx .gr .graph .sg, each also with .gz. \
        Weights, self loops and doubled edges are dropped."
    )]
    Convert(Convert),
    /// Vertices, edges, degrees and components of a graph
    #[command(after_help = "Example:\n  dsmark graph info kron18.sg --json\n  \
        dsmark graph info kron:16")]
    Info(Info),
}

/// How edges that a format gives no direction are taken.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Direction {
    /// Keep every edge in its direction; by default a graph whose edges all go both ways is
    /// undirected
    #[arg(long, conflicts_with = "undirected")]
    pub(crate) directed: bool,
    /// Let every edge go both ways
    #[arg(long)]
    pub(crate) undirected: bool,
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Work {
    /// Threads; by default every CPU that there is
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// No progress on standard error
    #[arg(long)]
    pub(crate) quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Model {
    /// Graph500's Kronecker graph: degrees follow a power law
    Kron,
    /// Both ends of an edge uniformly
    Uniform,
}

#[derive(Debug, Args)]
pub(crate) struct Generate {
    /// Which kind
    #[arg(value_enum)]
    pub(crate) model: Model,
    /// Binary logarithm of the number of vertices, 0 to 30
    #[arg(long, value_name = "N")]
    pub(crate) scale: u32,
    /// Edges drawn a vertex, before doubled ones and self loops are dropped
    #[arg(long, value_name = "N", default_value_t = graph::DEGREE)]
    pub(crate) degree: u32,
    /// Where the random numbers start
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Keep the direction in which each edge was drawn
    #[arg(long)]
    pub(crate) directed: bool,
    /// The file
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) work: Work,
}

#[derive(Debug, Args)]
pub(crate) struct Convert {
    /// The graph: a file, kron:SCALE or uniform:SCALE
    #[arg(value_name = "FROM")]
    pub(crate) from: String,
    /// The file to write; one that is there is replaced, once the new one is whole
    #[arg(value_name = "TO")]
    pub(crate) to: PathBuf,
    #[command(flatten)]
    pub(crate) direction: Direction,
    #[command(flatten)]
    pub(crate) work: Work,
}

#[derive(Debug, Args)]
pub(crate) struct Info {
    /// The graph: a file, kron:SCALE or uniform:SCALE
    #[arg(value_name = "GRAPH")]
    pub(crate) graph: String,
    #[command(flatten)]
    pub(crate) direction: Direction,
    #[command(flatten)]
    pub(crate) work: Work,
}
