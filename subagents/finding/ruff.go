package finding

import "divisi/internal/spec"

// ruff is the output of ruff with --output-format json.
type ruff []struct {
	part
	Code     *string `json:"code"`
	Severity string  `json:"severity"`
	Message  string  `json:"message"`
	File     string  `json:"filename"`
	Location struct {
		Row    int `json:"row"`
		Column int `json:"column"`
	} `json:"location"`
}

func (all ruff) report() (r Report) {
	for _, one := range all {
		if one.Cut {
			continue
		}
		f := spec.Finding{
			Tool: "ruff", Severity: severityOf(one.Severity), Message: one.Message, File: one.File,
			Line: lineOf(one.Location.Row), Column: lineOf(one.Location.Column),
		}
		if one.Code != nil {
			f.Code = *one.Code
		}
		if f.Code == "" || f.Code == "invalid-syntax" {
			r.Hidden = append(r.Hidden, one.File)
		}
		r.Findings = append(r.Findings, f)
	}
	return r
}
