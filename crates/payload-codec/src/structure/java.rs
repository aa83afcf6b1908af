//! Java's object serialization
//! (<https://docs.oracle.com/en/java/javase/21/docs/specs/serialization/protocol.html>).
//!
//! Fields are read by the descriptions that the stream itself has of its classes. What a class writes by its own methods
//! stands beside them as `#data`.

use std::rc::Rc;

use super::{
    Unreadable,
    budget::{Budget, base64, float},
    malformed,
};
use crate::{
    json::{Kind, Member, Node},
    limits::Limits,
};

const MAGIC: &[u8] = &[0xac, 0xed, 0, 5];

pub(super) fn looks_so(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC) && bytes.len() > MAGIC.len()
}

pub(super) fn read(bytes: &[u8], limits: &Limits) -> Result<Node<'static>, Unreadable> {
    if !looks_so(bytes) {
        return malformed("it does not begin as a Java object");
    }
    let budget = Budget::new(bytes.len(), limits);
    let mut reader = Reader { bytes, at: MAGIC.len(), handles: Vec::new(), budget, max_ancestors: limits.depth };
    let mut contents = Vec::new();
    while reader.at < bytes.len() {
        contents.push(reader.content()?);
    }
    Ok(if contents.len() == 1 { contents.remove(0) } else { Node::array(contents) })
}

/// What a later part of the stream can refer to.
#[derive(Clone)]
enum Handle {
    Class(Option<Rc<Class>>),
    Text(String),
    /// Anything else is not repeated.
    Other,
}

struct Class {
    name: String,
    flags: u8,
    fields: Vec<(u8, String)>,
    parent: Option<Rc<Class>>,
    /// Its parent, the parent of that, and so on.
    n_ancestors: usize,
}

/// What a class description says of how its objects are written.
const WRITES_ITSELF: u8 = 1;
const SERIALIZABLE: u8 = 2;
const EXTERNALIZABLE: u8 = 4;
const IN_BLOCKS: u8 = 8;

/// The number of the first handle.
const FIRST_HANDLE: u32 = 0x7e_0000;

const END_OF_BLOCK: u8 = 0x78;

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    handles: Vec<Handle>,
    budget: Budget,
    max_ancestors: usize,
}

type Step<T> = Result<T, Unreadable>;

