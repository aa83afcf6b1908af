//! Exceptions as the languages print them.

use amqp_message::error_report::ErrorReport;

/// `Type: message`, then frames and inner exceptions, as .NET's `ToString` has it.
pub(super) fn dotnet(text: &str) -> Option<ErrorReport> {
    let ends = ["\r\n   at ", "\n   at ", "\r\n ---> ", "\n ---> ", " ---> "];
    let end = ends.iter().filter_map(|end| text.find(end)).min().unwrap_or(text.len());
    let (kind, message) = split(text.get(..end).unwrap_or_default());
    let has_trace = end < text.len();
    ErrorReport::new(kind, message, has_trace.then(|| text.to_owned()))
}

/// The class of the cause that the first `Caused by:` of a Java stack trace names, or of the exception itself.
pub(super) fn java_class(trace: &str) -> Option<String> {
    let cause = trace.lines().find_map(|line| line.trim_start().strip_prefix("Caused by: "));
    let line = cause.or_else(|| trace.lines().next())?;
    let class = line.split(": ").next().unwrap_or_default().trim();
    is_name(class).then(|| class.to_owned())
}

/// A Python traceback; what was raised stands on the last line that is not indented.
pub(super) fn python(traceback: &str) -> Option<ErrorReport> {
    let is_raised = |line: &&str| is_name(line.split(": ").next().unwrap_or_default());
    let raised = traceback.lines().rev().find(is_raised).or_else(|| traceback.lines().next_back());
    let (kind, message) = split(raised.unwrap_or_default());
    ErrorReport::new(kind, message, Some(traceback.to_owned()))
}

/// `#<Class: message>`, as Ruby's `inspect` has it.
pub(super) fn ruby(inspected: &str) -> Option<ErrorReport> {
    let inside = inspected.trim().strip_prefix("#<").and_then(|rest| rest.strip_suffix('>'));
    let (kind, message) = inside.map_or_else(|| (None, Some(inspected.to_owned())), split);
    ErrorReport::new(kind, message, None)
}

/// `Type: message` or either alone.
fn split(text: &str) -> (Option<String>, Option<String>) {
    match text.split_once(": ") {
        Some((kind, message)) if is_name(kind) => (Some(kind.to_owned()), Some(message.to_owned())),
        None if is_name(text.trim().trim_end_matches(':')) => {
            (Some(text.trim().trim_end_matches(':').to_owned()), None)
        }
        _ => (None, Some(text.to_owned())),
    }
}

/// Whether it could name a class in any of these languages.
fn is_name(text: &str) -> bool {
    let may_stand = |c: char| c.is_alphanumeric() || "._:$`+<>[],\\".contains(c);
    text.chars().next().is_some_and(char::is_alphabetic) && text.chars().all(may_stand)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(report: Option<ErrorReport>, kind: Option<&str>, message: Option<&str>, has_trace: bool) {
        let report = report.unwrap();
        assert_eq!((report.kind.as_deref(), report.message.as_deref()), (kind, message));
        assert_eq!(report.stacktrace.is_some(), has_trace, "{report:?}");
    }

    #[test]
    fn reads_dotnet() {
        check(dotnet("System.FormatException: bad tag"), Some("System.FormatException"), Some("bad tag"), false);
        check(dotnet("A.B: one\r\ntwo\r\n   at X() in C:\\x.cs:line 4"), Some("A.B"), Some("one\r\ntwo"), true);
        check(dotnet("A.B: outer ---> C.D: inner\n   at X()"), Some("A.B"), Some("outer"), true);
        check(dotnet("A.G`1[System.Int32]: no"), Some("A.G`1[System.Int32]"), Some("no"), false);
        check(dotnet("no exception at all: really"), None, Some("no exception at all: really"), false);
        assert_eq!(dotnet(""), None);
    }

    #[test]
    fn reads_java() {
        fn check(trace: &str, expected: Option<&str>) {
            assert_eq!(java_class(trace).as_deref(), expected);
        }
        check("a.Outer: x\n\tat y\nCaused by: a.Inner: z\nCaused by: a.Root: z", Some("a.Inner"));
        check("a.Outer: x\n\tat y", Some("a.Outer"));
        check("a.Outer\n\tat y", Some("a.Outer"));
        check("no trace", None);
        check("", None);
    }

    #[test]
    fn reads_python() {
        let frames = "Traceback (most recent call last):\n  File \"a.py\", line 9, in f\n    raise X\n";
        check(python(&format!("{frames}RuntimeError: smtp: down\n")), Some("RuntimeError"), Some("smtp: down"), true);
        check(python(&format!("{frames}KeyError\n")), Some("KeyError"), None, true);
        check(python(&format!("{frames}a.Error: one\nand two lines\n")), Some("a.Error"), Some("one"), true);
        assert_eq!(python(""), None);
    }

    #[test]
    fn reads_ruby() {
        check(ruby("#<RuntimeError: upstream 502>"), Some("RuntimeError"), Some("upstream 502"), false);
        check(ruby("#<A::B: A::B>"), Some("A::B"), Some("A::B"), false);
        check(ruby("timeout"), None, Some("timeout"), false);
    }
}
