//! What can be typed.

pub(crate) mod graph;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Measure distributed shared memory over CXL: hosts that map one pool, without hardware coherence
/// between them.
#[derive(Debug, Parser)]
#[command(
    name = "dsmark",
    version,
    max_term_width = 100,
    after_help = "Example:\n  dsmark run --on native --hosts 4"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a plan: every trial in it, results and figures on disk, a table at the end
    #[command(after_help = "Example:\n  dsmark run --on native --hosts 4\n  \
        dsmark run my-plan.toml --device /dev/dax0.0 --out results/monday\n  \
        mpirun -np 4 -H a,b,c,d dsmark run --on native --device /dev/dax0.0")]
    Run(Run),
    /// Measure one workload
    #[command(
        after_help = "Example:\n  dsmark measure visibility --on native --hosts 2 \\\n    \
        --set publish=clwb --set lines=1,8 --json"
    )]
    Measure(Measure),
    /// List workloads with their parameters, plans, and what this CPU can do
    #[command(after_help = "Example:\n  dsmark list --json")]
    List {
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// Print where a workload's words lie in the region
    #[command(after_help = "Example:\n  dsmark layout visibility --hosts 4 --set lines=8")]
    Layout(Layout),
    /// Format, show or reset a region
    #[command(subcommand, after_help = "Example:\n  dsmark region show /dev/dax0.0")]
    Region(Region),
    /// Try everything that the memory may do to a lock, a barrier, a mailbox: which flush is
    /// missing, which is wasted
    #[command(
        after_help = "Example:\n  dsmark check\n  dsmark check lock mailbox --json\n  \
        dsmark check lock/bakery --seconds 600\n\n\
        Without names: every primitive. `litmus` and `zoo` only where they are named: the zoo's \
        programs are wrong on purpose. Exit status 1 if anything is found."
    )]
    Check(Check),
    /// Follow the token of a finding again
    #[command(after_help = "Example:\n  dsmark replay mailbox:be4f0d0a0337c335:0*6")]
    Replay {
        /// The token, as the finding prints it; of the same build
        token: String,
    },
    /// Leave all maintenance of a primitive out, and search for the cheapest that it needs
    #[command(after_help = "Example:\n  dsmark infer mailbox")]
    Infer {
        /// As `dsmark check` lists it
        name: String,
    },
    /// Check this machine, or one device, and say what to do about what disturbs a measurement
    #[command(
        after_help = "Example:\n  dsmark doctor\n  dsmark doctor --device /dev/dax0.0 --json"
    )]
    Doctor(Doctor),
    /// The pods that can be simulated, and the source of each constant
    #[command(subcommand, after_help = "Example:\n  dsmark pod show sc26-four-host")]
    Pod(Pod),
    /// Hold a run's results against published figures, and say what decides each prediction
    #[command(after_help = "Example:\n  dsmark run claims --out results/claims\n  \
        dsmark verify results/claims\n\n\
        Exit status 1 if a pod's own constant is not found again, or nothing could be tested. \
        A prediction that fails is a finding, not a failure.")]
    Verify(Verify),
    /// Print every row of a results directory; write its page, figures and rows.csv again
    #[command(after_help = "Example:\n  dsmark report results/monday")]
    Report(Report),
    /// What a tiering policy makes of CXL memory used as a capacity tier, in a model of one host
    #[command(
        subcommand,
        after_help = "Example:\n  dsmark tier run --policy memtis-paper,first-touch \\\n    \
            --workload silo-paper --ratio 1:8 --seeds 10 --json"
    )]
    Tier(Tier),
    /// Generate, convert and describe graphs
    #[command(
        subcommand,
        after_help = "Example:\n  dsmark graph generate kron --scale 18 --out kron18.sg"
    )]
    Graph(graph::Graph),
    /// One host process; started by `run` and `measure`
    #[command(hide = true)]
    Host,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum On {
    /// A model of a pod, in simulated time
    Sim,
    /// Real loads, stores and flushes on a mapping
    Native,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Launch {
    /// As `env` in a job of several processes, else as `local`
    Auto,
    /// This process, all of them on this machine
    Local,
    /// mpirun or srun has: this process is one host, by its rank in the environment
    Env,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Clocks {
    /// By the counter that they share, on one machine, else by round trips
    Auto,
    /// By round trips over the region: good for starting together, not for one-way times
    RoundTrips,
}

/// Where and how; the same for `run` and `measure`.
#[derive(Debug, Args)]
pub(crate) struct Where {
    /// The substrate; by default what the plan says, and `sim` for a single workload
    #[arg(long, value_enum)]
    pub(crate) on: Option<On>,
    /// On `sim`, the pod: one that ships (`dsmark pod list`) or a file
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) pod: Option<String>,
    /// The pool: /dev/daxX.Y, or a file on fs-dax, tmpfs or hugetlbfs; by default an anonymous
    /// region in this machine's memory, a coherent stand-in
    #[arg(long, value_name = "PATH")]
    pub(crate) device: Option<PathBuf>,
    /// The pool's path on one host, by its number or its machine's name, where it differs
    #[arg(long, value_name = "HOST=PATH")]
    pub(crate) device_for: Vec<String>,
    /// Hosts, 1 to 64; each is a process
    #[arg(long, value_name = "N")]
    pub(crate) hosts: Option<u32>,
    /// Lanes a host
    #[arg(long, value_name = "N")]
    pub(crate) lanes: Option<u32>,
    /// Who starts the host processes
    #[arg(long, value_enum, default_value_t = Launch::Auto)]
    pub(crate) launch: Launch,
    /// Which host this process is, where no launcher tells: with --hosts, one command a host
    #[arg(long, value_name = "R")]
    pub(crate) rank: Option<u32>,
    /// A name that all hosts of this run share and no other run, with --rank
    #[arg(long, value_name = "NAME", requires = "rank")]
    pub(crate) job: Option<String>,
    /// How long hosts wait for each other at the start; 10 s, or 60 s where they are started apart
    #[arg(long, value_name = "SECONDS")]
    pub(crate) join_timeout: Option<f64>,
    /// How long a trial may take; by default what the plan says, and 60 s for a single workload
    #[arg(long, value_name = "SECONDS")]
    pub(crate) deadline: Option<f64>,
    /// How hosts that were started apart know each other's time
    #[arg(long, value_enum, default_value_t = Clocks::Auto)]
    pub(crate) clock: Clocks,
    /// Directory for results, host 0's where hosts are started apart; it must be new or empty
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Seed of everything random
    #[arg(long, value_name = "S")]
    pub(crate) seed: Option<u64>,
    /// Few repetitions: checks that everything works, measures little
    #[arg(long)]
    pub(crate) smoke: bool,
    /// No progress on standard error
    #[arg(long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// A plan file, or the name of a plan that ships
    #[arg(default_value = "default")]
    pub(crate) plan: String,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Debug, Args)]
