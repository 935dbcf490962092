//! `dsmark graph`: graphs made, converted and described.

mod describe;
mod watch;

use std::io::{ErrorKind, Write, stderr};
use std::path::Path;
use std::sync::Arc;

use graph::{Csr, Format, Generator, GraphError, GraphSource, Load, Model, Progress, write};

use crate::cli::graph::{Convert, Direction, Generate, Graph, Info, Model as Named, Work};
use crate::cmd::graph::describe::describe;
use crate::cmd::graph::watch::watched;
use crate::failure::Failure;
use crate::out::print;

/// Each thread holds a chunk of the file, and has a stack; more than there are CPUs are of no use.
const MOST_THREADS: usize = 1024;

pub(crate) fn graph(args: &Graph) -> Result<(), Failure> {
    match args {
        Graph::Generate(args) => generate(args),
        Graph::Convert(args) => convert(args),
        Graph::Info(args) => info(args),
    }
}

fn generate(args: &Generate) -> Result<(), Failure> {
    let generator = Generator {
        model: match args.model {
            Named::Kron => Model::Kronecker,
            Named::Uniform => Model::Uniform,
        },
        scale: args.scale,
        degree: args.degree,
        seed: args.seed,
    };
    generator.check()?;
    check_output(&args.out)?;
    let threads = threads(args.work)?;
    let made = watched(args.work.quiet, |progress| {
        let graph = generator.generate(args.directed, threads, progress)?;
        keep(&graph, &args.out, progress)?;
        Ok(graph)
    });
    told(&args.out, &made.map_err(failure)?, args.work)
}

fn convert(args: &Convert) -> Result<(), Failure> {
    check_output(&args.to)?;
    let (source, threads) = (source(&args.from)?, threads(args.work)?);
    let converted = watched(args.work.quiet, |progress| {
        let graph = load(&source, args.direction, threads, progress)?;
        keep(&graph, &args.to, progress)?;
        Ok(graph)
    });
    let graph = converted.map_err(|error| missing(&source, error))?;
    told(&args.to, &graph, args.work)
}

fn info(args: &Info) -> Result<(), Failure> {
    let (source, threads) = (source(&args.graph)?, threads(args.work)?);
    let loaded = watched(args.work.quiet, |progress| {
        load(&source, args.direction, threads, progress)
    });
    let graph = loaded.map_err(|error| missing(&source, error))?;
    print(&describe(&source, &graph, args.work.json))
}

/// A path that cannot be written is found out before the work, not after it.
fn check_output(path: &Path) -> Result<(), Failure> {
    if path.is_dir() {
        return Err(Failure::usage(format!(
            "{}: is a directory; name the file in it, as {}",
            path.display(),
            path.join("graph.sg").display()
        )));
    }
    Format::of(path)?;
    Ok(())
}

fn threads(work: Work) -> Result<usize, Failure> {
    match work.threads {
        Some(threads @ 1..=MOST_THREADS) => Ok(threads),
        Some(threads) => Err(Failure::usage(format!(
            "--threads {threads}: use 1 to {MOST_THREADS}; each holds a part of the file, and more \
             than there are CPUs do not make it faster"
        ))),
        None => Ok(std::thread::available_parallelism().map_or(1, usize::from)),
    }
}

/// What is no `kind:value` is a path.
fn source(given: &str) -> Result<GraphSource, Failure> {
    let is_file = Path::new(given).exists() || !given.contains(':');
    if is_file {
        return Ok(GraphSource::File { path: given.into() });
    }
    Ok(given.parse()?)
}

fn load(
    source: &GraphSource,
    direction: Direction,
    threads: usize,
    progress: &Arc<Progress>,
) -> Result<Csr, GraphError> {
    // Generated graphs are undirected unless it is asked for: so are Graph500's and GAPBS'.
    let is_file = matches!(source, GraphSource::File { .. });
    let graph = source.load(&Load {
        directed: direction.directed || (is_file && !direction.undirected),
        threads,
        progress: progress.clone(),
        ..Load::default()
    })?;
    Ok(if direction.directed {
        graph
    } else {
        graph.settled()
    })
}

/// Writes a graph, and says so if the format loses vertices.
fn keep(graph: &Csr, path: &Path, progress: &Progress) -> Result<(), GraphError> {
    write(graph, path, progress)?;
    let (format, _) = Format::of(path)?;
    let has_edge =
        |&vertex: &u32| !(graph.neighbours(vertex).is_empty() && graph.sources(vertex).is_empty());
    let last = (0..graph.vertices() as u32).rev().find(has_edge);
    let named = last.map_or(0, |last| last as usize + 1);
    if !format.names_vertices() && named < graph.vertices() {
        // Where standard error is closed nobody reads it.
        let _ = writeln!(
            stderr(),
            "dsmark: {}: .{} names no number of vertices, and the last {} of {} have no edge: they \
             are lost; .sg, .mtx, .gr and .graph keep them",
            path.display(),
            format.suffix(),
            graph.vertices() - named,
            graph.vertices()
        );
    }
    Ok(())
}

fn told(path: &Path, graph: &Csr, work: Work) -> Result<(), Failure> {
    let (vertices, edges) = (graph.vertices(), graph.edges());
    if work.json {
        let object = serde_json::json!({
            "file": path, "vertices": vertices, "edges": edges, "arcs": graph.arcs(),
            "directed": graph.is_directed(),
        });
        return print(&format!("{object}\n"));
    }
    let kind = if graph.is_directed() {
        "directed"
    } else {
        "undirected"
    };
    print(&format!(
        "{}: {vertices} vertices, {edges} {kind} edges\n",
        path.display()
    ))
}

/// What was asked for cannot be done, or was begun and not finished.
fn failure(error: GraphError) -> Failure {
    match error {
        GraphError::Write { .. } | GraphError::Interrupted | GraphError::Panicked { .. } => {
            Failure::after(error)
        }
        _ => error.into(),
    }
}

/// For a file that is not there, the nearest that is.
fn missing(source: &GraphSource, error: GraphError) -> Failure {
    let (GraphSource::File { path }, GraphError::Read { why, .. }) = (source, &error) else {
        return failure(error);
    };
    if why.kind() != ErrorKind::NotFound {
        return failure(error);
    }
    let directory = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let entries = std::fs::read_dir(directory.unwrap_or(Path::new(".")));
    let names = entries.into_iter().flatten().flatten();
    let names: Vec<_> = names
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    let wanted = path.file_name().unwrap_or_default().to_string_lossy();
    let near = fabric::nearest(&wanted, names.iter().map(String::as_str));
    Failure::usage(format!("{error}{}", fabric::suggestion(near.as_deref())))
}
