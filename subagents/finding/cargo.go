package finding

import (
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
)

// cargo is a line that cargo writes with --message-format json.
type cargo struct {
	part
	Reason  string `json:"reason"`
	Success *bool  `json:"success"`
	Message struct {
		Level   string `json:"level"`
		Message string `json:"message"`
		Code    *struct {
			Code string `json:"code"`
		} `json:"code"`
		Spans []rustSpan `json:"spans"`
	} `json:"message"`
}

type rustSpan struct {
	File      string `json:"file_name"`
	Line      int    `json:"line_start"`
	Column    int    `json:"column_start"`
	Primary   bool   `json:"is_primary"`
	Expansion *struct {
		Span rustSpan `json:"span"`
	} `json:"expansion"`
}

// counted are the entries that only count others.
var counted = lazyregexp.New(`^aborting due to|^\d+ warnings? emitted|^could not compile`)

func (c cargo) report() (r Report) {
	if c.Reason == "build-finished" && c.Success != nil && !*c.Success { // without what depends on it
		r.Hidden = []string{spec.HiddenAll}
	}
	m := c.Message
	if c.Cut || c.Reason != "compiler-message" || len(m.Spans) == 0 && counted.MatchString(m.Message) {
		return r
	}
	f := spec.Finding{Tool: "cargo", Severity: severityOf(strings.TrimPrefix(m.Level, "failure-")), Message: m.Message}
	if m.Code != nil {
		f.Code = m.Code.Code
	}
	for _, span := range m.Spans {
		primary := span.Primary || len(m.Spans) == 1
		for span.Expansion != nil && strings.HasPrefix(span.File, "/") { // the code of a macro of another crate
			span = span.Expansion.Span
		}
		if f.File == "" && primary {
			f.File, f.Line, f.Column = span.File, lineOf(span.Line), lineOf(span.Column)
		}
	}
	r.Findings = []spec.Finding{f}
	return r
}
