package finding

import (
	"cmp"

	"divisi/internal/spec"
)

// astGrep is a match that ast-grep scan writes with --json.
type astGrep struct {
	part
	Rule     string    `json:"ruleId"`
	File     string    `json:"file"`
	Severity string    `json:"severity"`
	Message  string    `json:"message"`
	Range    zeroBased `json:"range"`
}

func (a astGrep) report() Report {
	if a.Cut {
		return Report{}
	}
	f := spec.Finding{
		Tool: "ast-grep", Code: a.Rule, Severity: severityOf(a.Severity), Message: cmp.Or(a.Message, a.Rule), File: a.File,
	}
	f.Line, f.Column = a.Range.place()
	return Report{Findings: []spec.Finding{f}}
}
