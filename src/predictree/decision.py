"""Whether to split a node: the search for a split, and the proof that it is more than chance.

The best of hundreds of splits looks better than it is on the rows that chose it. So the choice is
rehearsed: it is made again without each part of the rows, from the search to the weights, and
judged on that part. No row has a say in what it judges, so that the gain is what choosing is worth,
and its standard error that of one comparison. One way is left, as in any stack: the predictions of
other folds, which choose and weigh, come from models that were trained on the row.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from predictree.appraisal import ITSELF, Side, Trial
from predictree.execution import Failure, attempt
from predictree.mixing import TRACE
from predictree.problem import Problem, Region
from predictree.search import Chooser, FitCount, Judgement, Proposal, Search
from predictree.tree import BoolArray, FloatArray, IntArray

PARTS = 5  # of the rows that judge, where they are not of several folds
FIRST = 2  # parts that must show a gain for the others to be looked at


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of one node."""

    proposal: Proposal | None
    failures: list[Failure]
    fits: FitCount


def decide(search: Search, choose: Chooser) -> Decision:
    """Search a node for the best split, and propose it if that is worth it."""
    choice, proposal = choose(search), None
    if choice is not None and is_real(search, choose, choice):
        proposal = search.proposal(choice, asked_all(search, choice[0]))
    return Decision(proposal, search.failures, search.fits)


def asked_all(search: Search, trial: Trial) -> Judgement | None:
    """Train on a split the learners that had no say in choosing it, if there are any."""
    return None if trial.asked_all else search.best(search.trials([[trial.split]]))


def is_real(search: Search, choose: Chooser, choice: Judgement) -> bool:
    """Whether a choice is more than chance.

    It looks better than it is: if not even that convinces, there is no need to rehearse it.
    """
    n_errors = search.limits.errors_to_gain(search.site.path)
    if n_errors == 0:
        return True
    return gains_by(n_errors, search, choice[1].scores) and gains_by(
        n_errors, search, rehearsed(search, choose)
    )


def gains_by(n_errors: float, search: Search, scores: FloatArray) -> bool:
    """Whether scores are better than the node's by more than so many standard errors."""
    loss, before = search.problem.loss, search.site.scores
    gain = loss.value(search.rows, before) - loss.value(search.rows, scores)
    return bool(gain > n_errors * loss.error_of_gain(search.rows, before, scores))


def rehearsed(search: Search, choose: Chooser) -> FloatArray:
    """Return the scores of all rows, each by what was chosen without its part.

    If the first parts show no gain, the others are left as they are: it will not convince.
    """
    problem, before = search.problem, search.site.scores
    scores = before.copy()
    part = problem.partition.weighing[search.region.v1]
    if part.min() == part.max():
        part = np.arange(len(part)) % PARTS
    to_beat = problem.loss.value(search.rows, before)
    for done, p in enumerate(np.unique(part).tolist()):
        if done >= FIRST and not problem.loss.value(search.rows, scores) < to_beat:
            break
        held = part == p
        rest = without(search, held, p)
        choice = choose(rest)
        if choice is not None:
            proposal = rest.proposal(choice, loosens=False)  # the split is judged, not the hold
            scores[held] = answers(search, held, p, proposal)
        search.failures += rest.failures
        search.rehearsals += rest.fits
    return scores


def without(search: Search, held: BoolArray, p: int) -> Search:
    """Return the search of the same node without some of its rows, which are part p."""
    problem, site, mixer = search.problem, search.site, search.mixer
    left_out = np.zeros(len(problem.X), dtype=bool)
    left_out[search.region.v1[held]] = True
    region = Region(*(rows[~left_out[rows]] for rows in search.region.parts))
    weighing = problem.partition.weighing
    if len(np.unique(weighing[region.v1])) == 1:  # weights need two parts to be found and judged
        weighing = weighing.copy()
        weighing[region.v1] = np.arange(len(region.v1)) % 2
        problem = replace(problem, partition=replace(problem.partition, weighing=weighing))
    mixture = site.mixture
    if mixture is not None and mixer is not None:
        mixture = replace(mixture, weights=mixture.by_fold[p], scores=mixture.scores[~held])
        mixer = replace(mixer, problem=problem)
    scores = site.scores[~held]
    rest = replace(
        site,
        region=region,
        pool=[h.on(~held) for h in site.pool],
        loss=problem.loss.value(problem.judged(region.v1), scores),
        scores=scores,
        mixture=mixture,
    )
    return Search(problem, rest, search.limits, search.executor, mixer, keeps=False)


def answers(search: Search, held: BoolArray, p: int, proposal: Proposal) -> FloatArray:
    """Return what a proposal that was made without part p says about the rows of that part."""
    problem, site = search.problem, search.site
    rows = search.region.v1[held]
    scores = site.scores[held].copy()
    goes_left = proposal.split.goes_left(problem.X[rows, proposal.split.feature])
    for side, mine, path in (
        (proposal.left, goes_left, 2 * site.path),
        (proposal.right, ~goes_left, 2 * site.path + 1),
    ):
        if mine.any():
            say = _say(search, side, path, p, rows[mine])
            if isinstance(say, Failure):  # then it shows no gain here
                search.failures.append(say)
            else:
                scores[mine] = say
    return scores


def _say(search: Search, side: Side, path: int, p: int, rows: IntArray) -> FloatArray | Failure:
    """Return the scores of held-out rows by one side, or which learner has none."""
    problem = search.problem
    weights = {side.choice.key: 1.0} if side.mixture is None else side.mixture.weights
    place = np.searchsorted(search.region.v1, rows)
    known = {h.key: h.scores[place] for h in search.site.pool}
    weights = {key: weight for key, weight in weights.items() if weight >= TRACE}
    fold = p if problem.partition.n_folds > 1 else 0
    ask = partial(own_scores, problem, side.region.train, path, fold, rows)
    own = [learner for owner, learner in weights if owner is ITSELF]
    slow = [i for i in own if i in search.slow]
    answers = {i: ask(i) for i in own if i not in slow}
    asked = search.executor.map(
        ask, slow, who=lambda i: problem.learners[i].name, lost=lambda failure: failure
    )
    answers |= zip(slow, asked, strict=True)
    for i, answer in answers.items():
        if isinstance(answer, Failure):
            return answer
        known[ITSELF, i] = answer
    mixed = sum(weight * known[key] for key, weight in weights.items())
    return np.asarray(mixed / sum(weights.values()))


def own_scores(
    problem: Problem, train: IntArray, path: int, fold: int, rows: IntArray, i: int
) -> FloatArray | Failure:
    """Train a learner on the rows of one side, without a fold, and ask it about others."""
    learner = problem.learners[i]
    return attempt(
        learner.name,
        lambda: problem.fit_fold(learner, train, path, fold).scores(problem.X[rows]),
    )
