//! A small file system of one's own, to be filled.

use std::{
    fs::File,
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};

use super::{
    PATIENCE,
    process::{Leash, Leashed, copied},
    rig_script, skip,
};

/// Megabytes. They are memory, once they are filled.
const SIZE: &str = "48m";
const BALLAST: &str = "ballast";

/// A small file system. It is there for programs that are started with [`SmallDisk::within`], and ends when dropped.
pub struct SmallDisk {
    dir: PathBuf,
    holder: Leashed,
}

impl SmallDisk {
    /// A disk that its programs find at `dir`; `None` where nothing may be mounted and tests may be skipped for it.
    pub fn at(dir: &Path) -> Option<Self> {
        let mut script = Command::new(rig_script("small-disk.sh"));
        if !script.arg("may").status().is_ok_and(|status| status.success()) {
            skip("nothing may be mounted here");
            return None;
        }
        let mut hold = Command::new(rig_script("small-disk.sh"));
        hold.arg("hold").arg(dir).arg(SIZE);
        let holder = Leash::on(hold).spawn();
        holder.line_with("READY", PATIENCE);
        Some(Self { dir: dir.to_owned(), holder })
    }

    /// The same command, as one that finds the disk.
    pub fn within(&self, command: &Command) -> Command {
        let mut within = Command::new(rig_script("small-disk.sh"));
        within.arg("run").arg(self.holder.command_pid().to_string());
        copied(command, within)
    }

    /// Takes all room that is left.
    pub fn fill(&self) {
        let mut ballast = File::options().create(true).append(true).open(self.seen().join(BALLAST)).expect("a file");
        // Down to the last byte.
        for size in [4096, 1] {
            while ballast.write(&[0; 4096][..size]).is_ok_and(|written| written > 0) {}
        }
    }

    pub fn make_room(&self) {
        std::fs::remove_file(self.seen().join(BALLAST)).expect("it was filled");
    }

    /// Puts all that is on it to where its programs found it, on the disk of everybody else.
    pub fn move_out(self) {
        let status = Command::new("cp").arg("-a").arg(self.seen().join(".")).arg(&self.dir).status();
        assert!(status.is_ok_and(|status| status.success()), "what is on the small disk is moved");
    }

    /// Where its programs find it.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where others find it.
    fn seen(&self) -> PathBuf {
        let inside = self.dir.strip_prefix("/").expect("an absolute path");
        Path::new("/proc").join(self.holder.command_pid().to_string()).join("root").join(inside)
    }
}
