//! Prometheus' own tool, which knows what Prometheus takes.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use super::find_or_skip;

pub struct Promtool(Command);

impl Promtool {
    /// `None` where it may be skipped.
    pub fn find() -> Option<Self> {
        find_or_skip("promtool").map(|path| Self(Command::new(path)))
    }

    /// Runs it with these arguments and this input.
    ///
    /// # Panics
    /// With all that it said, when it is not content.
    #[track_caller]
    pub fn approves(mut self, arguments: &[&str], input: &str) {
        self.0.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.0.spawn().expect("promtool runs");
        let mut stdin = child.stdin.take().expect("its input is a pipe");
        stdin.write_all(input.as_bytes()).expect("promtool reads its input");
        drop(stdin);
        let output = child.wait_with_output().expect("promtool ends");
        let said = [output.stdout, output.stderr].concat();
        assert!(output.status.success(), "promtool {}:\n{}", arguments.join(" "), String::from_utf8_lossy(&said));
    }
}
