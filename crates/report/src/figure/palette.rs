//! Colours and markers that tell series apart, for the colour-blind and in print too.

use plotters::style::RGBColor;

use super::scene::{Point, Shape};

/// Text and whatever must be read first.
pub(super) const INK: RGBColor = RGBColor(34, 34, 34);
/// What explains; a contrast of 6 to 1 on white.
pub(super) const MUTED: RGBColor = RGBColor(95, 95, 95);
/// Lines that only guide the eye.
pub(super) const GRID: RGBColor = RGBColor(222, 222, 222);

/// Half the size of a marker.
pub(super) const MARKER: i32 = 5;

/// How a series is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    pub(super) color: RGBColor,
    pub(super) pale: RGBColor,
    form: Form,
}

impl Style {
    /// The same marker in its pale colour.
    pub(super) fn paled(self) -> Self {
        Self {
            color: self.pale,
            ..self
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Form {
    Dot,
    Diamond,
    Square,
    Triangle,
}

/// The style of a series by its place among all. Colours of Okabe and Ito ("Color Universal
/// Design", 2008), some darkened until text set in them is legible; the markers differ too, so
/// that eight series need no colour.
pub(super) fn style(index: usize) -> Style {
    let of = |color, pale, form| Style { color, pale, form };
    let blue = (RGBColor(0, 114, 178), RGBColor(140, 190, 220));
    let orange = (RGBColor(200, 85, 0), RGBColor(235, 185, 140));
    let green = (RGBColor(0, 130, 95), RGBColor(140, 205, 185));
    let purple = (RGBColor(160, 75, 125), RGBColor(220, 180, 205));
    let black = (RGBColor(60, 60, 60), RGBColor(180, 180, 180));
    match index % 8 {
        0 => of(blue.0, blue.1, Form::Dot),
        1 => of(orange.0, orange.1, Form::Diamond),
        2 => of(green.0, green.1, Form::Square),
        3 => of(purple.0, purple.1, Form::Triangle),
        4 => of(black.0, black.1, Form::Dot),
        5 => of(blue.0, blue.1, Form::Diamond),
        6 => of(orange.0, orange.1, Form::Square),
        _ => of(green.0, green.1, Form::Triangle),
    }
}

/// The style of one part of a whole, where parts touch and only colour tells them apart: seven
/// colours of Okabe and Ito, the last a grey for what is left.
pub(super) fn part(index: usize) -> Style {
    const COLORS: [RGBColor; 7] = [
        RGBColor(0, 114, 178),
        RGBColor(0, 158, 115),
        RGBColor(213, 94, 0),
        RGBColor(240, 200, 40),
        RGBColor(204, 121, 167),
        RGBColor(86, 180, 233),
        RGBColor(120, 120, 120),
    ];
    let color = COLORS[index % COLORS.len()];
    Style {
        color,
        pale: color,
        form: Form::Square,
    }
}

/// The marker of a series.
pub(super) fn marker(center: Point, style: Style) -> Shape {
    let (x, y) = center;
    let reach = MARKER + 1;
    let corners = match style.form {
        Form::Dot => {
            return Shape::Dot {
                center,
                radius: MARKER,
                color: style.color,
            };
        }
        Form::Diamond => vec![
            (x - reach, y),
            (x, y - reach),
            (x + reach, y),
            (x, y + reach),
        ],
        Form::Square => vec![
            (x - MARKER, y - MARKER),
            (x + MARKER, y - MARKER),
            (x + MARKER, y + MARKER),
            (x - MARKER, y + MARKER),
        ],
        Form::Triangle => vec![
            (x - reach, y + MARKER),
            (x, y - reach),
            (x + reach, y + MARKER),
        ],
    };
    Shape::Polygon {
        corners,
        color: style.color,
    }
}
