//! Shows progress with an ETA, on a terminal only.

use super::visible;
use assay_engine::run::Observer;
use assay_spec::record::{CellPlan, CellRecord};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A progress bar that counts the cells of a run.
pub struct Progress(ProgressBar);

impl Progress {
    /// Creates a bar of `cells`. It is invisible if `quiet` is `true` or stderr is no terminal.
    pub fn new(cells: usize, quiet: bool) -> Progress {
        let target =
            if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some(cells as u64), target);
        let style = ProgressStyle::with_template("{bar:24} {pos}/{len} cells  {eta} left  {msg}");
        bar.set_style(style.expect("the template is right"));
        keep_moving(&bar);
        Progress(bar)
    }

    /// Removes the bar from the terminal.
    pub fn clear(&self) {
        self.0.finish_and_clear();
    }
}

/// Starts a thread that draws the bar again and again until it is finished. If the system has no
/// thread to give, the bar moves only when something is done.
pub fn keep_moving(bar: &ProgressBar) {
    let weak = bar.downgrade();
    let ticker = move || {
        while let Some(bar) = weak.upgrade().filter(|bar| !bar.is_finished()) {
            bar.tick();
            drop(bar);
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
    };
    if !bar.is_hidden() {
        let _ = std::thread::Builder::new().name("progress".into()).spawn(ticker);
    }
}

impl Observer for Progress {
    fn started(&self, plan: &CellPlan) {
        self.0.set_message(visible(&plan.id).into_owned());
    }

    fn finished(&self, _cell: &CellRecord, done: usize, _of: usize) {
        self.0.set_position(done as u64);
    }
}
