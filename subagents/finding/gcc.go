package finding

import (
	"strings"

	"divisi/internal/spec"
)

// gcc is the output of gcc with -fdiagnostics-format=json.
type gcc []struct {
	part
	Kind      string `json:"kind"`
	Message   string `json:"message"`
	Option    string `json:"option"`
	Locations []struct {
		Caret struct {
			File   string `json:"file"`
			Line   int    `json:"line"`
			Column int    `json:"column"`
		} `json:"caret"`
	} `json:"locations"`
}

func (all gcc) report() (r Report) {
	for _, one := range all {
		if one.Cut || one.Kind == "note" {
			continue
		}
		f := spec.Finding{Tool: "gcc", Code: one.Option, Severity: severityOf(one.Kind), Message: one.Message}
		for _, at := range one.Locations[:min(1, len(one.Locations))] {
			f.File, f.Line, f.Column = at.Caret.File, lineOf(at.Caret.Line), lineOf(at.Caret.Column)
		}
		if strings.HasPrefix(one.Kind, "fatal") { // the rest is not compiled
			r.Hidden = []string{spec.HiddenAll}
		}
		r.Findings = append(r.Findings, f)
	}
	return r
}
