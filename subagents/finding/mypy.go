package finding

import "divisi/internal/spec"

// mypy is a line that mypy writes with --output json.
type mypy struct {
	part
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"` // from 0
	Message  string `json:"message"`
	Code     string `json:"code"`
	Severity string `json:"severity"`
}

func (m mypy) report() (r Report) {
	if m.Cut {
		return r
	}
	if m.Code == "syntax" { // it stops there
		r.Hidden = []string{spec.HiddenAll}
	}
	r.Findings = []spec.Finding{{
		Tool: "mypy", Code: m.Code, Severity: severityOf(m.Severity), Message: m.Message, File: m.File, Line: lineOf(m.Line),
		Column: lineOf(m.Column + 1),
	}}
	return r
}
