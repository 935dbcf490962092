use check::{Budget, survey};
fn main() {
    let want: Vec<String> = std::env::args().skip(1).collect();
    for subject in subjects::all() {
        let name = subject.name();
        if !want.is_empty() && !want.iter().any(|w| name == *w) {
            continue;
        }
        let start = std::time::Instant::now();
        let s = survey(
            &*subject,
            Budget {
                states: 300_000,
                ..Budget::default()
            },
        );
        let t = start.elapsed();
        let r = &s.record;
        println!(
            "{name} {:?} {:?} states {} steps {} {t:?} omissions {:?} weak {:?}",
            r.verdict, r.bounds, r.states, r.steps, r.omissions, r.weakenings
        );
        if let Some(f) = &r.finding {
            println!("{f}");
        }
        for t in s.omissions.iter().chain(&s.weakenings) {
            if !matches!(t.fate, check::Fate::Caught(_)) {
                println!("   {} {:?} {:?}", t.site, t.weaker, t.fate);
            }
        }
    }
}
