//! Parser: tokens to a tree, by recursive descent. Precedence, from low to high: `or`, `and`,
//! `not`, comparison (does not chain), `+ -`, `* /`, unary `-`.

use super::lexer::{Placed, Token, tokens, unit};
use super::node::{Arithmetic, ComparisonOperator, ExprError, FUNCTIONS, Node, NodeKind};

/// The deepest nesting of parentheses and calls, and the longest chain of `-` signs or of `not`.
const DEEPEST: usize = 64;
/// The longest chain `a + b + c ...`: each link makes the tree one level deeper.
const LONGEST_CHAIN: usize = 256;
/// The longest text in bytes.
const LONGEST: usize = 64 * 1024;

struct Parser {
    tokens: Vec<Placed>,
    next: usize,
    depth: usize,
    end: usize,
}

type Parsed = Result<Node, ExprError>;

/// Parses the whole text.
pub fn parse(text: &str, bare: bool) -> Parsed {
    if text.len() > LONGEST {
        let message = format!("an expression has at most {LONGEST} bytes");
        let hint = "split it into several".to_owned();
        return Err(ExprError { position: LONGEST, end: text.len(), message, hint });
    }
    let tokens = tokens(text, bare)?;
    let mut parser = Parser { tokens, next: 0, depth: 0, end: text.len() };
    let root = parser.or()?;
    match parser.peek() {
        None => Ok(root),
        Some(_) => Err(parser.more()),
    }
}

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next).map(|p| &p.token)
    }

    fn error(&self, message: &str) -> ExprError {
        let (position, end) =
            self.tokens.get(self.next).map_or((self.end, self.end), |p| (p.start, p.end));
        ExprError { position, end, message: message.to_owned(), hint: String::new() }
    }

    /// Returns the error for a token that stands where the text should end.
    fn more(&self) -> ExprError {
        let e = self.error("expected an operator or the end");
        let before = self.next.checked_sub(1).and_then(|i| self.tokens.get(i)).map(|p| &p.token);
        let word = match (before, self.peek()) {
            (Some(Token::Number(..)), Some(Token::Reference(r))) => r.metric.as_str(),
            (Some(Token::Number(..)), Some(Token::Word(word))) => word.as_str(),
            _ => "",
        };
        if unit(word).is_none() {
            return e;
        }
        ExprError { hint: format!("write a unit directly after its number: `1{word}`"), ..e }
    }

    fn take_sign(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Sign(s)) if *s == sign);
        self.next += usize::from(found);
        found
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Word(w)) if w == word);
        self.next += usize::from(found);
        found
    }

    /// Runs `inner` one level deeper, or returns an error if that is too deep.
    fn deeper(&mut self, inner: impl FnOnce(&mut Parser) -> Parsed) -> Parsed {
        if self.depth >= DEEPEST {
            return Err(self.error("nested too deeply"));
        }
        self.depth += 1;
        let parsed = inner(self);
        self.depth -= 1;
        parsed
    }

    fn or(&mut self) -> Parsed {
        self.chain("or", Parser::and, NodeKind::Or)
    }

    fn and(&mut self) -> Parsed {
        self.chain("and", Parser::not, NodeKind::And)
    }

    fn chain(
        &mut self,
        word: &str,
        operand: fn(&mut Parser) -> Parsed,
        make: fn(Vec<Node>) -> NodeKind,
    ) -> Parsed {
        let first = operand(self)?;
        let mut nodes = vec![first];
        while self.take_word(word) {
            nodes.push(operand(self)?);
        }
        let (start, end) = (nodes[0].start, nodes[nodes.len() - 1].end);
        match nodes.pop() {
            Some(only) if nodes.is_empty() => Ok(only),
            Some(last) => {
                nodes.push(last);
                Ok(Node { start, end, kind: make(nodes) })
            }
            None => Err(self.error("expected a value")),
        }
    }

    fn not(&mut self) -> Parsed {
        let start = self.position();
        if self.take_word("not") {
            let inner = self.deeper(Parser::not)?;
            return Ok(Node { start, end: inner.end, kind: NodeKind::Not(Box::new(inner)) });
        }
        self.comparison()
    }

    fn position(&self) -> usize {
        self.tokens.get(self.next).map_or(self.end, |p| p.start)
    }

    fn comparison(&mut self) -> Parsed {
        let left = self.sum()?;
        let Some(Token::Sign(sign)) = self.peek() else { return Ok(left) };
        let comparison = match *sign {
            "<" => ComparisonOperator::Less,
            "<=" => ComparisonOperator::LessEqual,
            ">" => ComparisonOperator::Greater,
            ">=" => ComparisonOperator::GreaterEqual,
            "==" => ComparisonOperator::Equal,
            "!=" => ComparisonOperator::NotEqual,
            _ => return Ok(left),
        };
        self.next += 1;
        let right = self.sum()?;
        let (start, end) = (left.start, right.end);
        let kind = NodeKind::Compare(comparison, Box::new(left), Box::new(right));
        Ok(Node { start, end, kind })
    }

    fn sum(&mut self) -> Parsed {
        let signs = [("+", Arithmetic::Add), ("-", Arithmetic::Subtract)];
        self.arithmetic(signs, Parser::product)
    }

    fn product(&mut self) -> Parsed {
        let signs = [("*", Arithmetic::Multiply), ("/", Arithmetic::Divide)];
        self.arithmetic(signs, Parser::unary)
    }

    fn arithmetic(
        &mut self,
        signs: [(&str, Arithmetic); 2],
        operand: fn(&mut Parser) -> Parsed,
    ) -> Parsed {
        let mut left = operand(self)?;
        for _ in 0..LONGEST_CHAIN {
            let Some((_, kind)) = signs.iter().find(|(sign, _)| self.take_sign(sign)) else {
                return Ok(left);
            };
            let right = operand(self)?;
            let (start, end) = (left.start, right.end);
            let kind = NodeKind::Arithmetic(*kind, Box::new(left), Box::new(right));
            left = Node { start, end, kind };
        }
        Err(self.error("too many terms in a row"))
    }

    fn unary(&mut self) -> Parsed {
        let start = self.position();
        if self.take_sign("-") {
            let inner = self.deeper(Parser::unary)?;
            return Ok(Node { start, end: inner.end, kind: NodeKind::Negate(Box::new(inner)) });
        }
        self.primary()
    }

    fn primary(&mut self) -> Parsed {
        let Some(placed) = self.tokens.get(self.next).cloned() else {
            return Err(self.error("expected a value"));
        };
        let (start, end) = (placed.start, placed.end);
        match placed.token {
            Token::Number(n, dimension) => {
                self.next += 1;
                Ok(Node { start, end, kind: NodeKind::Number(n, dimension) })
            }
            Token::Reference(r) => {
                self.next += 1;
                Ok(Node { start, end, kind: NodeKind::Reference(r) })
            }
            Token::Sign("(") => {
                self.next += 1;
                let inner = self.deeper(Parser::or)?;
                let end = self.close()?;
                Ok(Node { start, end, ..inner })
            }
            Token::Word(name) => self.call(&name, start),
            Token::Sign(_) => Err(self.error("expected a value")),
        }
    }

    /// Takes `)` and returns the offset of the byte after it.
    fn close(&mut self) -> Result<usize, ExprError> {
        let end = self.tokens.get(self.next).map_or(self.end, |p| p.end);
        if self.take_sign(")") { Ok(end) } else { Err(self.error("expected `)`")) }
    }

    fn call(&mut self, name: &str, start: usize) -> Parsed {
        let Some((_, function, fewest, most)) = FUNCTIONS.iter().find(|(n, ..)| *n == name) else {
            let names: Vec<&str> = FUNCTIONS.iter().map(|(n, ..)| *n).collect();
            let hint = format!("functions are {}", names.join(", "));
            return Err(ExprError {
                hint,
                ..self.error(&format!("there is no function `{name}`"))
            });
        };
        self.next += 1;
        if !self.take_sign("(") {
            return Err(self.error("expected `(`"));
        }
        let mut arguments = vec![self.deeper(Parser::or)?];
        while self.take_sign(",") {
            arguments.push(self.deeper(Parser::or)?);
        }
        let end = self.close()?;
        if !(*fewest..=*most).contains(&arguments.len()) {
            let message = format!("`{name}` takes {fewest} to {most} arguments");
            return Err(ExprError { position: start, end, message, hint: String::new() });
        }
        if function.takes_pairs() && arguments.len() % 2 == 1 {
            let message = format!("`{name}` takes pairs, but the last pair has no rate");
            let hint = format!("write e.g. `{name}(1, 100MB/s, 2, 190MB/s, 3, 200MB/s)`");
            return Err(ExprError { position: start, end, message, hint });
        }
        Ok(Node { start, end, kind: NodeKind::Call(*function, arguments) })
    }
}
