//! A graph in a few lines, or as one JSON object.

use std::fmt::Write;

use graph::{Csr, Degrees, GraphSource, components};
use serde_json::{Value, json};

/// What `dsmark graph info` prints.
pub(crate) fn describe(source: &GraphSource, graph: &Csr, as_json: bool) -> String {
    let outgoing = Degrees::of(graph.outgoing());
    let incoming = graph.is_directed().then(|| Degrees::of(graph.incoming()));
    let components = components(graph);
    let largest = components.first().copied().unwrap_or(0);
    if as_json {
        let object = json!({
            "graph": source, "vertices": graph.vertices(), "edges": graph.edges(),
            "arcs": graph.arcs(), "directed": graph.is_directed(),
            "degree": object(&outgoing), "in_degree": incoming.as_ref().map(object),
            "components": components.len(), "largest_component": largest,
        });
        return format!("{object}\n");
    }
    let mut text = String::new();
    let kind = if graph.is_directed() {
        "directed"
    } else {
        "undirected"
    };
    let _ = writeln!(text, "{source}");
    let _ = writeln!(text, "vertices    {}", graph.vertices());
    let _ = writeln!(text, "edges       {}, {kind}", graph.edges());
    let _ = writeln!(
        text,
        "components  {}; the largest has {largest} vertices",
        components.len()
    );
    match &incoming {
        None => table(&mut text, "degree", &outgoing),
        Some(incoming) => {
            table(&mut text, "edges out", &outgoing);
            table(&mut text, "edges in", incoming);
        }
    }
    text
}

fn object(degrees: &Degrees) -> Value {
    let histogram = degrees.histogram.iter();
    let histogram: Vec<_> = histogram
        .map(|bin| json!({"from": bin.from, "to": bin.to, "vertices": bin.vertices}))
        .collect();
    json!({
        "min": degrees.min, "p50": degrees.p50, "p90": degrees.p90, "p99": degrees.p99,
        "max": degrees.max, "mean": degrees.mean, "histogram": histogram,
    })
}

fn table(text: &mut String, name: &str, degrees: &Degrees) {
    let Degrees {
        min,
        p50,
        p90,
        p99,
        max,
        mean,
        ..
    } = degrees;
    let mean = mean.map_or("-".into(), |mean| format!("{mean:.2}"));
    let _ = writeln!(
        text,
        "{name:<10}  min {min}, p50 {p50}, p90 {p90}, p99 {p99}, max {max}, mean {mean}"
    );
    for bin in &degrees.histogram {
        let range = if bin.from == bin.to {
            bin.from.to_string()
        } else {
            format!("{} .. {}", bin.from, bin.to)
        };
        let _ = writeln!(text, "  {range:>20}  {:>12} vertices", bin.vertices);
    }
}
