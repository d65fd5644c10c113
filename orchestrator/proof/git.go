package proof

import (
	"fmt"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/run"
)

// GitFailed is a gate that is red on the base commit, and the line in which its git failed.
type GitFailed struct{ Gate, Line string }

// String is the report of it in one line.
func (g GitFailed) String() string {
	return fmt.Sprintf("gate %s is red on the base commit, where git failed: %s; %s", g.Gate, g.Line, WhatGitFinds)
}

// WhatGitFinds names where a person reads what a tree has of a clone.
const WhatGitFinds = "docs/checkout.md#git-in-a-tree describes git in a tree"

// failedGit are the words with which git ends where a ref, a commit or a repository is not there.
var failedGit = lazyregexp.New(`(?:^|\s)fatal: |bad revision|not a git repository|unknown revision`)

// GitFailures lists them in the project's order; none before the baseline is known.
func GitFailures(order *run.Spec, proofs *run.Proofs) (failed []GitFailed) {
	for _, g := range order.Project.Gates {
		r, ok := proofs.Baseline[g.Name]
		if !ok || r.Verdict == spec.VerdictPass {
			continue
		}
		lines := slices.Concat(r.Signatures, strings.Split(r.Tail, "\n"))
		if i := slices.IndexFunc(lines, failedGit.MatchString); i >= 0 {
			failed = append(failed, GitFailed{g.Name, text.Clip(text.OneLine(lines[i]), maxGitLine)})
		}
	}
	return failed
}

// maxGitLine bounds, in bytes, what is quoted of a gate.
const maxGitLine = 300
