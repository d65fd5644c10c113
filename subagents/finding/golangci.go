package finding

import "divisi/internal/spec"

// golangci is the output of golangci-lint with --output.json.path stdout.
type golangci struct {
	Issues []struct {
		part
		Linter   string `json:"FromLinter"`
		Text     string `json:"Text"`
		Severity string `json:"Severity"`
		Pos      struct {
			File   string `json:"Filename"`
			Line   int    `json:"Line"`
			Column int    `json:"Column"`
		} `json:"Pos"`
	} `json:"Issues"`
}

func (g golangci) report() (r Report) {
	for _, issue := range g.Issues {
		if issue.Cut {
			continue
		}
		r.Findings = append(r.Findings, spec.Finding{
			Tool: "golangci-lint", Code: issue.Linter, Severity: severityOf(issue.Severity), Message: issue.Text,
			File: issue.Pos.File, Line: lineOf(issue.Pos.Line), Column: lineOf(issue.Pos.Column),
		})
	}
	return r
}
