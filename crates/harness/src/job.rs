//! The launch `env`: which host this process is, by what an MPI launcher or a scheduler put into
//! its environment. The binary need not be linked with any MPI.
//!
//! | variables | set by |
//! |---|---|
//! | `OMPI_COMM_WORLD_RANK`, `_SIZE`, `PMIX_NAMESPACE` | Open MPI's `mpirun` |
//! | `PMI_RANK`, `PMI_SIZE` | Hydra (MPICH, Intel MPI, MVAPICH), Slurm with PMI |
//! | `SLURM_PROCID`, `SLURM_STEP_NUM_TASKS`, `SLURM_JOB_ID`, `SLURM_STEP_ID` | `srun` |
//! | `PMIX_RANK`, `PMIX_NAMESPACE` | any other launcher of its kind, as `prun`; it tells no size |
//!
//! In this order: Hydra may start its proxies by `srun`, whose variables then number the proxies.
//! `SLURM_NTASKS` is not read: a batch script has it too, and is one process.
//!
//! Only rank and size come from there; all configuration is in the plan and on the command line,
//! since launchers do not forward the environment to other machines by default.

use std::hash::Hasher;

use thiserror::Error;

/// This process as one host of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    /// Its host.
    pub host: u32,
    /// How many there are.
    pub hosts: u32,
    /// What all processes of this job share and no other job; 0 if the launcher gives nothing.
    pub run_key: u64,
    /// Who said so, for messages.
    pub by: &'static str,
}

/// [`Membership::by`] where a command line says it.
pub const BY_HAND: &str = "--rank";

impl Membership {
    /// Whether a launcher started this process, rather than somebody who gave it its rank.
    pub fn in_job(&self) -> bool {
        self.by != BY_HAND
    }
}

/// What an environment says that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum JobError {
    /// Not a number.
    #[error("{variable} = {value:?} is no rank or size; unset it, or use --launch local")]
    NotANumber {
        /// Which variable.
        variable: &'static str,
        /// Its value.
        value: String,
    },
    /// A rank that the job does not have.
    #[error("{variable} = {rank} in a job of {size}; start ranks 0 to {}", size.saturating_sub(1))]
    Rank {
        /// Which variable.
        variable: &'static str,
        /// The rank.
        rank: u32,
        /// The job's size.
        size: u32,
    },
    /// A rank and no size.
    #[error("{variable} is set, but nothing tells the size of the job; add --hosts N")]
    NoSize {
        /// Which variable.
        variable: &'static str,
    },
    /// The command and the launcher disagree.
    #[error(
        "--hosts {asked}, but {by} started {size} processes; a host is one process: leave --hosts \
         out, or start {asked}"
    )]
    Size {
        /// As typed, or in the plan.
        asked: u32,
        /// Who started them.
        by: &'static str,
        /// How many.
        size: u32,
    },
    /// No launcher.
    #[error(
        "--launch env, but this process is no rank of a job (no OMPI_COMM_WORLD_RANK, PMI_RANK, \
         SLURM_PROCID or PMIX_RANK); start it by mpirun or srun, or give --rank and --hosts"
    )]
    NoJob,
}

/// The variables of one launcher.
struct Dialect {
    by: &'static str,
    rank: &'static str,
    size: Option<&'static str>,
    /// What names the job: all that are set.
    job: &'static [&'static str],
}

const DIALECTS: [Dialect; 4] = [
    Dialect {
        by: "Open MPI",
        rank: "OMPI_COMM_WORLD_RANK",
        size: Some("OMPI_COMM_WORLD_SIZE"),
        job: &["PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"],
    },
    Dialect {
        by: "a PMI launcher",
        rank: "PMI_RANK",
        size: Some("PMI_SIZE"),
        job: &["PMI_JOBID", "SLURM_JOB_ID", "SLURM_STEP_ID"],
    },
    Dialect {
        by: "Slurm",
        rank: "SLURM_PROCID",
        size: Some("SLURM_STEP_NUM_TASKS"),
        job: &["SLURM_JOB_ID", "SLURM_STEP_ID"],
    },
    Dialect {
        by: "a PMIx launcher",
        rank: "PMIX_RANK",
        size: None,
        job: &["PMIX_NAMESPACE"],
    },
];

