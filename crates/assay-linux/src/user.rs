//! Users of this machine. A guest has the same users.

/// A user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The name.
    pub name: String,
    /// The number.
    pub id: u32,
    /// The number of the user's first group.
    pub group: u32,
    /// The home directory.
    pub home: String,
}

impl User {
    /// Finds a user in `/etc/passwd`.
    pub fn find(name: &str) -> Option<User> {
        let all = std::fs::read("/etc/passwd").unwrap_or_default();
        String::from_utf8_lossy(&all).lines().filter_map(of_line).find(|user| user.name == name)
    }

    /// Returns the variables that name the user in an environment.
    pub fn environment(&self) -> [(&'static str, &str); 3] {
        [("USER", &self.name), ("LOGNAME", &self.name), ("HOME", &self.home)]
    }
}

/// Reads a line of `/etc/passwd`.
fn of_line(line: &str) -> Option<User> {
    let fields: Vec<&str> = line.split(':').collect();
    let [name, _, id, group, _, home, _] = fields[..] else { return None };
    let (id, group) = (id.parse().ok()?, group.parse().ok()?);
    Some(User { name: name.into(), id, group, home: home.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_seven_fields() {
        let user = of_line("postgres:x:112:120:PostgreSQL,,,:/var/lib/postgresql:/bin/bash");
        let user = user.expect("a line");
        assert_eq!((user.name.as_str(), user.id, user.group), ("postgres", 112, 120));
        assert_eq!(user.environment()[2], ("HOME", "/var/lib/postgresql"));
        assert_eq!(of_line("# postgres"), None);
        assert_eq!(of_line("postgres:x:many:120::/:/bin/sh"), None);
    }
}
