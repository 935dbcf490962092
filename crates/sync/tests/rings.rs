//! Rings, broadcasts and funnels on simulated pods: every message once, in order, whole. The story:
//! a published ring's reader dropped its stale lines behind a store fence, which orders no load,
//! and could take last lap's words for new ones (Tigon).

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{Dice, run, simulated};
use fabric::{Arena, Census, Count, HostAtomics, Program, Seat, Tapped};
use sync::ring::{Consumer, Funnel, Producer, Ring};

/// Word `word` of message `number` from `producer`.
fn word(producer: u32, number: u64, word: usize) -> u64 {
    (u64::from(producer) << 48) ^ (number << 16) ^ word as u64
}

fn message(producer: u32, number: u64, words: usize) -> Vec<u64> {
    (0..words)
        .map(|index| word(producer, number, index))
        .collect()
}

/// Host 0 sends, the others receive all of it.
struct Broadcast {
    ring: Ring,
    messages: u64,
    batch: usize,
    seed: u64,
}

impl Program for Broadcast {
    type Out = Census;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Census {
        let count = Count::default();
        let counted = Tapped::new(port, &count);
        let (words, mut dice) = (self.ring.message_words(), Dice::new(self.seed, seat));
        let mut producer = Producer::new(&self.ring, 0);
        let mut consumer = Consumer::new(&self.ring, seat.host.saturating_sub(1), 0);
        let mut number = 0;
        while number < self.messages {
            port.work(dice.roll(20_000) as u32);
            let next = (number + self.batch as u64).min(self.messages);
            let sent: Vec<u64> = (number..next).flat_map(|n| message(0, n, words)).collect();
            if seat.host == 0 {
                producer.send(&counted, &sent).unwrap();
            } else {
                let mut received = vec![0; sent.len()];
                consumer.receive(&counted, &mut received).unwrap();
                assert_eq!(received, sent, "{seat:?}, from message {number}");
            }
            number = next;
        }
        count.census()
    }
}

fn broadcast(consumers: u32, slots: u32, words: usize, batch: usize, seed: u64) -> Vec<Census> {
    let (sim, pod, discipline, _) = simulated("sc26-four-host", 1);
    let mut arena = Arena::new();
    let ring = Ring::lay_out(&mut arena, "test.ring", consumers, slots, words);
    let program = Broadcast {
        ring,
        messages: 50,
        batch,
        seed,
    };
    let pod = fabric::Pod::new(1 + consumers, pod.lanes);
    let out = run(&sim, pod, discipline, 0, &program);
    out.into_iter().map(|(_, census)| census).collect()
}

#[test]
fn every_message_arrives_once_in_order_and_whole() {
    for (slots, words, batch) in [
        (1, 1, 1),
        (4, 7, 3),
        (5, 8, 2),
        (16, 20, 40),
        (3, 100, 3),
        (64, 7, 50),
    ] {
        for consumers in [1, 3] {
            for seed in 0..3 {
                broadcast(consumers, slots, words, batch, seed);
            }
        }
    }
}

#[test]
fn a_batch_is_one_publish() {
    // 50 messages in batches of 10 never meet the end of a ring of 64 slots.
    let census = &broadcast(1, 64, 7, 10, 0)[0];
    assert_eq!((census.publishes, census.lines_published), (5, 50));
    // The producer never looked at the consumer's line: the ring was never full.
    assert_eq!(census.observes, 0);
}

/// Hosts 1 and on send to host 0.
struct Funnelled {
    funnel: Funnel,
    producers: u32,
    messages: u64,
    seed: u64,
}

impl Program for Funnelled {
    type Out = ();

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) {
        let mut dice = Dice::new(self.seed, seat);
        if seat.host > 0 {
            let mut end = self.funnel.producer(seat.host - 1);
            for number in 0..self.messages {
                port.work(dice.roll(20_000) as u32);
                end.send(port, &message(seat.host - 1, number, 9)).unwrap();
            }
            return;
        }
        let mut end = self.funnel.consumer();
        let mut next = vec![0; self.producers as usize];
        for _ in 0..self.messages * u64::from(self.producers) {
            let mut received = [0; 9];
            let from = end.receive(port, &mut received).unwrap();
            let number = &mut next[from as usize];
            assert_eq!(received.to_vec(), message(from, *number, 9), "from {from}");
            *number += 1;
        }
    }
}

#[test]
fn a_funnel_keeps_each_producers_order() {
    let (sim, pod, discipline, _) = simulated("sc26-four-host", 1);
    for seed in 0..5 {
        let mut arena = Arena::new();
        let funnel = Funnel::lay_out(&mut arena, "test.funnel", 3, 4, 9);
        let program = Funnelled {
            funnel,
            producers: 3,
            messages: 30,
            seed,
        };
        run(&sim, pod, discipline, 0, &program);
    }
}