pub(crate) struct Measure {
    /// The workload
    pub(crate) workload: String,
    #[command(flatten)]
    pub(crate) place: Where,
    /// A parameter; commas sweep, `*` is everything that this machine supports
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Rows as JSON, one a line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Layout {
    /// The workload
    pub(crate) workload: String,
    /// Hosts
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) hosts: u32,
    /// Lanes a host
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) lanes: u32,
    /// A parameter
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools)] // a flag of the command line each
pub(crate) struct Check {
    /// Names, or beginnings of names: `lock`, `bakery`, `litmus/sb`, `zoo`, `lock/*-4-hosts`
    pub(crate) names: Vec<String>,
    /// Whole names only, not all that begin so; an asterisk still stands for anything
    #[arg(long, requires = "names")]
    pub(crate) exact: bool,
    /// States that one search visits at most; 0 for runs by chance only [default: 300000; 20000000
    /// with --seconds]
    #[arg(long, value_name = "N")]
    pub(crate) budget: Option<usize>,
    /// Evictions, fetches and crashes of one run at most: one search within these bounds, instead
    /// of one without and then one within the program's own
    #[arg(long, value_name = "N")]
    pub(crate) environment: Option<u32>,
    /// Times that a lane is left at most although it could go on; likewise
    #[arg(long, value_name = "N")]
    pub(crate) preemptions: Option<u32>,
    /// Runs by chance in each of three ways (PCT, swarm, random), behind a search that did not
    /// visit everything [default: one for each 1500 states]; and runs of each twin that no search
    /// decides, against an adverse memory [default: 64]
    #[arg(long, value_name = "N")]
    pub(crate) runs: Option<u64>,
    /// Time for each program, its twins included; how far that goes depends on the machine
    #[arg(long, value_name = "S")]
    pub(crate) seconds: Option<f64>,
    /// Where random runs start from; they follow where the states are too many
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Only the programs as they stand: no operation is left out or weakened
    #[arg(long)]
    pub(crate) no_twins: bool,
    /// One JSON object a program, one a line
    #[arg(long)]
    pub(crate) json: bool,
    /// Rows of a Markdown table, a program each, as docs/CHECKED.md has them
    #[arg(long, conflicts_with = "json")]
    pub(crate) table: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Check this path instead of the machine: /dev/daxX.Y, or a file
    #[arg(long, value_name = "PATH")]
    pub(crate) device: Option<PathBuf>,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// The results, as `run --out` made them
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Region {
    /// Write a clean header over whatever the region holds
    #[command(after_help = "Example:\n  dsmark region format /dev/dax0.0")]
    Format {
        /// The region
        path: PathBuf,
        /// Also over something that is not a dsmark region
        #[arg(long)]
        force: bool,
    },
    /// Print the header: who formatted it, which run owns it, who is alive
    #[command(after_help = "Example:\n  dsmark region show /dev/dax0.0 --json")]
    Show {
        /// The region
        path: PathBuf,
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// Forget the last run; refused while its hosts beat
    #[command(after_help = "Example:\n  dsmark region reset /dev/dax0.0")]
    Reset {
        /// The region
        path: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// The results; `dsmark run claims` makes all rows that the claims need
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// Other claims than those that ship, on pods and on tiering
    #[arg(long, value_name = "FILE")]
    pub(crate) claims: Option<PathBuf>,
    /// Components to name for each prediction, the strongest first
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) top: usize,
    /// One JSON object a claim
    #[arg(long)]
    pub(crate) json: bool,
}

/// What is tiered.
#[derive(Debug, Args)]
pub(crate) struct Tiered {
    /// The workload; `dsmark tier list` names all
    #[arg(long, value_name = "NAME", default_value = "silo-paper")]
    pub(crate) workload: String,
    /// Sizes of the tiers, fast to capacity; together they are the workload's footprint
    #[arg(long, value_name = "FAST:CAPACITY", default_value = "1:8")]
    pub(crate) ratio: String,
    #[command(flatten)]
    pub(crate) trials: Tiering,
}

/// How it is tiered, and what becomes of the rows.
#[derive(Debug, Args)]
pub(crate) struct Tiering {
    /// What the capacity tier is: nvm, cxl-emulated, cxl-200, cxl-270 or cxl-400
    #[arg(long, value_name = "NAME", default_value = "nvm")]
    pub(crate) capacity_tier: String,
    /// Trials of each policy; seeds are counted from 1
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seeds: u64,
    /// How far bytes and page sizes are scaled down, such as 4096:64; by default as far as the
    /// similarity law allows. Further is faster, and noted in each row as a caveat
    #[arg(long, value_name = "SIZE:GEOMETRY")]
    pub(crate) scale: Option<String>,
    /// Directory for results; it must be new or empty
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Rows as JSON, one a line
    #[arg(long)]
    pub(crate) json: bool,
    /// No progress on standard error
    #[arg(long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Tier {
    /// Run policies on a workload
    #[command(
        after_help = "Example:\n  dsmark tier run --policy memtis-kernel,first-touch \\\n    \
        --workload btree --ratio 1:16 --seeds 10"
    )]
    Run {
        /// Policies, separated by commas. Memtis takes `+no-split`, `+no-warm` and switches, such
        /// as memtis-paper+raise-only
        #[arg(long, value_name = "NAME", value_delimiter = ',', required = true)]
        policy: Vec<String>,
        /// Do not run the oracles; the share of their gap that is closed is null then
        #[arg(long)]
        no_oracle: bool,
        #[command(flatten)]
        tiered: Tiered,
    },
    /// Turn each difference between Memtis's paper and its kernel alone
    #[command(
        after_help = "Example:\n  dsmark tier ablate --workload silo-paper --seeds 10 --json"
    )]
    Ablate {
        /// The personality that every other differs from by one switch
        #[arg(long, value_name = "NAME", default_value = "memtis-paper")]
        from: String,
        #[command(flatten)]
        tiered: Tiered,
    },
    /// Run what the claims on tiering are about: splitting and the warm set, on Silo and a B-tree
    /// at three ratios
    #[command(
        after_help = "Example:\n  dsmark tier claims --seeds 10 --out results/tier-claims\n  \
        dsmark verify results/tier-claims"
    )]
    Claims {
        #[command(flatten)]
        trials: Tiering,
    },
    /// What 25 % less and 25 % more of each constant do to a difference between two policies,
    /// paired by seed
    #[command(
        after_help = "Example:\n  dsmark tier sensitivity --policy memtis-paper+no-split \\\n    \
        --constant walk_ns,nvm.load_ns --workload silo-paper --ratio 1:8 --seeds 3"
    )]
    Sensitivity {
        /// The variant of Memtis that is compared
        #[arg(long, value_name = "NAME", default_value = "memtis-paper+no-split")]
        policy: String,
        /// The variant that it is compared with
        #[arg(long, value_name = "NAME", default_value = "memtis-paper")]
        from: String,
        /// Constants, as KEY or SECTION.KEY, separated by commas; all that `tier list` has of this
        /// capacity tier if left out
        #[arg(long, value_name = "KEY", value_delimiter = ',')]
        constant: Vec<String>,
        #[command(flatten)]
        tiered: Tiered,
    },
    /// What sampling makes of huge pages that are used evenly, and of such that are not
    #[command(after_help = "Example:\n  dsmark tier skew --out results/skew")]
    Skew {
        /// Directory for results; it must be new or empty
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
        /// Rows as JSON, one a line
        #[arg(long)]
        json: bool,
    },
    /// List policies, workloads, capacity tiers, switches, and the source of each constant
    #[command(after_help = "Example:\n  dsmark tier list --json")]
    List {
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Pod {
    /// List the pods that ship
    #[command(after_help = "Example:\n  dsmark pod list --json")]
    List {
        /// One JSON object a pod
        #[arg(long)]
        json: bool,
    },
    /// Print every constant of a pod with its source
    #[command(after_help = "Example:\n  dsmark pod show sc26-four-host")]
    Show {
        /// One that ships, or a file
        #[arg(value_name = "NAME|FILE")]
        name: String,
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
}