/// This process's place in the job that `variable` tells of; none if it is in none, or alone in it.
/// `hosts` is what the command or the plan says.
///
/// # Errors
/// [`JobError`], if what is told cannot be.
pub fn detect(
    variable: impl Fn(&str) -> Option<String>,
    hosts: Option<u32>,
) -> Result<Option<Membership>, JobError> {
    for dialect in &DIALECTS {
        let number = |name: &'static str| match variable(name) {
            None => Ok(None),
            Some(value) => value.parse().map(Some).map_err(|_| JobError::NotANumber {
                variable: name,
                value,
            }),
        };
        let (Some(rank), size) = (number(dialect.rank)?, dialect.size.map(number).transpose()?)
        else {
            continue;
        };
        let size: u32 = match (size.flatten(), dialect.size) {
            (Some(size), _) => size,
            // A batch script has a rank and is in no step.
            (None, Some(_)) => continue,
            (None, None) => hosts.ok_or(JobError::NoSize {
                variable: dialect.rank,
            })?,
        };
        if rank >= size {
            return Err(JobError::Rank {
                variable: dialect.rank,
                rank,
                size,
            });
        }
        if size == 1 {
            return Ok(None);
        }
        let named = dialect.job.iter().filter_map(|name| variable(name));
        return Ok(Some(Membership {
            host: rank,
            hosts: size,
            run_key: key(named),
            by: dialect.by,
        }));
    }
    Ok(None)
}

/// A number for a job's name; 0 for none.
pub fn key(names: impl Iterator<Item = String>) -> u64 {
    let mut hash = fnv::FnvHasher::default();
    let mut any = false;
    for name in names {
        hash.write(name.as_bytes());
        hash.write_u8(0);
        any = true;
    }
    if any { hash.finish() | 1 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(variables: &'static [(&'static str, &'static str)]) -> impl Fn(&str) -> Option<String> {
        move |name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        }
    }

    fn seat(variables: &'static [(&'static str, &'static str)]) -> Option<(u32, u32)> {
        let found = detect(with(variables), None).expect("it can be");
        found.map(|found| (found.host, found.hosts))
    }

    // As printed by `env` under each launcher: Open MPI 4.1.4, MPICH 4.0.2; Slurm's as srun(1)
    // lists them.
    const OPEN_MPI: &[(&str, &str)] = &[
        ("OMPI_COMM_WORLD_RANK", "1"),
        ("OMPI_COMM_WORLD_SIZE", "2"),
        ("PMIX_RANK", "1"),
        ("PMIX_NAMESPACE", "1962278913"),
    ];
    const HYDRA_UNDER_SLURM: &[(&str, &str)] = &[
        ("PMI_RANK", "5"),
        ("PMI_SIZE", "8"),
        ("SLURM_PROCID", "1"),
        ("SLURM_STEP_NUM_TASKS", "2"),
    ];

    #[test]
    fn each_launcher_is_understood() {
        assert_eq!(seat(OPEN_MPI), Some((1, 2)));
        assert_eq!(seat(&[("PMI_RANK", "3"), ("PMI_SIZE", "4")]), Some((3, 4)));
        let srun = &[
            ("SLURM_PROCID", "2"),
            ("SLURM_STEP_NUM_TASKS", "4"),
            ("SLURM_NTASKS", "4"),
        ];
        assert_eq!(seat(srun), Some((2, 4)));
        assert_eq!(seat(HYDRA_UNDER_SLURM), Some((5, 8)));
        assert_eq!(seat(&[]), None);
    }

    #[test]
    fn a_batch_script_is_no_rank() {
        assert_eq!(seat(&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "4")]), None);
    }

    #[test]
    fn who_is_alone_starts_hosts_itself() {
        let alone = &[("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "1")];
        assert_eq!(seat(alone), None);
    }

    #[test]
    fn a_launcher_that_tells_no_size_needs_to_be_told() {
        let prun = &[("PMIX_RANK", "1"), ("PMIX_NAMESPACE", "prun-7@1")];
        let refused = detect(with(prun), None).expect_err("no size");
        assert!(refused.to_string().contains("--hosts N"), "{refused}");
        let found = detect(with(prun), Some(3)).expect("it can be");
        assert_eq!(found.map(|found| (found.host, found.hosts)), Some((1, 3)));
    }

    #[test]
    fn jobs_have_keys_of_their_own_where_they_have_names() {
        let run_key = |variables| detect(with(variables), None).unwrap().unwrap().run_key;
        assert_ne!(run_key(OPEN_MPI), 0);
        assert_eq!(run_key(&[("PMI_RANK", "3"), ("PMI_SIZE", "4")]), 0);
        let of = |name: &str| key([name.to_owned()].into_iter());
        assert_ne!(of("7.0"), of("7.1"));
    }

    #[test]
    fn nonsense_is_refused_with_its_variable() {
        let refused = detect(with(&[("PMI_RANK", "x"), ("PMI_SIZE", "4")]), None);
        assert!(
            refused
                .unwrap_err()
                .to_string()
                .contains("PMI_RANK = \"x\"")
        );
        let refused = detect(with(&[("PMI_RANK", "4"), ("PMI_SIZE", "4")]), None);
        assert!(
            refused
                .unwrap_err()
                .to_string()
                .contains("start ranks 0 to 3")
        );
    }
}
