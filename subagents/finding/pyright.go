package finding

import "divisi/internal/spec"

// pyright is the output of pyright with --outputjson.
type pyright struct {
	Diagnostics []struct {
		part
		File     string    `json:"file"`
		Severity string    `json:"severity"`
		Message  string    `json:"message"`
		Rule     string    `json:"rule"`
		Range    zeroBased `json:"range"`
	} `json:"generalDiagnostics"`
}

// zeroBased is a place whose lines and columns count from 0.
type zeroBased struct {
	Start *struct {
		Line      int `json:"line"`
		Character int `json:"character"` // of language servers
		Column    int `json:"column"`
	} `json:"start"`
}

func (z zeroBased) place() (line, column int) {
	if z.Start == nil {
		return 0, 0
	}
	return lineOf(z.Start.Line + 1), lineOf(max(z.Start.Character, z.Start.Column) + 1)
}

func (p pyright) report() (r Report) {
	for _, d := range p.Diagnostics {
		if d.Cut {
			continue
		}
		f := spec.Finding{Tool: "pyright", Code: d.Rule, Severity: severityOf(d.Severity), Message: d.Message, File: d.File}
		f.Line, f.Column = d.Range.place()
		r.Findings = append(r.Findings, f)
	}
	return r
}
