package record

import (
	"bytes"
	"fmt"
	"strings"

	"google.golang.org/genai"

	"divisi/internal/lazyregexp"
	"divisi/internal/model"
)

// request is the part of a model.Request that is kept and compared: all that a caller says to the model. Headers are left out,
// because they may contain keys.
type request struct {
	Model    string                       `json:"model"`
	Config   *genai.GenerateContentConfig `json:"config,omitempty"`
	Contents []*genai.Content             `json:"contents"`
	Fallback []model.Candidate            `json:"fallback,omitempty"`
}

// canonical writes a request, without the secrets.
func canonical(req *model.Request, secrets []string) ([]byte, error) {
	r := request{Model: req.Model, Contents: req.Contents, Fallback: req.Fallback}
	if req.Config != nil {
		config := *req.Config
		config.HTTPOptions = nil
		r.Config = &config
	}
	data, err := encode(r, secrets)
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	return bytes.TrimSpace(data), nil
}

// volatile lists values that differ between two equal runs of one plan on one commit: it is not compared. Beside it the name of
// the run is left out. What is Divisi's own comes first, then what commands commonly print.
var volatile = []struct {
	re   *lazyregexp.Regexp
	with string
}{
	{lazyregexp.New(`[^\s"'=:]*/runs/<run>`), "<state>"},
	{lazyregexp.New(`/slots/slot\d+`), "/slots/<slot>"},
	{lazyregexp.New(`\b(?:attempt-\d{5,}|go-build\d+|tmp\.\w{10})\b`), "<temporary>"},
	{lazyregexp.New(`@\d+#[0-9a-f]{8}\b`), "@<version>"},                 // of an artifact: it contains such things
	{lazyregexp.New(`<<<(BEGIN|END) [0-9a-f]{16}>>>`), "<<<$1>>>"},       // the summarizer's fence: as above
	{lazyregexp.New(`\b(?:[0-9a-f]{40}|[0-9a-f]{64})\b`), "<id>"},        // commits and trees: they contain times
	{lazyregexp.New(`\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d\S*)?`), "<time>"}, // 2026-11-21T16:53:02Z
	{lazyregexp.New(`\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?(?:` + months + `) +\d{1,2}\b`), "<day>"},
	{lazyregexp.New(`(^|[^\w:.])\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?\b`), "$1<time>"},     // 16:53:02, not x.go:4:12
	{lazyregexp.New(`\b(?:\d+(?:\.\d+)?(?:ns|µs|us|ms|s|m|h))+\b`), "<duration>"},     // 0.013s, 1m30s
	{lazyregexp.New(`(127\.0\.0\.1|localhost|\[::1\]):\d+`), "$1:<port>"},             // a server of a test
	{lazyregexp.New(`\b0x[0-9a-f]{6,}\b|\bgoroutine \d+\b|\bpid \d+\b`), "<process>"}, // a stack
}

const months = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"

// steady is a text without what is volatile, of a run.
func steady(text, run string) string {
	text = unnamed(text, run)
	for _, v := range volatile {
		text = v.re.ReplaceAllString(text, v.with)
	}
	return text
}

// unnamed leaves the name of the run out. One that is too short would be found in innocent words.
func unnamed(text, run string) string {
	if len(run) < minSecret {
		return text
	}
	return strings.ReplaceAll(text, run, "<run>")
}
