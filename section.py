# %% [markdown]
# ## The rows that go to a person
#
# What does not stand on its own waits for somebody. The queue asks them, the most doubtful row first, and writes each
# decision to a file before it shows the next row; close the browser when you like. It needs no key, so it is shown on
# the committed answers for China's Personal Information Protection Law (see
# [`pipl_citation_check.ipynb`](pipl_citation_check.ipynb)). For your own, put your `results` and sections in their
# place.

# %%
import evaluation
import helpers
import review

articles = helpers.split_articles(helpers.load_source("data/pipl.txt"))
citations = helpers.load_citations("data/citations.json")
checked = helpers.check_citations(articles, citations, helpers.make_ask(**helpers.xiangxin() | {"api_key": ""}))
answered = [row for row in checked if row["answer"]]  # the five fabricated quotes asked no model

# %% [markdown]
# Whoever reviews the doubtful rows alone learns nothing about the others. So `audit=5` of those that stood on their own
# are drawn at random and mixed in. Nobody can tell which they are: the model's answer, whose confidence would give them
# away, stays folded on every row until you ask for it (8), and the file records whether you did. Without an audit the
# answer is open.
#
# Buttons take Tab, Enter and Space; in the small field a digit is enough. The quote is highlighted. A note goes with
# the decision that follows it.

# %%
# NBVAL_IGNORE_OUTPUT: it shows where you are in the queue
mine = review.questions(answered, articles, audit=5, seed=2026)
review.Panel(mine, "out/my_decisions.jsonl", who="me")

# %% [markdown]
# The same in a spreadsheet: `review.export_csv("out/queue.csv", review.queue(mine))`, fill in `verdict` and `note`,
# then `review.import_csv("out/queue.csv", mine, "out/my_decisions.jsonl", who="me")`. It takes the rows that you edited
# and names those that it cannot take. A decision holds for the claim, the quote and the text that were read; when a new
# version of a document changes one of them, that row comes back, and no other.
#
# Two people work on a file each; `review.merge(first, second)` gives their agreement (Cohen's kappa), the rows that
# they differ on, and the decisions that are settled.
#
# ## What the decisions justify
#
# `data/decisions.jsonl` holds decisions that really were made: a second reader, an AI agent of our team, labelled the
# 35 rows from claim and article alone, without the model's answers, the published verdicts or the first reader's
# labels. It was a person's part played by a machine; your own reviewers are what counts. On one row
# (`deidentified_not_pi`) the reader was not sure, and says so in its note.

# %%
questions = review.questions(answered, articles, audit=20)
decisions = review.read_decisions("data/decisions.jsonl")
made = {decision["id"]: decision for decision in decisions}["deidentified_not_pi"]
print(f"{len(decisions)} decisions, {len(review.queue(questions, decisions))} rows still wait")
print(f"{made['id']}: {made['verdict']}, by the {made['who']}: {made['note']}")

# %%
labels = review.labels(questions, decisions)
print(evaluation.confusion_matrix(answered, labels).to_string(), end="\n\n")
print(evaluation.threshold_table(answered, labels).to_string())

# %% [markdown]
# Both tables describe the rows that were looked at. What may be said of those that nobody will look at rests on the
# audited rows alone. All 20 that stood on their own were read here; in a larger batch it would be a sample.

# %%
audit = review.audit_bound(questions, decisions)
print(audit.sentence())
print(f"For a bound of 5%, {audit.missing(0.05)} more would have to be drawn and found right.")

# %% [markdown]
# May the threshold be lowered? All rows that were *drawn*, the doubtful ones among them, are a random sample across all
# confidences; on these the thresholds are tested from 0.8 downwards, until the first that fails. Decide on one target,
# the size of the audit and its seed before you look at any result, and test once; three targets stand here to show what
# each takes.

# %%
for target in (0.15, 0.10, 0.05):
    print(f"{target:.0%}: {review.lowest_safe_threshold(questions, decisions, target).sentence()}")

# %% [markdown]
# An error below 15% would be justified at 0.7, which spares people 7 of 15 rows; for 10% or less, 35 rows are too few.
# (The citations were written for this walk: the bounds are about citations like them, not about yours.) An audited row
# that is not decided yet, or that nobody could tell, counts as wrong in all of this, so that no bound looks better than
# the work that was done.
