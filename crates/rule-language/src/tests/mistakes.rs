use super::super::{Expression, MAX_BRACKETS, MAX_CHARACTERS, MAX_DEPTH, Mistake};

/// `marked` is the rule with «» around what the mistake is about.
#[track_caller]
fn check(marked: &str, message: &str) {
    let rule = marked.replace(['«', '»'], "");
    let mistakes = Expression::compile(&rule).expect_err(&rule);
    let shown: Vec<String> = mistakes.iter().map(|mistake| mark(&rule, mistake)).collect();
    assert_eq!((shown.first().map(String::as_str), mistakes[0].message.as_str()), (Some(marked), message));
}

fn mark(rule: &str, mistake: &Mistake) -> String {
    let at = |place: super::super::Place| {
        let start: usize = rule.split_inclusive('\n').take(place.line - 1).map(str::len).sum();
        let column: usize = rule[start..].chars().take(place.column - 1).map(char::len_utf8).sum();
        start + column
    };
    let (start, end) = (at(mistake.start), at(mistake.end));
    format!("{}«{}»{}", &rule[..start], &rule[start..end], &rule[end..])
}

#[test]
fn names_have_to_exist() {
    check("«lettre».queue == 'a'", "nothing is called `lettre`; did you mean `letter`?");
    check("letter.«quue» == 'a'", "nothing is called `quue`; did you mean `queue`?");
    check("letter.«Queue» == 'a'", "nothing is called `Queue`; did you mean `queue`?");
    check("'é😀' == letter.«routingkey»", "nothing is called `routingkey`; did you mean `routing_key`?");
    check("has(letter.«tipe»)", "nothing is called `tipe`; did you mean `type`?");
    check("«body».id == 1", "nothing is called `body`; a rule sees `letter` and `payload`");
    check("«letter» == 1", "name a field, as in letter.queue");
    check("letter«[»'queue'] == 'a'", "name a field, as in letter.queue");
    check(
        "letter.«colour» == 1",
        "a letter has no `colour`; it has queue, exchange, routing_key, broker, reason, attempts, type, headers, error, \
         error_type, error_message, size, first_failed_at, last_failed_at",
    );
    check("payload.a.all(item, «itme» == 1)", "nothing is called `itme`; did you mean `item`?");
    check("payload.a.all(x, true) && «x»", "nothing is called `x`; a rule sees `letter` and `payload`");
}

#[test]
fn functions_have_to_exist_and_be_used_as_they_are() {
    check("letter.queue.«startswith»('a')", "nothing is called `startswith`; did you mean `startsWith`?");
    check("letter.queue.«strtsWith»('a')", "nothing is called `strtsWith`; did you mean `startsWith`?");
    check(
        "«frobnicate»(payload)",
        "there is no function `frobnicate`; there are size, startsWith, endsWith, contains, lowerAscii, upperAscii, int, \
         uint, double, string, bool, timestamp, duration, getDayOfWeek, getHours, getMinutes, matches, has, all, exists, \
         exists_one, filter, map",
    );
    check("letter.queue.«startsWith»()", "write it as ….startsWith(text)");
    check("«startsWith»(letter.queue, 'a')", "write it as ….startsWith(text)");
    check("payload.n.«int»() == 1", "write it as int(…)");
    check("letter.queue.startsWith(«1»)", "startsWith takes a text, but this is a number");
    check("letter.«attempts».startsWith('a')", "startsWith takes a text, but this is a number");
    check("size(«1») == 1", "size takes a text or a list or a map, but this is a number");
    check("«has»(payload.a, payload.b)", "write has(…) with one field in it, as has(payload.id)");
    check("«has»('a')", "has takes a field of the letter or the payload");
    check("payload.a.«all»(x)", "write it as list.all(x, what is asked of x)");
    check("payload.a.all(«1», true)", "the first argument is a name for the elements, as x");
    check("payload.a.all(«letter», true)", "`letter` means something else; choose another name");
    check("payload.a.all(x, «1»)", "all asks for yes or no, but this is a number");
    check("letter.«queue».all(x, true)", "all goes through a list or a map, but this is a text");
    check(
        "letter.last_failed_at > timestamp(«'today'»)",
        "this is not the text of a point in time, as 2026-01-31T09:00:00Z",
    );
    check("duration(«'1d'») > duration('1h')", "this is not the text of a duration, as 90s or 1h30m or 48h");
}

#[test]
fn patterns_have_to_compile() {
    check("letter.queue.matches(«'a('»)", "this is no regular expression: unclosed group");
    check(
        "letter.queue.matches(«r'(?=a)'»)",
        "this is no regular expression: look-around, including look-ahead and look-behind, is not supported",
    );
    check(
        "letter.queue.matches(«'(a{1000}){1000}'»)",
        "this is no regular expression: it is too large; take fewer or smaller repetitions, and [a-z] rather than \\w",
    );
    check("letter.queue.matches(letter.«type»)", "the pattern has to stand here in quotes");
    check("letter.«attempts».matches('a')", "matches takes a text, but this is a number");
}

