package finding

import "divisi/internal/spec"

// eslint is the output of eslint with -f json.
type eslint []struct {
	File     string `json:"filePath"`
	Messages []struct {
		part
		Rule     string `json:"ruleId"`
		Severity int    `json:"severity"`
		Fatal    bool   `json:"fatal"`
		Message  string `json:"message"`
		Line     int    `json:"line"`
		Column   int    `json:"column"`
	} `json:"messages"`
}

func (e eslint) report() (r Report) {
	for _, file := range e {
		for _, m := range file.Messages {
			if m.Cut {
				continue
			}
			f := spec.Finding{
				Tool: "eslint", Code: m.Rule, Message: m.Message, File: file.File, Line: lineOf(m.Line), Column: lineOf(m.Column),
			}
			if m.Severity < 2 && !m.Fatal {
				f.Severity = Warning
			}
			if m.Fatal { // no rule has seen the file
				r.Hidden = append(r.Hidden, file.File)
			}
			r.Findings = append(r.Findings, f)
		}
	}
	return r
}
