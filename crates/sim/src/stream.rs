//! The stream prefetcher of a lane: ascending lines, a fixed distance ahead.

use crate::timing::Time;

/// Streams followed at once, as in the L2 prefetchers of current cores (a small number; Intel
/// documents 32, and our lanes rarely read more than a few arrays).
const STREAMS: usize = 16;

/// Arrival times remembered; a power of two of at least the longest distance.
const FILLS: usize = 64;

/// Consecutive lines after which a stream is one.
const CONFIDENCE: u8 = 2;

#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    /// First line not yet asked for.
    frontier: u32,
    /// First line asked for that may still be on its way.
    landed: u32,
    seen: u8,
}

/// What one lane's prefetcher knows.
#[derive(Debug)]
#[repr(C, align(64))] // in few cache lines, as a lane
pub(crate) struct Streams {
    /// The line that would continue each stream: apart, so that one comparison of vectors finds it.
    next: [u32; STREAMS],
    distance: u32,
    last: u32,
    oldest: u8,
    /// Streams of one line so far, one bit each: nothing of theirs is in `followed` yet.
    new: u16,
    wanted: Option<(u32, u32)>,
    followed: [Stream; STREAMS],
    fills: [(u32, Time); FILLS],
}

impl Streams {
    pub(crate) fn new(distance: u32) -> Self {
        Self {
            distance: distance.min(FILLS as u32 - 1),
            next: [u32::MAX; STREAMS],
            last: u32::MAX,
            oldest: 0,
            new: 0,
            followed: [Stream::default(); STREAMS],
            fills: [(u32::MAX, 0); FILLS],
            wanted: None,
        }
    }

    /// The lane accessed a line that was not in its first level.
    #[inline(always)]
    pub(crate) fn access(&mut self, line: u32, now: Time) {
        // A line looked at again and again, as polls do, is no stream.
        if self.distance != 0 && self.last != line {
            self.last = line;
            self.follow(line, now);
        }
    }

    fn follow(&mut self, line: u32, now: Time) {
        // Four at a time, which become one comparison of vectors: mostly no stream goes on here.
        let (fours, _) = self.next.as_chunks::<4>();
        let in_four = |four: &[u32; 4]| four.map(|next| next == line) != [false; 4];
        let place = if fours.iter().any(in_four) {
            self.next.iter().rposition(|&next| next == line)
        } else {
            None
        };
        let Some(place) = place else {
            let place = usize::from(self.oldest) % STREAMS;
            self.next[place] = line + 1;
            self.new |= 1 << place;
            self.oldest = (self.oldest + 1) % STREAMS as u8;
            return;
        };
        self.next[place] = line + 1;
        let mut stream = self.followed[place];
        if self.new & (1 << place) != 0 {
            self.new &= !(1 << place);
            stream = Stream {
                frontier: line,
                landed: line,
                seen: 1,
            };
        }
        stream.seen = (stream.seen + 1).min(CONFIDENCE);
        stream.frontier = stream.frontier.max(line + 1);
        if stream.seen == CONFIDENCE {
            self.run_ahead(&mut stream, line, now);
        }
        self.followed[place] = stream;
    }

    /// Asks for what keeps a distance of lines in flight, and no line farther ahead of its reader.
    /// Some lines at a time: fewer looks at the device, and never much less in flight.
    fn run_ahead(&mut self, stream: &mut Stream, line: u32, now: Time) {
        let on_its_way = |line| self.arrival(line).is_some_and(|ready| ready > now);
        while stream.landed < stream.frontier && !on_its_way(stream.landed) {
            stream.landed += 1;
        }
        let end = stream.landed.min(line + 1) + self.distance;
        if stream.frontier + self.distance / 16 <= end {
            self.wanted = Some((stream.frontier, end));
            stream.frontier = end;
        }
    }

    /// Whether lines are to be fetched.
    #[inline(always)]
    pub(crate) fn wants(&self) -> bool {
        self.wanted.is_some()
    }

    /// The lines to fetch now, from the first up to the second.
    pub(crate) fn take_wanted(&mut self) -> Option<(u32, u32)> {
        self.wanted.take()
    }

    /// A fetched line will be here at `ready`.
    pub(crate) fn fill(&mut self, line: u32, ready: Time) {
        self.fills[line as usize % FILLS] = (line, ready);
    }

    /// When a line that was fetched ahead is here.
    pub(crate) fn arrival(&self, line: u32) -> Option<Time> {
        let (filled, ready) = self.fills[line as usize % FILLS];
        (filled == line).then_some(ready)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_consecutive_lines_are_a_stream() {
        let mut streams = Streams::new(32);
        streams.access(10, 0);
        assert_eq!(streams.take_wanted(), None);
        streams.access(11, 0);
        assert_eq!(streams.take_wanted(), Some((12, 44)));
        streams.access(12, 0);
        assert!(!streams.wants(), "one line at a time would be a look each");
        streams.access(13, 0);
        assert_eq!(streams.take_wanted(), Some((44, 46)));
        streams.access(500, 0);
        assert!(!streams.wants());
    }

    #[test]
    fn no_more_than_the_distance_is_in_flight() {
        let mut streams = Streams::new(32);
        streams.access(10, 0);
        streams.access(11, 0);
        let (from, to) = streams.take_wanted().expect("a stream");
        (from..to).for_each(|line| streams.fill(line, 100 + Time::from(line)));
        for line in 12..20 {
            streams.access(line, 50);
            assert!(!streams.wants(), "line {line}: all 32 are on their way");
        }
        streams.access(20, 115);
        assert_eq!(streams.take_wanted(), Some((44, 48)), "four have arrived");
    }
}
