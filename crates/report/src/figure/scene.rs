//! What a figure is made of, before it is a file: shapes, and texts whose boxes are known.
//!
//! Texts are placed by their left upper corner with widths of our own ([`crate::text`]), so that a
//! layout can be tested for overlaps without a renderer.

use plotters::backend::SVGBackend;
use plotters::prelude::{DrawingBackend, IntoFont};
use plotters::style::{Color, FontFamily, RGBColor, ShapeStyle, TextStyle};

use super::FigureError;
use crate::text;

/// `plotters` divides a font's size by this before it writes it.
const PLOTTERS_FONT_RATIO: f64 = 1.24;

/// A point in pixels from the left upper corner.
pub(super) type Point = (i32, i32);

/// One thing that is drawn.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    Line {
        from: Point,
        to: Point,
        color: RGBColor,
        width: u32,
    },
    Dot {
        center: Point,
        radius: i32,
        color: RGBColor,
    },
    Polygon {
        corners: Vec<Point>,
        color: RGBColor,
    },
}

/// A line of text.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) at: Point,
    pub(super) size: i32,
    pub(super) color: RGBColor,
    pub(super) text: String,
}

/// A figure: its size, shapes in the order of drawing, then texts.
#[derive(Clone, Debug)]
pub(super) struct Scene {
    pub(super) title: String,
    pub(super) width: i32,
    pub(super) height: i32,
    pub(super) shapes: Vec<Shape>,
    pub(super) texts: Vec<Line>,
}

impl Scene {
    pub(super) fn new(title: &str, width: i32) -> Self {
        let (shapes, texts) = (Vec::new(), Vec::new());
        Self {
            title: title.to_owned(),
            width,
            height: 0,
            shapes,
            texts,
        }
    }

    pub(super) fn line(&mut self, from: Point, to: Point, color: RGBColor, width: u32) {
        self.shapes.push(Shape::Line {
            from,
            to,
            color,
            width,
        });
    }

    pub(super) fn text(&mut self, at: Point, size: i32, color: RGBColor, text: &str) {
        self.texts.push(Line {
            at,
            size,
            color,
            text: text.to_owned(),
        });
    }

    /// Sets a paragraph and returns the height it took.
    pub(super) fn paragraph(
        &mut self,
        at: Point,
        size: i32,
        color: RGBColor,
        limit: i32,
        text: &str,
    ) -> i32 {
        let lines = text::wrap(text, size, limit);
        for (index, line) in lines.iter().enumerate() {
            self.text((at.0, at.1 + index as i32 * pitch(size)), size, color, line);
        }
        lines.len() as i32 * pitch(size)
    }

    /// The file's content. The title is there for screen readers too.
    pub(super) fn to_svg(&self, name: &'static str) -> Result<String, FigureError> {
        let mut svg = String::new();
        self.draw(&mut svg)
            .map_err(|reason| FigureError::Draw { name, reason })?;
        let head = svg
            .find("<svg")
            .and_then(|start| Some(start + svg[start..].find('>')? + 1));
        if let Some(head) = head {
            svg.insert_str(head, &format!("\n<title>{}</title>", escape(&self.title)));
        }
        Ok(svg)
    }

    fn draw(&self, svg: &mut String) -> Result<(), String> {
        let size = (self.width as u32, self.height as u32);
        let mut backend = SVGBackend::with_string(svg, size);
        let paper = ShapeStyle::from(&RGBColor(255, 255, 255)).filled();
        backend
            .draw_rect((0, 0), (self.width, self.height), &paper, true)
            .map_err(|error| error.to_string())?;
        for shape in &self.shapes {
            draw_shape(&mut backend, shape)?;
        }
        for line in &self.texts {
            let font = (
                FontFamily::SansSerif,
                f64::from(line.size) * PLOTTERS_FONT_RATIO,
            );
            let style = TextStyle::from(font.into_font()).color(&line.color);
            backend
                .draw_text(&line.text, &style, line.at)
                .map_err(|error| error.to_string())?;
        }
        backend.present().map_err(|error| error.to_string())
    }
}

fn draw_shape<B: DrawingBackend>(backend: &mut B, shape: &Shape) -> Result<(), String> {
    let drawn = match shape {
        Shape::Line {
            from,
            to,
            color,
            width,
        } => backend.draw_line(*from, *to, &color.stroke_width(*width)),
        Shape::Dot {
            center,
            radius,
            color,
        } => backend.draw_circle(*center, *radius as u32, &color.filled(), true),
        Shape::Polygon { corners, color } => {
            backend.fill_polygon(corners.iter().copied(), &color.filled())
        }
    };
    drawn.map_err(|error| error.to_string())
}

/// From one line of a paragraph to the next.
pub(super) fn pitch(size: i32) -> i32 {
    (size * 14 + 9) / 10
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
