//! What is checked: the files and packages of a repository, or made-up ones in a test.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, TargetKind};

use super::code::Code;

/// Directories of the root that hold what programs wrote, not people.
const GENERATED: [&str; 3] = ["target", "results", "figures"];

/// A text file.
#[derive(Clone, Debug)]
pub struct Source {
    /// Path from the root of the repository, with `/`.
    pub path: String,
    /// Its text.
    pub text: String,
}

impl Source {
    /// A file that need not exist.
    pub fn new(path: &str, text: &str) -> Self {
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    /// The crate that it belongs to: `fabric` for `crates/fabric/src/lib.rs`.
    pub fn crate_name(&self) -> Option<&str> {
        let mut parts = self.path.split('/');
        match parts.next()? {
            "crates" => parts.next(),
            "xtask" => Some("xtask"),
            _ => None,
        }
    }

    /// Whether it is part of a library or program, rather than of tests or benches.
    pub fn ships(&self) -> bool {
        self.path.contains("/src/") || self.path.ends_with("/build.rs")
    }

    /// Its tokens, if it is Rust.
    pub fn code(&self) -> Code {
        Code::lex(&self.text)
    }
}

/// A package of the workspace or one that it depends on.
#[derive(Clone, Debug, Default)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Whether it belongs to the workspace.
    pub member: bool,
    /// Its licence, an SPDX expression.
    pub licence: Option<String>,
    /// Where it comes from; `None` for a path.
    pub origin: Option<String>,
    /// Names of the packages that it needs to build and run; those of its tests are left out.
    pub needs: Vec<String>,
    /// Root files of its libraries and programs, from the root of the repository.
    pub roots: Vec<String>,
}

/// Everything that the checks look at.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// Rust sources.
    pub sources: Vec<Source>,
    /// Markdown documents.
    pub documents: Vec<Source>,
    /// Other text files: TOML, scripts.
    pub texts: Vec<Source>,
    /// Every file, for links.
    pub paths: Vec<String>,
    /// The packages of the workspace and all that they need.
    pub packages: Vec<Package>,
}

impl Tree {
    /// Reads the repository at `root`.
    ///
    /// # Errors
    /// If a file cannot be read, or `cargo metadata` fails.
    pub fn read(root: &Path) -> Result<Self> {
        let mut tree = Self::default();
        tree.walk(root, "")?;
        tree.paths.sort();
        tree.packages = packages(root)?;
        Ok(tree)
    }

    /// Members of the workspace.
    pub fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| package.member)
    }

    fn walk(&mut self, root: &Path, directory: &str) -> Result<()> {
        let absolute = root.join(directory);
        let context = || format!("cannot read {}", absolute.display());
        for entry in fs::read_dir(&absolute).with_context(context)? {
            let entry = entry.with_context(context)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = match directory {
                "" => name,
                _ => format!("{directory}/{name}"),
            };
            if path == ".git" || GENERATED.contains(&path.as_str()) {
                continue;
            }
            if entry.file_type().with_context(context)?.is_dir() {
                self.walk(root, &path)?;
            } else {
                self.add(root, path)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, root: &Path, path: String) -> Result<()> {
        self.paths.push(path.clone());
        let to = match Path::new(&path).extension().and_then(|it| it.to_str()) {
            Some("rs") => &mut self.sources,
            Some("md") => &mut self.documents,
            Some("toml" | "cff" | "sh") => &mut self.texts,
            _ if path.starts_with("scripts/") || path.starts_with(".ci/") => &mut self.texts,
            _ => return Ok(()),
        };
        let text = fs::read_to_string(root.join(&path))
            .with_context(|| format!("cannot read {path} as text"))?;
        to.push(Source { path, text });
        Ok(())
    }
}

fn packages(root: &Path) -> Result<Vec<Package>> {
    let platforms = ["x86_64", "aarch64"]
        .map(|machine| format!("--filter-platform={machine}-unknown-linux-gnu"));
    let metadata = MetadataCommand::new()
        .current_dir(root)
        .other_options(platforms.to_vec())
        .exec()
        .context("cannot run cargo metadata")?;
    let members: Vec<_> = metadata.workspace_members.clone();
    Ok(metadata
        .packages
        .iter()
        .map(|package| Package {
            name: package.name.to_string(),
            member: members.contains(&package.id),
            licence: package.license.clone(),
            origin: package.source.as_ref().map(ToString::to_string),
            needs: needs(package),
            roots: roots(package, &metadata),
        })
        .collect())
}

fn needs(package: &cargo_metadata::Package) -> Vec<String> {
    package
        .dependencies
        .iter()
        .filter(|needed| needed.kind != DependencyKind::Development)
        .map(|needed| needed.name.clone())
        .collect()
}

fn roots(package: &cargo_metadata::Package, metadata: &Metadata) -> Vec<String> {
    package
        .targets
        .iter()
        .filter(|target| {
            let kinds = [TargetKind::Lib, TargetKind::Bin, TargetKind::ProcMacro];
            target.kind.iter().any(|kind| kinds.contains(kind))
        })
        .filter_map(|target| target.src_path.strip_prefix(&metadata.workspace_root).ok())
        .map(ToString::to_string)
        .collect()
}
