//! The seven questions of Chen, Koufaty and Zhang about any drive, answered from the cells of their
//! experiments. The answers do not depend on the target's name, only on what the workloads do.

mod access;
mod ask;
mod fragmentation;
mod mixture;
mod rule;
mod space;
#[cfg(test)]
mod tests;

use crate::finding::statement::{Finding, command, requests};
use crate::load::Run;
use ask::{Answer, Ask};

/// A question, and how it is answered.
struct Question {
    /// The second part of the finding's id.
    id: &'static str,
    /// The question in words.
    words: &'static str,
    /// The experiment that is about the question.
    experiment: &'static str,
    /// The first workload of that experiment, which tells it from other experiments of the same
    /// name.
    workload: &'static str,
    /// The function that returns yes or no with the reason, or why the question is open.
    answer: fn(&mut Ask<'_>) -> Result<Answer, String>,
}

const QUESTIONS: &[Question] = &[
    Question {
        id: "1-reads",
        words: "are reads uniform",
        experiment: "reads",
        workload: "seq-rd-4k",
        answer: access::reads,
    },
    Question {
        id: "2-writes",
        words: "are random writes the worst case",
        experiment: "writes",
        workload: "seq-wr-4k",
        answer: access::writes,
    },
    Question {
        id: "3-cache",
        words: "is the disk cache effective",
        experiment: "disk-cache",
        workload: "off-seq-wr-4k",
        answer: access::cache,
    },
    Question {
        id: "4-interference",
        words: "do reads and writes interfere",
        experiment: "interference",
        workload: "only-read",
        answer: mixture::interference,
    },
    Question {
        id: "5-background",
        words: "do background operations hurt",
        experiment: "background",
        workload: "mix-50",
        answer: mixture::background,
    },
    Question {
        id: "6-randomness",
        words: "does randomness degrade performance",
        experiment: "randomness",
        workload: "stride-wr-step-4k",
        answer: space::randomness,
    },
    Question {
        id: "7-fragmentation",
        words: "does fragmentation degrade performance, and is it cured",
        experiment: "fragmentation",
        workload: "before-seq-wr",
        answer: fragmentation::fragmentation,
    },
];

/// Returns the answers for a target to all questions that the run's experiments ask. For each
/// question that a run of `study` itself cannot answer, a finding says what is missing.
pub(super) fn answers(run: &Run, target: &str, study: &str) -> Vec<Finding> {
    let asked = |q: &&Question| {
        let has = run.cell(Some(q.experiment), q.workload, target).is_some();
        has || (run.record.study == study && run.record.targets.iter().any(|t| t.name == target))
    };
    QUESTIONS.iter().filter(asked).map(|q| finding(run, target, q)).collect()
}

fn finding(run: &Run, target: &str, question: &Question) -> Finding {
    let mut ask =
        Ask { run, target, own: question.experiment, evidence: Vec::new(), used: Vec::new() };
    let answer = match why_not_measured(run, target, question) {
        Some(why) => Err(why),
        None => (question.answer)(&mut ask),
    };
    let (said, confidence) = match &answer {
        Ok(answer) => {
            let word = if answer.yes { "Yes" } else { "No" };
            (format!("{word}: {}", answer.because), Some(rule::CONFIDENCE))
        }
        Err(why) => (format!("Not determined: {why}"), None),
    };
    Finding {
        id: format!("question/{}/{target}", question.id),
        statement: format!("{target}, {}? {said}", question.words),
        samples: requests(&ask.used),
        evidence: ask.evidence,
        threshold: rule::in_words(),
        confidence,
        reproduce: command(run),
    }
}

/// Returns why the run cannot answer a question if no experiment about it names the target.
fn why_not_measured(run: &Run, target: &str, question: &Question) -> Option<String> {
    let about = |experiment: &str, of: &str| experiment == question.experiment && of == target;
    let planned = run.record.plan.iter().any(|p| about(&p.experiment, &p.target));
    if planned || run.cells.iter().any(|c| about(&c.experiment, &c.target)) {
        return None;
    }
    let record = run.record.targets.iter().find(|t| t.name == target);
    let on = record.map_or(target, |t| &t.written);
    let experiment = question.experiment;
    Some(format!("this study does not measure `{experiment}` on this target; add `--on {on}`"))
}