impl<'a> Reader<'a> {
    fn content(&mut self) -> Step<Node<'static>> {
        self.budget.value()?;
        self.budget.enter()?;
        let node = match self.byte()? {
            0x70 => Node::null(),
            0x71 => self.reference()?,
            0x72 | 0x7d => {
                self.at = self.at.saturating_sub(1);
                let class = self.class()?;
                Node::pair("#class", self.name_of(class.as_deref())?)
            }
            0x73 => self.object()?,
            0x74 => self.text(2)?,
            0x75 => self.array()?,
            0x76 => {
                let class = self.class()?;
                self.handles.push(Handle::Other);
                Node::pair("#class", self.name_of(class.as_deref())?)
            }
            0x77 => {
                let n = self.number(1)?;
                self.block(n)?
            }
            0x79 => {
                self.handles.clear();
                Node::null()
            }
            0x7a => {
                let n = self.number(4)?;
                self.block(n)?
            }
            0x7c => self.text(8)?,
            0x7e => {
                let class = self.class()?;
                self.handles.push(Handle::Other);
                let constant = self.content()?;
                let name = self.name_of(class.as_deref())?;
                Node::object(vec![Member::new("#class", name), Member::new("#enum", constant)])
            }
            other => return malformed(format!("{other:#04x} at byte {} begins nothing", self.at.saturating_sub(1))),
        };
        self.budget.leave();
        Ok(node)
    }

    fn reference(&mut self) -> Step<Node<'static>> {
        let number = self.number(4)?;
        let Some(handle) = self.handle(number)? else { return malformed("it refers to what is not there") };
        Ok(match handle {
            Handle::Text(text) => {
                self.budget.content(text.len())?;
                Node::text(text)
            }
            Handle::Class(class) => Node::pair("#class", self.name_of(class.as_deref())?),
            Handle::Other => Node::pair("#reference", Node::number(number.saturating_sub(FIRST_HANDLE.into()))),
        })
    }

    fn handle(&self, number: u64) -> Step<Option<Handle>> {
        let Some(at) = number.checked_sub(FIRST_HANDLE.into()) else {
            return malformed("it refers to what is not there");
        };
        Ok(usize::try_from(at).ok().and_then(|at| self.handles.get(at)).cloned())
    }

    fn block(&mut self, n: u64) -> Step<Node<'static>> {
        let bytes = self.take(usize::try_from(n).or_else(|_| malformed("it ends too early"))?)?;
        self.budget.content(bytes.len())?;
        Ok(base64(bytes))
    }

    fn text(&mut self, n_length: usize) -> Step<Node<'static>> {
        let text = self.utf(n_length)?;
        self.handles.push(Handle::Text(text.clone()));
        Ok(Node::text(text))
    }

    /// A class description, in place or referred to; `None` for none.
    fn class(&mut self) -> Step<Option<Rc<Class>>> {
        self.budget.value()?;
        self.budget.enter()?;
        let class = match self.byte()? {
            0x70 => None,
            0x71 => {
                let number = self.number(4)?;
                match self.handle(number)? {
                    Some(Handle::Class(class)) => class,
                    _ => return malformed("it refers to a class that is not there"),
                }
            }
            0x72 => self.new_class()?,
            0x7d => self.proxy()?,
            _ => return malformed("a class was expected"),
        };
        self.budget.leave();
        Ok(class)
    }

    /// The name of a class, which stands there once and is shown at each of its uses.
    fn name_of(&mut self, class: Option<&Class>) -> Step<Node<'static>> {
        let name = class.map_or("", |class| class.name.as_str());
        self.budget.content(name.len())?;
        Ok(Node::text(name.to_owned()))
    }

    fn new_class(&mut self) -> Step<Option<Rc<Class>>> {
        let name = self.utf(2)?;
        self.take(8)?;
        let handle = self.handles.len();
        self.handles.push(Handle::Class(None));
        let flags = self.byte()?;
        let n_fields = self.number(2)?;
        let mut fields = Vec::new();
        for _ in 0..n_fields {
            self.budget.value()?;
            let kind = self.byte()?;
            let field = self.utf(2)?;
            if matches!(kind, b'L' | b'[') {
                self.content()?;
            }
            fields.push((kind, field));
        }
        self.child(handle, name, flags, fields).map(Some)
    }

    fn proxy(&mut self) -> Step<Option<Rc<Class>>> {
        let handle = self.handles.len();
        self.handles.push(Handle::Class(None));
        let n_interfaces = self.number(4)?;
        let mut names = Vec::new();
        for _ in 0..n_interfaces {
            self.budget.value()?;
            names.push(self.utf(2)?);
        }
        self.child(handle, names.join(", "), SERIALIZABLE, Vec::new()).map(Some)
    }

    /// The rest of a description, which ends with that of its parent; later parts of the stream know it by this handle.
    fn child(&mut self, handle: usize, name: String, flags: u8, fields: Vec<(u8, String)>) -> Step<Rc<Class>> {
        self.annotations()?;
        let parent = self.class()?;
        let n_ancestors = parent.as_ref().map_or(0, |parent| parent.n_ancestors.saturating_add(1));
        // A parent may be one that was described before, and so a chain be longer than anything is nested. To let go of it takes
        // a piece of the stack for each.
        if n_ancestors > self.max_ancestors {
            return Err(Unreadable::TooMuch);
        }
        let class = Rc::new(Class { name, flags, fields, parent, n_ancestors });
        if let Some(kept) = self.handles.get_mut(handle) {
            *kept = Handle::Class(Some(Rc::clone(&class)));
        }
        Ok(class)
    }

    /// What a class wrote by itself, up to the end of its block.
    fn annotations(&mut self) -> Step<Vec<Node<'static>>> {
        let mut contents = Vec::new();
        while self.bytes.get(self.at) != Some(&END_OF_BLOCK) {
            contents.push(self.content()?);
        }
        self.take(1)?;
        Ok(contents)
    }

    fn object(&mut self) -> Step<Node<'static>> {
        let class = self.class()?;
        self.handles.push(Handle::Other);
        let Some(class) = class else { return malformed("an object has no class") };
        let mut members = vec![Member::new("#class", self.name_of(Some(&class))?)];
        let mut data = Vec::new();
        let mut classes = Vec::new();
        let mut next = Some(Rc::clone(&class));
        while let Some(one) = next {
            self.budget.value()?;
            next = one.parent.clone();
            classes.push(one);
        }
        // Parents write first.
        for class in classes.iter().rev() {
            self.fields_of(class, &mut members, &mut data)?;
        }
        if !data.is_empty() {
            members.push(Member::new("#data", Node::array(data)));
        }
        Ok(Node::object(members))
    }

    fn fields_of(
        &mut self,
        class: &Class,
        members: &mut Vec<Member<'static>>,
        data: &mut Vec<Node<'static>>,
    ) -> Step<()> {
        if class.flags & EXTERNALIZABLE != 0 {
            if class.flags & IN_BLOCKS == 0 {
                return malformed(format!("only the class {} can read what it wrote", class.name));
            }
            data.extend(self.annotations()?);
            return Ok(());
        }
        for (kind, name) in &class.fields {
            let value = self.value(*kind)?;
            self.budget.content(name.len())?;
            members.push(Member::new(name.clone(), value));
        }
        if class.flags & WRITES_ITSELF != 0 {
            data.extend(self.annotations()?);
        }
        Ok(())
    }

    fn value(&mut self, kind: u8) -> Step<Node<'static>> {
        if matches!(kind, b'L' | b'[') {
            return self.content();
        }
        self.budget.value()?;
        Ok(match kind {
            b'B' => Node::number(self.signed(1)?),
            b'S' => Node::number(self.signed(2)?),
            b'I' => Node::number(self.signed(4)?),
            b'J' => Node::number(self.signed(8)?),
            b'C' => {
                let unit = self.number(2)? as u32;
                Node::text(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER).to_string())
            }
            b'F' => {
                let number = f32::from_bits(self.number(4)? as u32);
                if number.is_finite() { Node::number(format!("{number:?}")) } else { float(number.into()) }
            }
            b'D' => float(f64::from_bits(self.number(8)?)),
            b'Z' => Kind::Bool(self.byte()? != 0).into(),
            _ => return malformed("a field has no type that there is"),
        })
    }

    fn array(&mut self) -> Step<Node<'static>> {
        let class = self.class()?;
        self.handles.push(Handle::Other);
        let n = usize::try_from(self.number(4)?).or_else(|_| malformed("it ends too early"))?;
        let kind = class.as_ref().and_then(|class| class.name.as_bytes().get(1).copied()).unwrap_or(b'L');
        if kind == b'B' {
            let bytes = self.take(n)?;
            self.budget.content(bytes.len())?;
            return Ok(base64(bytes));
        }
        if n > self.bytes.len().saturating_sub(self.at) {
            return malformed("it ends too early");
        }
        (0..n).map(|_| self.value(kind)).collect::<Step<_>>().map(Node::array)
    }

    /// Java's own UTF-8, in which a zero is two bytes and a pair of surrogates six.
    fn utf(&mut self, n_length: usize) -> Step<String> {
        let n = usize::try_from(self.number(n_length)?).or_else(|_| malformed("it ends too early"))?;
        let bytes = self.take(n)?;
        self.budget.content(n)?;
        if let Ok(text) = std::str::from_utf8(bytes) {
            return Ok(text.to_owned());
        }
        let mut units = Vec::with_capacity(bytes.len());
        let mut rest = bytes.iter().map(|byte| u16::from(*byte));
        while let Some(first) = rest.next() {
            let mut low = || rest.next().map_or(0, |byte| byte & 0x3f);
            units.push(match first {
                0..0x80 => first,
                0xc0..0xe0 => (first & 0x1f) << 6 | low(),
                _ => (first & 0x0f) << 12 | low() << 6 | low(),
            });
        }
        Ok(String::from_utf16_lossy(&units))
    }

    fn byte(&mut self) -> Step<u8> {
        Ok(self.take(1)?.first().copied().unwrap_or_default())
    }

    fn number(&mut self, n_bytes: usize) -> Step<u64> {
        Ok(self.take(n_bytes)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn signed(&mut self, n_bytes: usize) -> Step<i64> {
        let unused_bits = 64 - 8 * n_bytes as u32;
        Ok((self.number(n_bytes)? << unused_bits).cast_signed() >> unused_bits)
    }

    fn take(&mut self, n: usize) -> Step<&'a [u8]> {
        let end = self.at.checked_add(n);
        let Some(taken) = end.and_then(|end| self.bytes.get(self.at..end)) else {
            return malformed("it ends too early");
        };
        self.at = self.at.saturating_add(n);
        Ok(taken)
    }
}
