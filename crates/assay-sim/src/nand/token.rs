//! Who waits for the end of a flash operation.

use crate::lpn::Lpn;

/// Who waits for the end of a flash operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiter {
    /// The host request in this slot of the drive.
    Request(u32),
    /// The read-ahead window with this number.
    ReadAhead(u32),
    /// The write buffer. The request that wrote the page has been answered.
    Buffer,
    /// The operations that wait until the map, or a record of trims, is saved.
    MapSave,
    /// The accesses that wait for a page of the cached mapping table (DFTL).
    MapMiss,
}

/// The end of an operation, or of a part of it, with the token of the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlashEvent {
    /// The data of a read is in the controller.
    Read(Token),
    /// The data of a program is in the register of its plane.
    Loaded(Token),
    /// The data of a program is in the cells of the plane given second.
    Programmed(Token, u32),
}

/// A name for a flash operation in its [`FlashEvent`]s: who waits for it, and
/// its logical page.
///
/// *Hot path.* It is packed into 64 bits, because queues hold millions of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Token(u64);

/// Set if the data of a program is safe for its waiter only in the cells, not in the register.
const IN_CELLS: u64 = 1 << 63;
/// Set if the number is one of a read-ahead window.
const READ_AHEAD: u64 = 1 << 62;
/// Set if operations of collection had to end first when the operation was requested.
const BEHIND_COLLECTION: u64 = 1 << 31;

/// The numbers in a token are below it; the greatest three stand for other waiters than requests.
const NUMBERS: u32 = 1 << 30;
const BUFFER: u32 = NUMBERS - 1;
const MAP_SAVE: u32 = NUMBERS - 2;
const MAP_MISS: u32 = NUMBERS - 3;

impl Token {
    /// The token of an operation whose end no one waits for. It has no waiter and no page.
    pub(crate) const NONE: Token = Token(u64::MAX);

    /// The number of read-ahead windows that tokens can tell apart. With one more, the last token
    /// would be [`Token::NONE`].
    pub(crate) const WINDOWS: u32 = NUMBERS - 1;

    /// Returns the token of an operation on logical page `page`, below 2³¹, that `waiter` waits
    /// for.
    #[inline]
    pub(crate) fn new(waiter: Waiter, page: Lpn) -> Token {
        let (flag, number) = match waiter {
            Waiter::Request(number) => (0, number),
            Waiter::ReadAhead(window) => (READ_AHEAD, window),
            Waiter::Buffer => (0, BUFFER),
            Waiter::MapSave => (0, MAP_SAVE),
            Waiter::MapMiss => (0, MAP_MISS),
        };
        debug_assert!(
            u64::from(page) < BEHIND_COLLECTION && number < NUMBERS,
            "{waiter:?} {page:?}"
        );
        Token(flag | u64::from(number) << 32 | u64::from(page))
    }

    /// Returns the token with the mark that the data is safe only in the cells.
    #[inline]
    pub(crate) fn in_cells(self) -> Token {
        Token(self.0 | IN_CELLS)
    }

    /// Returns `true` if the waiter waits until the data is in the cells.
    #[inline]
    pub(crate) fn waits_for_cells(self) -> bool {
        self.0 & IN_CELLS != 0
    }

    /// Returns the token with the mark that collection went first.
    #[inline]
    pub(super) fn behind_collection(self) -> Token {
        Token(self.0 | BEHIND_COLLECTION)
    }

    /// Returns `true` if collection went first.
    #[inline]
    pub(crate) fn is_behind_collection(self) -> bool {
        self.0 & BEHIND_COLLECTION != 0
    }

    /// Returns who waits. The token must not be [`Token::NONE`].
    #[inline]
    pub(crate) fn waiter(self) -> Waiter {
        let number = (self.0 >> 32) as u32 & (NUMBERS - 1);
        match number {
            _ if self.0 & READ_AHEAD != 0 => Waiter::ReadAhead(number),
            BUFFER => Waiter::Buffer,
            MAP_SAVE => Waiter::MapSave,
            MAP_MISS => Waiter::MapMiss,
            _ => Waiter::Request(number),
        }
    }

    /// Returns the logical page. The token must not be [`Token::NONE`].
    #[inline]
    pub(crate) fn page(self) -> Lpn {
        Lpn((self.0 & (BEHIND_COLLECTION - 1)) as u32)
    }

    /// Returns the number of the logical page, as observers get it, or `None` for [`Token::NONE`].
    #[inline]
    pub(super) fn subject(self) -> Option<u32> {
        (self != Token::NONE).then(|| self.page().0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_gives_back_its_waiter_and_page() {
        let waiters = [
            Waiter::Request(0),
            Waiter::Request(MAP_MISS - 1),
            Waiter::ReadAhead(0),
            Waiter::ReadAhead(Token::WINDOWS - 1),
            Waiter::Buffer,
            Waiter::MapSave,
            Waiter::MapMiss,
        ];
        for waiter in waiters {
            for page in [0, 1, (1 << 31) - 1].map(Lpn) {
                let token = Token::new(waiter, page);
                for token in [token, token.in_cells(), token.in_cells().behind_collection()] {
                    assert_eq!((token.waiter(), token.page()), (waiter, page));
                    assert_ne!(token, Token::NONE, "{waiter:?} {page:?}");
                }
                assert!(!token.waits_for_cells() && token.in_cells().waits_for_cells());
                assert!(!token.is_behind_collection());
                assert!(token.behind_collection().is_behind_collection());
            }
        }
    }
}
