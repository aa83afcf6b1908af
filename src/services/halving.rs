//! Finding what the database refuses among many things that it is given together.

/// What is left of a batch that was refused.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Halved<T> {
    /// Each of them is to be tried by itself.
    Halves(Vec<T>, Vec<T>),
    /// This is what is refused.
    One(T),
}

/// Halves what was refused as a whole. Among many it takes two tries for each doubling until the one is found.
pub(crate) fn halve<T>(mut refused: Vec<T>) -> Option<Halved<T>> {
    let second = refused.split_off(refused.len().div_ceil(2));
    match (second.is_empty(), refused.pop()) {
        (_, None) => None,
        (true, Some(one)) => Some(Halved::One(one)),
        (false, Some(last)) => {
            refused.push(last);
            Some(Halved::Halves(refused, second))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives batches to somebody who refuses some; the answer is what is refused, and how often something was tried.
    fn found(n: u32, is_refused: impl Fn(u32) -> bool) -> (Vec<u32>, u32) {
        let (mut parts, mut refused, mut tries) = (vec![(0..n).collect::<Vec<_>>()], Vec::new(), 0);
        while let Some(part) = parts.pop() {
            tries += 1;
            if !part.iter().any(|item| is_refused(*item)) {
                continue;
            }
            match halve(part) {
                Some(Halved::Halves(first, second)) => parts.extend([second, first]),
                Some(Halved::One(one)) => refused.push(one),
                None => {}
            }
        }
        (refused, tries)
    }

    #[test]
    fn exactly_what_is_refused_is_found_and_soon() {
        assert_eq!(found(0, |_| true), (vec![], 1));
        assert_eq!(found(1, |_| true), (vec![0], 1));
        assert_eq!(found(7, |n| n == 3 || n == 6).0, [3, 6]);
        let (refused, tries) = found(500, |n| n == 377);
        assert!(refused == [377] && tries <= 19, "{tries} tries");
    }
}
