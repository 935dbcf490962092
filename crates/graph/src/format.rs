//! Which format a file has: its suffix says.

use std::path::Path;

use crate::error::GraphError;

/// A format of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `.el`: `source target` a line, from 0.
    EdgeList,
    /// `.wel`: `source target weight` a line, from 0.
    WeightedEdgeList,
    /// `.mtx`: Matrix Market, coordinates.
    MatrixMarket,
    /// `.gr`: the shortest-path format of the ninth DIMACS challenge.
    Dimacs,
    /// `.graph`: METIS, the neighbours of a vertex a line.
    Metis,
    /// `.sg`: rows as GAPBS holds them in memory.
    Serialized,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 6] = [
        Self::EdgeList,
        Self::WeightedEdgeList,
        Self::MatrixMarket,
        Self::Dimacs,
        Self::Metis,
        Self::Serialized,
    ];

    /// Its suffix, without the dot.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::EdgeList => "el",
            Self::WeightedEdgeList => "wel",
            Self::MatrixMarket => "mtx",
            Self::Dimacs => "gr",
            Self::Metis => "graph",
            Self::Serialized => "sg",
        }
    }

    /// The format of `path`, and whether it is compressed: a `.gz` behind the suffix.
    ///
    /// # Errors
    /// The suffix is none of them, with the nearest that is.
    pub fn of(path: &Path) -> Result<(Self, bool), GraphError> {
        let suffix = |path: &Path| path.extension()?.to_str().map(str::to_owned);
        let last = suffix(path).unwrap_or_default();
        let gzip = last == "gz";
        let suffix = if gzip {
            path.file_stem().and_then(|stem| suffix(Path::new(stem)))
        } else {
            Some(last)
        };
        let suffix = suffix.unwrap_or_default();
        let known = Self::ALL.into_iter().find(|it| it.suffix() == suffix);
        known.map(|format| (format, gzip)).ok_or_else(|| {
            let names = || Self::ALL.iter().map(|format| format.suffix());
            let list: Vec<_> = names().map(|name| format!(".{name}")).collect();
            GraphError::Suffix {
                path: path.to_owned(),
                near: fabric::nearest(&suffix, names()).map(|near| format!(".{near}")),
                known: list.join(" "),
            }
        })
    }

    /// Whether a file says how many vertices there are, those without edges included.
    pub fn names_vertices(self) -> bool {
        !matches!(self, Self::EdgeList | Self::WeightedEdgeList)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suffix_says() {
        let of = |path: &str| Format::of(Path::new(path));
        assert_eq!(of("a/b.el").unwrap(), (Format::EdgeList, false));
        assert_eq!(of("a.b.mtx.gz").unwrap(), (Format::MatrixMarket, true));
        assert_eq!(of("x.graph").unwrap(), (Format::Metis, false));
        for wrong in ["x", "x.gz", "gz", ".el.d", "x.wsg"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
        let error = of("x.grph").unwrap_err().to_string();
        assert!(error.contains("did you mean `.graph`?"), "{error}");
    }
}
