//! The seek curve: the time of a seek by distance, in a table.
//!
//! The curve comes from measured points, linear between and beyond them as DiskSim reads its
//! extracted curves; or from three values of a data sheet: `a + b·√d` through one cylinder and a
//! third of the stroke, then linear to the full stroke (Ruemmler and Wilkes, IEEE Computer 1994).
//! No seek takes longer than a second, so that sums of a few times fit 32 bits.

use assay_spec::Nanos;
use assay_spec::device::SeekSpec;

/// The longest time of a seek, in nanoseconds.
const LONGEST: u32 = 1_000_000_000;

/// The number of cylinders up to which every distance has its own entry. With more, only short
/// distances do, and of the others every 32nd: so the table fits the processor's cache.
const DENSE: u32 = 1 << 16;
const STEP: u32 = 32;

/// A seek curve, in nanoseconds.
pub(crate) struct SeekCurve {
    /// By distance, for all or only the short distances.
    near: Vec<u32>,
    /// By distance over [`STEP`]; linear between. Empty if `near` has all distances.
    far: Vec<u32>,
}

impl SeekCurve {
    /// Fills the table for distances up to `cylinders - 1`.
    pub(crate) fn new(spec: &SeekSpec, cylinders: u32) -> SeekCurve {
        let three = match spec {
            SeekSpec::ThreePoint { single, average, full } => {
                Some(ThreePoint::new(*single, *average, *full, cylinders))
            }
            SeekSpec::Table(_) => None,
        };
        let time = |distance| match spec {
            _ if distance == 0 => 0,
            SeekSpec::Table(points) => along(points, distance),
            SeekSpec::ThreePoint { .. } => three.as_ref().map_or(0, |t| t.time(distance)),
        };
        let dense = if cylinders <= DENSE { cylinders } else { DENSE / 16 };
        let knots = if cylinders <= DENSE { 0 } else { cylinders / STEP + 2 };
        SeekCurve {
            near: (0..dense).map(time).collect(),
            far: (0..knots).map(|knot| time(knot * STEP)).collect(),
        }
    }

    /// Returns the time of a seek over `distance` cylinders, in nanoseconds.
    pub(crate) fn time(&self, distance: u32) -> u32 {
        if let Some(time) = self.near.get(distance as usize) {
            return *time;
        }
        let knot = (distance / STEP) as usize;
        let (low, high) = (i64::from(self.far[knot]), i64::from(self.far[knot + 1]));
        (low + (high - low) * i64::from(distance % STEP) / i64::from(STEP)) as u32
    }
}

/// Returns the time at `distance` on the line through the two points around it, or through the last
/// two; before the first point, its time.
fn along(points: &[(u32, Nanos)], distance: u32) -> u32 {
    let after = points.partition_point(|(d, _)| *d <= distance).clamp(1, points.len() - 1);
    let ((d0, t0), (d1, t1)) = (points[after - 1], points[after]);
    let (d0, d1, d) = (i64::from(d0), i64::from(d1), i64::from(distance));
    let (t0, t1) = (t0.0 as i64, t1.0 as i64);
    if d < d0 {
        return t0 as u32;
    }
    (t0 + (t1 - t0) * (d - d0) / (d1 - d0)).clamp(1, i64::from(LONGEST)) as u32
}

/// A seek curve through three values of a data sheet.
struct ThreePoint {
    /// The time over one cylinder.
    single: Nanos,
    a: f64,
    b: f64,
    /// The distance up to which the time is `a + b·√d`, in cylinders.
    knee: f64,
    /// The time at the knee, in nanoseconds.
    at_knee: f64,
    /// Nanoseconds for each cylinder beyond the knee.
    slope: f64,
}

impl ThreePoint {
    fn new(single: Nanos, average: Nanos, full: Nanos, cylinders: u32) -> ThreePoint {
        let stroke = f64::from(cylinders.max(4) - 1);
        let knee = (stroke / 3.0).max(2.0);
        let b = (average.0 - single.0) as f64 / (libm::sqrt(knee) - 1.0);
        ThreePoint {
            single,
            a: single.0 as f64 - b,
            b,
            knee,
            at_knee: average.0 as f64,
            slope: (full.0 - average.0) as f64 / (stroke - knee),
        }
    }

    fn time(&self, distance: u32) -> u32 {
        let d = f64::from(distance);
        let time = match distance {
            1 => self.single.0,
            _ if d <= self.knee => (self.a + self.b * libm::sqrt(d)) as u64,
            _ => (self.at_knee + self.slope * (d - self.knee)) as u64,
        };
        time.min(u64::from(LONGEST)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(points: &[(u32, u64)]) -> SeekCurve {
        let points = points.iter().map(|(d, t)| (*d, Nanos(*t))).collect();
        SeekCurve::new(&SeekSpec::Table(points), 101)
    }

    #[test]
    fn measured_points_are_met_and_joined_by_lines() {
        let curve = table(&[(1, 1000), (2, 900), (10, 1700), (50, 5700)]);
        for (distance, time) in [(0, 0), (1, 1000), (2, 900), (10, 1700), (50, 5700)] {
            assert_eq!(curve.time(distance), time);
        }
        assert_eq!(curve.time(6), 1300, "half way between 2 and 10");
        assert_eq!(curve.time(49), 5600);
        assert_eq!(curve.time(100), 10_700, "beyond the last point the line goes on");
    }

    #[test]
    fn a_long_stroke_is_met_at_every_32nd_cylinder_and_joined_by_lines() {
        let points = vec![(1, Nanos(1_000_000)), (320_000, Nanos(33_000_000))];
        let curve = SeekCurve::new(&SeekSpec::Table(points), 320_001);
        let exact = |d: u32| 1_000_000.0 + 32_000_000.0 * f64::from(d - 1) / 319_999.0;
        for distance in (1..=320_000).step_by(977).chain([4095, 4096, 4097, 320_000]) {
            let off = f64::from(curve.time(distance)) - exact(distance);
            assert!(off.abs() <= 2.0, "{off} ns at {distance}");
        }
    }

    #[test]
    fn a_falling_line_falls_and_a_table_may_begin_late() {
        assert_eq!(table(&[(2, 1000), (4, 800)]).time(3), 900);
        assert_eq!(table(&[(5, 1000), (10, 2000)]).time(1), 1000);
        assert_eq!(table(&[(1, 1000), (2, 10)]).time(100), 1, "never below a nanosecond");
    }

    #[test]
    fn three_points_are_met() {
        let (single, average) = (Nanos::from_millis(1), Nanos::from_millis(5));
        let spec = SeekSpec::ThreePoint { single, average, full: Nanos::from_millis(9) };
        let curve = SeekCurve::new(&spec, 200);
        assert_eq!(curve.time(0), 0);
        assert_eq!(curve.time(1), 1_000_000);
        assert_eq!(curve.time(199), 9_000_000);
        assert!((f64::from(curve.time(66)) - 5e6).abs() < 5e4, "{}", curve.time(66));
        assert!((1..199).all(|d| curve.time(d) < curve.time(d + 1)), "longer takes longer");
    }
}
