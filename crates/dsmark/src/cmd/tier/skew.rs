//! `dsmark tier skew`: what sampling alone makes of a huge page's skewness.

use std::path::Path;

use serde_json::{Map, json};
use tiering::policy::memtis::histogram::Skew;
use tiering::random::Random;
use tiering::truth::sampled_skew;

use super::rows::Metric;
use super::session::{Session, Shown};
use crate::failure::Failure;

/// Samples a base page and cooling: that of 65 GB applications is 0.12, of 12 GB ones 0.65.
const DENSITIES: [f64; 6] = [0.06, 0.12, 0.25, 0.65, 2.0, 8.0];

/// Subpages that are touched, all alike: the whole page, a tenth, a twentieth.
const ACTIVE: [u32; 3] = [512, 51, 26];

/// Huge pages of each kind.
const PAGES: usize = 400;

pub(super) fn skew(out: Option<&Path>, json: bool) -> Result<(), Failure> {
    let shown = Shown {
        out: out.map(Path::to_path_buf),
        json,
        quiet: true,
        lines: true,
    };
    let conditions = ACTIVE.len() * DENSITIES.len();
    let mut session = Session::open(shown, conditions, conditions)?;
    let mut random = Random::new(1, 0);
    for active in ACTIVE {
        for density in DENSITIES {
            let mut params = Map::new();
            params.insert("active_subpages".into(), json!(active));
            params.insert("samples_per_page".into(), json!(density));
            let skews: Vec<Skew> = (0..PAGES)
                .map(|_| sampled_skew(density, active, &mut random))
                .collect();
            let metric = |name, unit, of: fn(&Skew) -> f64| {
                Metric::of(name, unit, Ok(skews.iter().map(of).collect()))
            };
            let metrics = vec![
                metric("touched_subpages", "subpages", |skew| f64::from(skew.hot)),
                metric("skew_bucket", "bucket", |skew| skew.bucket as f64),
            ];
            session.add("tier-skew", &params, &metrics, false)?;
        }
    }
    session.close()
}
