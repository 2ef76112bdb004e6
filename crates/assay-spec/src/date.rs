//! Days of the calendar.

use std::fmt;
use std::str::FromStr;

/// What a text for a [`Date`] must be.
pub const DATE_EXPECTED: &str = "a day from 1970-01-01 to 2099-12-31";

const NS_A_DAY: u64 = 86_400_000_000_000;

/// A day of the Gregorian calendar, counted from 1 January 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Date(u32);

impl Date {
    /// The day on which guests boot, unless the user says another.
    pub const OF_GUESTS: Date = Date(14_610); // 2010-01-01

    /// Returns the day on which so many days have passed since 1 January 1970.
    pub fn from_days(days: u32) -> Date {
        Date(days)
    }

    /// Returns the time from the beginning of 1970 to the beginning of this day, in ns.
    pub fn nanoseconds(self) -> u64 {
        u64::from(self.0) * NS_A_DAY
    }
}

/// Returns the number of days of a month, or `None` if a year has no such month.
pub(crate) fn days_in_month(year: u32, month: u32) -> Option<u32> {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 => Some(28 + u32::from(leap)),
        4 | 6 | 9 | 11 => Some(30),
        1..=12 => Some(31),
        _ => None,
    }
}

/// Returns a part of a date: a number above 0 of so many digits.
pub(crate) fn part(text: &str, digits: usize) -> Option<u32> {
    let all = text.len() == digits && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|n| all && *n >= 1)
}

/// Reads `YYYY-MM-DD` (Hinnant, "chrono-Compatible Low-Level Date Algorithms").
impl FromStr for Date {
    type Err = ();

    fn from_str(text: &str) -> Result<Date, ()> {
        let parts: Vec<&str> = text.split('-').collect();
        let [year, month, day] = parts[..] else { return Err(()) };
        let (year, month) = (part(year, 4).ok_or(())?, part(month, 2).ok_or(())?);
        let day = part(day, 2).ok_or(())?;
        if !(1970..2100).contains(&year) || day > days_in_month(year, month).ok_or(())? {
            return Err(());
        }
        // Years begin in March, so that the leap day is the last.
        let shifted = if month > 2 { month - 3 } else { month + 9 };
        let year = if month > 2 { year } else { year - 1 };
        let (era, year_of_era) = (year / 400, year % 400);
        let day_of_year = (153 * shifted + 2) / 5 + day - 1;
        let day_of_era = 365 * year_of_era + year_of_era / 4 - year_of_era / 100 + day_of_year;
        Ok(Date(era * 146_097 + day_of_era - 719_468))
    }
}

/// Writes `YYYY-MM-DD`, by the reverse of the same algorithm.
impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let days = u64::from(self.0) + 719_468;
        let (era, day_of_era) = (days / 146_097, days % 146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * shifted + 2) / 5 + 1;
        let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
        let year = year_of_era + era * 400 + u64::from(month <= 2);
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_read_as_it_is_written() {
        assert_eq!("2010-01-01".parse(), Ok(Date::OF_GUESTS));
        assert_eq!("1970-01-01".parse(), Ok(Date(0)));
        let last: Date = "2099-12-31".parse().expect("a day");
        for days in 0..=last.0 {
            assert_eq!(Date(days).to_string().parse(), Ok(Date(days)));
        }
        for bad in
            ["2010-1-1", "2010-02-29", "2010-13-01", "1969-12-31", "2100-01-01", "2010-01", ""]
        {
            assert_eq!(bad.parse::<Date>(), Err(()), "{bad}");
        }
    }
}
