use check::{Bounds, Options, Verdict};
fn main() {
    let want: Vec<String> = std::env::args().skip(1).collect();
    for subject in subjects::all() {
        let name = subject.name();
        if !want.is_empty() && !want.iter().any(|w| name.starts_with(w.as_str())) {
            continue;
        }
        subject.with(Options::default(), &mut |checker| {
            for bounds in [
                Bounds {
                    environment: Some(0),
                    states: 300_000,
                    ..Bounds::SATURATED
                },
                Bounds {
                    states: 300_000,
                    ..Bounds::default()
                },
                Bounds {
                    states: 1_000_000,
                    ..Bounds::SATURATED
                },
            ] {
                let start = std::time::Instant::now();
                let report = checker.check(bounds);
                let t = start.elapsed();
                println!(
                    "{name} {:?} {:?} states {} ends {} steps {} {:?} {:.2} M/s impure {:?}",
                    bounds.environment,
                    report.verdict,
                    report.states,
                    report.ends,
                    report.steps,
                    t,
                    report.steps as f64 / t.as_secs_f64() / 1e6,
                    checker.impure()
                );
                if let Some(f) = report.finding {
                    println!("{f}");
                    return;
                }
                if report.verdict == Verdict::Pass {
                    break;
                }
            }
        });
    }
}
