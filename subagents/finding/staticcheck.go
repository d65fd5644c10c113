package finding

import "divisi/internal/spec"

// staticcheck is a line that staticcheck writes with -f json.
type staticcheck struct {
	part
	Code     string `json:"code"`
	Severity string `json:"severity"`
	Location struct {
		File   string `json:"file"`
		Line   int    `json:"line"`
		Column int    `json:"column"`
	} `json:"location"`
	Message string `json:"message"`
}

func (s staticcheck) report() (r Report) {
	if s.Cut || s.Severity == "ignored" {
		return r
	}
	r.Findings = []spec.Finding{{
		Tool: "staticcheck", Code: s.Code, Severity: severityOf(s.Severity), Message: s.Message, File: s.Location.File,
		Line: lineOf(s.Location.Line), Column: lineOf(s.Location.Column),
	}}
	return r
}
