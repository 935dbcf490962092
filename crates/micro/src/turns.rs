//! Who measures while who waits.

use fabric::{Gone, HostAtomics, Pod, Seat};
use serde::{Deserialize, Serialize};
use workload::Worker;

/// Whether hosts measure one after the other or at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostsActive {
    /// Each alone, the others wait: what one host has.
    #[default]
    Each,
    /// All at once: what they have of a pool they share.
    All,
}

/// Refuses a number of lanes that the pod does not have.
pub(crate) fn check_lanes(pod: Pod, active_lanes: u32) -> Result<(), String> {
    if active_lanes == 0 || active_lanes > pod.lanes {
        return Err(format!(
            "active_lanes = {active_lanes}: use 1 to {}, or give hosts more --lanes",
            pod.lanes
        ));
    }
    Ok(())
}

/// Runs `f` on the first `active_lanes` lanes of each host, every lane of the pod in its own turn,
/// or all at once. Lanes wait for their turn and nothing else meanwhile.
pub(crate) fn lane_by_lane<P: HostAtomics, R>(
    worker: &Worker<'_, P>,
    active_lanes: u32,
    hosts: HostsActive,
    f: impl FnOnce() -> R,
) -> Result<Option<R>, Gone> {
    let me = worker.seat();
    let active = me.lane < active_lanes;
    if hosts == HostsActive::All {
        worker.line_up()?;
        return Ok(active.then(f));
    }
    let (mut f, mut brought) = (Some(f), None);
    for seat in turns(worker.pod(), active_lanes) {
        worker.line_up()?;
        if seat == me {
            brought = f.take().map(|f| f());
        }
    }
    Ok(brought)
}

/// Runs `f` on the first `active_lanes` lanes of a host together, host after host, or all at once.
pub(crate) fn host_by_host<P: HostAtomics, R>(
    worker: &Worker<'_, P>,
    active_lanes: u32,
    hosts: HostsActive,
    f: impl FnOnce() -> Result<R, Gone>,
) -> Result<Option<R>, Gone> {
    let me = worker.seat();
    let active = me.lane < active_lanes;
    if hosts == HostsActive::All {
        worker.line_up()?;
        return if active { f().map(Some) } else { Ok(None) };
    }
    let (mut f, mut brought) = (Some(f), None);
    for host in 0..worker.pod().hosts {
        worker.line_up()?;
        if host == me.host
            && active
            && let Some(f) = f.take()
        {
            brought = Some(f()?);
        }
    }
    Ok(brought)
}

/// The number of a seat's turn.
pub(crate) fn turn_of(seat: Seat, active_lanes: u32) -> u64 {
    u64::from(seat.host) * u64::from(active_lanes) + u64::from(seat.lane)
}

fn turns(pod: Pod, active_lanes: u32) -> impl Iterator<Item = Seat> {
    pod.seats().filter(move |seat| seat.lane < active_lanes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_numbered_in_the_order_in_which_they_are_taken() {
        for (number, seat) in turns(Pod::new(3, 4), 2).enumerate() {
            assert_eq!(turn_of(seat, 2), number as u64);
        }
        assert_eq!(turns(Pod::new(3, 4), 2).count(), 6);
    }

    #[test]
    fn lanes_that_do_not_exist_are_refused_with_the_number_that_do() {
        let refused = check_lanes(Pod::new(2, 2), 3).unwrap_err();
        assert!(refused.contains("use 1 to 2"), "{refused}");
        assert!(check_lanes(Pod::new(2, 2), 0).is_err());
        assert!(check_lanes(Pod::new(2, 2), 2).is_ok());
    }
}