#[test]
fn what_can_never_be_right_is_refused() {
    check("«letter.attempts»", "a rule has to end in yes or no, but this one ends in a number");
    check("«'true'»", "a rule has to end in yes or no, but this one ends in a text");
    check("letter.attempts «>» 'x'", "> can't compare a number with a text");
    check("letter.attempts «==» '3'", "a number is never equal to a text");
    check("letter.type «!=» null", "nothing of a letter is null; ask whether it is there, as in has(letter.type)");
    check(
        "letter.reason == «'rejetced'»",
        "letter.reason is one of rejected, expired, maxlen, delivery_limit, unknown",
    );
    check("letter.«queue» && true", "&& takes yes or no, but this is a text");
    check("!letter.«queue»", "! takes yes or no, but this is a text");
    check("letter.«attempts» ? true : false", "? takes yes or no, but this is a number");
    check("'a' «in» letter.queue", "write .contains(\"…\") to search a text");
    check("1 «in» 2", "`in` searches a list or the keys of a map, but this is a number");
    check("letter.queue «+» 1 == 'a'", "+ can't be applied to a text and a number");
    check("letter.attempts «/» 0 == 1", "this divides by zero");
    check("letter.queue«[»0] == 'a'", "a number can't be taken out of a text");
    check("letter.queue.«name» == 'a'", "a text has no members, so there is no `name`");
    check("«-»letter.queue == 'a'", "a text has no negative");
    check(
        "letter.first_failed_at «+» letter.last_failed_at == 1",
        "+ can't be applied to a point in time and a point in time",
    );
    check("Type«{»a: 1} == 1", "rules know no types of messages");
}

#[test]
fn all_mistakes_are_reported() {
    let mistakes = Expression::compile("letter.quue == 'a' &&\n  payload.x == lettre.type").unwrap_err();
    let told: Vec<String> = mistakes.iter().map(Mistake::to_string).collect();
    assert_eq!(
        told,
        [
            "line 1, column 8: nothing is called `quue`; did you mean `queue`?",
            "line 2, column 16: nothing is called `lettre`; did you mean `letter`?"
        ]
    );
}

#[test]
fn syntax_is_explained() {
    check("letter.queue «=» 'a'", "write == to compare");
    check("true «&» true", "write && for \"and\"");
    check("true «|» true", "write || for \"or\"");
    check("true «and» true", "write && for \"and\"");
    check("'😀' == 'é' «or» true", "write || for \"or\"");
    check("letter.queue «is» 'a'", "write == to compare");
    check("«not» true", "write ! for \"not\"");
    check("letter.queue == «‘»a’", "write straight quotes: \"…\" or '…'");
    check("letter.queue == «'a»", "this text has no closing quote");
    check("letter.queue == «'a»\n'", "this text has no closing quote in its line");
    check("'é' == '«\\d»+'", "there is no such escape; write \\\\ for a backslash, or r before the quote of a pattern");
    check("«»", "a rule can't be empty; `true` matches every dead letter");
    check("«  // nothing»", "a rule can't be empty; `true` matches every dead letter");
    check("letter.attempts >«»", "something is missing at the end");
    check("«(»letter.attempts > 1", "this ( is never closed");
    check("letter.attempts > 1«)»", "this ) closes nothing");
    check("(letter.attempts > 1«]»", "this ] can't close the ( before it");
    check("letter.attempts > «>» 1", "`>` does not fit here");
    check("letter.attempts == 1 «letter».queue == 'a'", "`letter` does not fit here");
    check("letter.attempts > «99999999999999999999»", "`99999999999999999999` is no number that 64 bits can hold");
    check("letter.attempts > «1a»", "`1a` is no number");
    check("letter.attempts > «0x1r»'a'", "`0x1r` is no number");
    check("'é' == «#»", "`#` has no meaning in a rule");
    check("«é» == 1", "`é` has no meaning in a rule");
    check("«b»'a' == 1", "rules know no bytes; take a text without the b before it");
    check("«xr»'a' == 1", "something is missing between `xr` and the text behind it");
    check("letter.headers.«`»é` == 1", "write [\"…\"] around a name with other signs than letters and digits");
    check("payload.a «'b'»", "something is missing before this text, such as == or a comma");
    check("«if» == 1", "`if` is a reserved word and can't be used here; as a key write [\"if\"]");
}

#[test]
fn sizes_are_bounded() {
    fn check(rule: &str, expected: Option<&str>) {
        let found = Expression::compile(rule).err().map(|mistakes| mistakes[0].message.clone());
        assert_eq!(found.as_deref(), expected, "{}", &rule[..rule.len().min(60)]);
    }
    let text = |n: usize| format!("'{}' == ''", "é".repeat(n - 8));
    check(&text(MAX_CHARACTERS), None);
    check(&text(MAX_CHARACTERS + 1), Some("a rule has at most 4000 characters"));
    let tokens = |n: usize| format!("[0{}].size() > 0", ",0".repeat(n));
    check(&tokens(400), None);
    check(&tokens(500), Some("a rule has at most 1000 words and signs"));
    let brackets = |n: usize| format!("{}true{}", "(".repeat(n), ")".repeat(n));
    check(&brackets(MAX_BRACKETS), None);
    check(&brackets(MAX_BRACKETS + 1), Some("no more than 16 brackets can stand within each other"));
    let depth = |n: usize| format!("payload{} == 1", ".a".repeat(n));
    check(&depth(MAX_DEPTH - 2), None);
    check(&depth(MAX_DEPTH - 1), Some("more than 64 steps build on each other here; split the rule into several"));
    let or = format!("payload.a == 0{}", " || payload.a == 1".repeat(120));
    check(&or, None);
}
