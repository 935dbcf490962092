//! Who contends, who serves, who only keeps things going.

use fabric::{Arena, Coherence, HostAtomics, Pod, Port, Seat, Slice};
use serde::{Deserialize, Serialize};

/// Where contenders sit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spread {
    /// One lane of each host, then a second lane of each: contenders are hosts first.
    #[default]
    Hosts,
    /// All lanes of host 0, then those of host 1: contenders are lanes first.
    Lanes,
}

/// What a lane does in a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It contends; its number among those who do.
    Contender(u32),
    /// It serves the others.
    Server,
    /// It speaks for a host whose lanes may have to pass things on.
    Bystander,
    /// It has nothing to do.
    Idle,
}

/// The roles of all lanes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cast {
    pub pod: Pod,
    pub contenders: u32,
    pub spread: Spread,
    /// Whether the last lane of the last host serves.
    pub served: bool,
}

impl Cast {
    /// Refuses what there are no lanes for.
    pub(crate) fn check(&self) -> Result<(), String> {
        let lanes = self.pod.hosts * self.pod.lanes;
        let most = lanes - u32::from(self.served);
        if self.contenders == 0 || self.contenders > most {
            let server = if self.served {
                " (one lane serves)"
            } else {
                ""
            };
            return Err(format!(
                "contenders = {}: use 1 to {most}{server}, or give hosts more --lanes",
                self.contenders
            ));
        }
        Ok(())
    }

    pub(crate) fn role(&self, seat: Seat) -> Role {
        let number = match self.spread {
            Spread::Hosts => seat.lane * self.pod.hosts + seat.host,
            Spread::Lanes => self.lane(seat),
        };
        let last = self.pod.hosts * self.pod.lanes - 1;
        if number < self.contenders {
            Role::Contender(number)
        } else if self.served && number == last {
            Role::Server
        } else if seat.leads_host() {
            Role::Bystander
        } else {
            Role::Idle
        }
    }

    /// A lane's number, host by host: what crate `sync` calls its members.
    pub(crate) fn lane(&self, seat: Seat) -> u32 {
        seat.host * self.pod.lanes + seat.lane
    }

    /// How many hosts contend.
    pub(crate) fn contending_hosts(&self) -> u32 {
        match self.spread {
            Spread::Hosts => self.contenders.min(self.pod.hosts),
            Spread::Lanes => self.contenders.div_ceil(self.pod.lanes),
        }
    }

    /// Why atomic instructions would be wrong here, if they would.
    pub(crate) fn refuses_hardware<P: Port>(&self, port: &P) -> Option<String> {
        let wrong = self.contending_hosts() > 1 && port.coherence() == Coherence::Software;
        wrong.then(|| {
            "atomic instructions work within one host of this pod: set spread = lanes and at most \
             as many contenders as a host has lanes, or use a coherent pod"
                .to_owned()
        })
    }
}

/// Who is done with a repetition: a line each, so that servers know when to stop.
#[derive(Debug)]
pub(crate) struct Done {
    lines: Vec<Slice<u64>>,
}

impl Done {
    pub(crate) fn lay_out(arena: &mut Arena, name: &str, cast: &Cast) -> Self {
        Self {
            lines: arena.per_host(name, cast.contenders, 1),
        }
    }

    /// Says that `contender` has done `repetition`. Aside: it belongs to the experiment.
    pub(crate) fn say<P: HostAtomics>(&self, port: &P, contender: u32, repetition: u32) {
        port.aside(|port| {
            let done = u64::from(repetition) + 1;
            let line = self.lines[contender as usize];
            // A plain store: this lane may look at its own line as well.
            port.store(line.start(), done);
            // Serves the looks of servers and of contender 0.
            port.post(line.lines());
        });
    }

    /// Whether all contenders from `first` on are done with `repetition`.
    pub(crate) fn all<P: HostAtomics>(&self, port: &P, first: u32, repetition: u32) -> bool {
        port.aside(|port| {
            for line in &self.lines[first as usize..] {
                // Serves the load below, anew for each look.
                port.observe(line.lines());
                if port.load(line.start()) <= u64::from(repetition) {
                    return false;
                }
            }
            true
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(cast: &Cast) -> Vec<Role> {
        cast.pod.seats().map(|seat| cast.role(seat)).collect()
    }

    #[test]
    fn contenders_are_hosts_first_or_lanes_first() {
        use Role::{Bystander, Contender, Idle, Server};
        let mut cast = Cast {
            pod: Pod::new(2, 2),
            contenders: 2,
            spread: Spread::Hosts,
            served: true,
        };
        assert_eq!(roles(&cast), [Contender(0), Idle, Contender(1), Server]);
        assert_eq!(cast.contending_hosts(), 2);
        cast.spread = Spread::Lanes;
        assert_eq!(
            roles(&cast),
            [Contender(0), Contender(1), Bystander, Server]
        );
        assert_eq!(cast.contending_hosts(), 1);
    }

    #[test]
    fn a_server_takes_a_lane() {
        let cast = Cast {
            pod: Pod::new(2, 2),
            contenders: 4,
            spread: Spread::Hosts,
            served: true,
        };
        assert!(
            cast.check()
                .unwrap_err()
                .contains("use 1 to 3 (one lane serves)")
        );
        assert!(
            Cast {
                served: false,
                ..cast
            }
            .check()
            .is_ok()
        );
    }
}
