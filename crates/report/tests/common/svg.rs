//! Figures as files: their texts, none of which may leave the figure or cover another.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use record::Results;
use report::{figures, text_width};

/// A text of a file and the box it takes.
#[derive(Debug)]
pub(crate) struct Placed {
    pub(crate) x: i32,
    pub(crate) y: i32,
    pub(crate) size: i32,
    pub(crate) text: String,
}

impl Placed {
    /// From below one `<text` to the next.
    pub(crate) fn parse(element: &str) -> Self {
        let (head, rest) = element.split_once('>').unwrap();
        let attribute = |name: &str| {
            let (_, value) = head.split_once(&format!(" {name}=\"")).unwrap();
            value.split_once('"').unwrap().0
        };
        assert_eq!(attribute("font-family"), "sans-serif");
        assert_eq!(attribute("text-anchor"), "start");
        let text = rest.split_once("</text>").unwrap().0.trim();
        Self {
            x: attribute("x").parse().unwrap(),
            y: attribute("y").parse().unwrap(),
            size: attribute("font-size").parse::<f64>().unwrap().round() as i32,
            text: text
                .replace("&lt;", "<")
                .replace("&gt;", ">")
                .replace("&amp;", "&"),
        }
    }

    pub(crate) fn right(&self) -> i32 {
        self.x + text_width(&self.text, self.size)
    }

    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let apart = self.right() <= other.x
            || other.right() <= self.x
            || self.y + self.size <= other.y
            || other.y + other.size <= self.y;
        !apart
    }
}

pub(crate) fn texts(svg: &str) -> Vec<Placed> {
    svg.split("<text").skip(1).map(Placed::parse).collect()
}

/// Draws the results and returns each figure's texts, checked.
pub(crate) fn draw_all(name: &str, results: &Results) -> BTreeMap<String, Vec<Placed>> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let files = figures(results, &directory).unwrap();
    let named = files.iter().map(|file| {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        (name, checked(&fs::read_to_string(file).unwrap()))
    });
    named.collect()
}

/// The texts of a figure, none of which leaves it or covers another.
pub(crate) fn checked(svg: &str) -> Vec<Placed> {
    let size = |name: &str| -> i32 {
        let (_, value) = svg.split_once(&format!("{name}=\"")).unwrap();
        value.split_once('"').unwrap().0.parse().unwrap()
    };
    let (width, height) = (size("width"), size("height"));
    let texts = texts(svg);
    for (index, text) in texts.iter().enumerate() {
        assert!(
            text.x >= 0 && text.right() <= width,
            "{text:?} leaves the figure's {width}"
        );
        assert!(
            text.y >= 0 && text.y + text.size <= height,
            "{text:?} leaves the {height}"
        );
        for other in &texts[..index] {
            assert!(!text.overlaps(other), "{text:?} covers {other:?}");
        }
    }
    texts
}

/// The texts in the order of drawing, as one: a paragraph's lines joined again.
pub(crate) fn joined(texts: &[Placed]) -> String {
    texts
        .iter()
        .map(|text| text.text.as_str())
        .collect::<Vec<_>>()
        .join(" ")
}

pub(crate) fn assert_says(texts: &[Placed], expected: &str) {
    let said = joined(texts);
    assert!(
        said.contains(expected),
        "\"{expected}\" is missing in: {said}"
    );
}
