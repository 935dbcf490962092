//! Runs the binary as a user does, and looks at what it leaves behind.

#![allow(dead_code)] // each test file uses a part of it

pub(crate) mod mounted;
pub(crate) mod refusal;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// When a wait counts as a hang. Not a claim about speed: the machine may be busy.
const HANG: Duration = Duration::from_mins(2);

/// Marks the processes of one test: hosts inherit the environment of their launcher.
const MARK: &str = "DSMARK_TEST_MARK";

/// A plan of a first trial that is soon over, and a second that never ends by itself.
pub(crate) const ENDLESS: &str = r#"
name = "endless"
warmup = 0
deadline_seconds = 1e6
[[trial]]
workload = "visibility"
params = { rounds = 10 }
max_reps = 3
[[trial]]
workload = "visibility"
params = { rounds = 100 }
max_reps = 4294967295
max_seconds = 1e6
target = 0.0
"#;

/// Polls until `ready` has an answer.
///
/// # Panics
/// If that takes so long that it must be a hang.
pub(crate) fn wait_for<T>(what: &str, mut ready: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(answer) = ready() {
            return answer;
        }
        assert!(start.elapsed() < HANG, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// How a command ended and what it said.
#[derive(Debug)]
pub(crate) struct Said {
    /// Exit status; none if a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    /// Standard output as JSON, one value a line.
    pub(crate) fn rows(&self) -> Vec<serde_json::Value> {
        let parse = |line| serde_json::from_str(line).expect("each line is JSON");
        self.out.lines().map(parse).collect()
    }

    /// # Panics
    /// If the exit status is not `code` or standard error lacks one of `needles`.
    #[track_caller]
    pub(crate) fn expect(&self, code: i32, needles: &[&str]) -> &Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        for needle in needles {
            assert!(self.err.contains(needle), "no `{needle}` in {}", self.err);
        }
        self
    }
}

/// A directory of its own for a test's commands: working directory, temporary files, results.
#[derive(Debug)]
pub(crate) struct Bench {
    directory: TempDir,
    mark: String,
}

impl Bench {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Relaxed);
        let directory = tempfile::tempdir().expect("a temporary directory");
        fs::create_dir(directory.path().join("tmp")).expect("it is new");
        let mark = format!("{}-{number}", std::process::id());
        Self { directory, mark }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes a file and returns its path.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).expect("the directory is writable");
        path
    }

    /// The binary with `args`; the working directory is this one.
    pub(crate) fn dsmark(&self, args: &[&str]) -> Command {
        self.marked(env!("CARGO_BIN_EXE_dsmark"), args)
    }

    /// Another program, which starts the binary, in the same surroundings.
    pub(crate) fn marked(&self, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(self.directory.path())
            .env(MARK, &self.mark)
            .env("TMPDIR", self.path("tmp"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the binary to its end, which leaves nothing behind.
    #[track_caller]
    pub(crate) fn run(&self, args: &[&str]) -> Said {
        let child = self.dsmark(args).spawn().expect("the binary starts");
        let said = finish(child);
        self.assert_nothing_left();
        said
    }

    /// Running processes that carry this test's mark.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let mark = format!("{MARK}={}", self.mark);
        let carries = |pid: &u32| {
            // Of a process that has ended, and of one of another user, it cannot be read.
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment
                .split(|&byte| byte == 0)
                .any(|variable| variable == mark.as_bytes())
        };
        numbers_in("/proc").filter(carries).collect()
    }

    /// The host processes of `launcher`, in the order of their start.
    pub(crate) fn hosts_of(&self, launcher: u32) -> Vec<u32> {
        let mut hosts: Vec<(u64, u32)> = self
            .processes()
            .into_iter()
            .filter_map(|pid| {
                let status = Status::of(pid)?;
                (status.parent == launcher).then_some((status.started, pid))
            })
            .collect();
        hosts.sort_unstable();
        hosts.into_iter().map(|(_, pid)| pid).collect()
    }

    /// Whether `process` already runs the host's program, not yet that of its launcher.
    pub(crate) fn runs_a_host(process: u32) -> bool {
        let arguments = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        arguments.split(|&byte| byte == 0).nth(1) == Some(b"host")
    }

    /// # Panics
    /// If a process, a temporary file or a named region is left.
    #[track_caller]
    pub(crate) fn assert_nothing_left(&self) {
        // A process that was killed may need a moment to be gone.
        wait_for("processes to be gone", || {
            self.processes().is_empty().then_some(())
        });
        let temporary: Vec<_> = names_in(self.path("tmp")).collect();
        assert!(temporary.is_empty(), "left behind: {temporary:?}");
        let mut shared = names_in("/dev/shm");
        assert!(!shared.any(|name| name.contains("dsmark-region")));
    }
}

/// Waits for a command and collects what it said.
pub(crate) fn finish(child: Child) -> Said {
    let pid = child.id();
    let (sender, receiver) = std::sync::mpsc::channel();
    let collector = std::thread::spawn(move || sender.send(child.wait_with_output()));
    let output = receiver.recv_timeout(HANG);
    let output = output.unwrap_or_else(|_| panic!("process {pid} hangs"));
    collector
        .join()
        .expect("it only waits")
        .expect("it is received");
    let output = output.expect("a child can be waited for");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    Said {
        code: output.status.code(),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

/// What /proc/PID/stat says.
struct Status {
    parent: u32,
    started: u64,
}

impl Status {
    fn of(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name in parentheses may hold anything; what follows is fields 3, 4, ... of proc(5).
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        Some(Self {
            parent: fields.get(1)?.parse().ok()?,
            started: fields.get(19)?.parse().ok()?,
        })
    }
}

fn numbers_in(path: &str) -> impl Iterator<Item = u32> {
    names_in(path).filter_map(|name| name.parse().ok())
}

/// Names in a directory; none if there is no such directory.
pub(crate) fn names_in(path: impl AsRef<Path>) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned())
}

/// A file on tmpfs of `bytes` bytes, which goes with the returned directory.
pub(crate) fn tmpfs_file(bytes: u64) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir_in("/dev/shm").expect("/dev/shm is a tmpfs");
    let path = directory.path().join("region");
    let file = fs::File::create(&path).expect("it is new");
    file.set_len(bytes).expect("tmpfs files are sparse");
    (directory, path)
}

/// Whether the tests run as root, who may mount and who may read everything.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
