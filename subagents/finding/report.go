package finding

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
)

// Report is a tool's report in a document.
type Report struct {
	// Findings are as the tool has them: their files can be absolute. Those with a severity are no errors.
	Findings []spec.Finding
	// Hidden are the files whose other findings the tool does not report, and spec.HiddenAll where it does not report which.
	Hidden []string
	// Text are lines that the document holds.
	Text string
}

// The severities below an error.
const (
	Warning = "warning"
	Note    = "note"
)

// formats are told apart by the keys of the object, or of the first one in the list. The last one has no keys of its own.
var formats = []struct {
	list bool
	keys string
	read func(document []byte) (Report, error)
}{
	{false, "runs version", reader(sarif.report)},
	{false, "generalDiagnostics", reader(pyright.report)},
	{false, "Issues Report", reader(golangci.report)},
	{false, "reason", reader(cargo.report)},
	{false, "Action ImportPath", reader(goBuild.report)},
	{false, "file line message severity hint", reader(mypy.report)},
	{false, "code location message severity", reader(staticcheck.report)},
	{false, "ruleId file range", reader(astGrep.report)},
	{true, "ruleId file range", reader(listed[astGrep].report)},
	{true, "filePath messages", reader(eslint.report)},
	{true, "filename location message", reader(ruff.report)},
	{true, "kind locations message", reader(gcc.report)},
	{false, "", reader(goVet.report)},
}

func reader[T any](report func(T) Report) func([]byte) (Report, error) {
	return func(document []byte) (Report, error) {
		var data T
		if err := json.Unmarshal(document, &data); err != nil {
			return Report{}, err
		}
		return report(data), nil
	}
}

// reports is a document of a tool that can also be one of a list.
type reports interface{ report() Report }

type listed[T reports] []T

func (l listed[T]) report() Report {
	var all Report
	for _, one := range l {
		all.Findings = append(all.Findings, one.report().Findings...)
	}
	return all
}

// Parse reads a document; ok is false where no tool is known that writes such a one.
func Parse(document []byte) (r Report, ok bool) {
	head, list := keysOf(document)
	for _, format := range formats {
		lacks := func(key string) bool { return !slices.Contains(head, key) }
		if len(head) == 0 || list != format.list || slices.ContainsFunc(strings.Fields(format.keys), lacks) {
			continue
		}
		r, err := format.read(document)
		if err != nil || format.keys == "" && len(r.Findings) == 0 {
			return Report{}, false
		}
		r.tidy()
		return r, true
	}
	return Report{}, false
}

// keysOf returns the keys of an object, or of the first one in a list.
func keysOf(document []byte) (keys []string, list bool) {
	d := json.NewDecoder(bytes.NewReader(document))
	if document = bytes.TrimLeft(document, " \t"); len(document) > 0 && document[0] == '[' {
		list = true
		if _, err := d.Token(); err != nil || !d.More() {
			return nil, true
		}
	}
	var object map[string]json.RawMessage
	if d.Decode(&object) != nil {
		return nil, list
	}
	return slices.Sorted(maps.Keys(object)), list
}

// tidy bounds the messages, in one line, and takes what go says in one finding apart: a compiler's errors below a heading.
func (r *Report) tidy() {
	all := r.Findings
	r.Findings = nil
	for _, f := range all {
		if inside := compiled(f); len(inside) > 0 {
			r.Findings, r.Hidden = append(r.Findings, inside...), []string{spec.HiddenAll}
			continue
		}
		f.Message = text.Head(strings.Join(strings.Fields(f.Message), " "), maxMessage)
		f.File = strings.TrimPrefix(f.File, "./")
		if f.Message != "" || f.Code != "" {
			r.Findings = append(r.Findings, f)
		}
	}
}

// compiled are the errors that linters of Go print as one finding because the package does not compile.
func compiled(f spec.Finding) (inside []spec.Finding) {
	if f.Code != "typecheck" && f.Code != "compile" {
		return nil
	}
	for line := range strings.Lines(f.Message) {
		one := Read(line)
		if one.Tool, one.Code = f.Tool, f.Code; one.Line > 0 && one.File != "" {
			inside = append(inside, one)
		}
	}
	return inside
}

// severityOf returns how bad a tool's word is; "" for an error.
func severityOf(word string) string {
	switch strings.ToLower(word) {
	case "warning", "warn":
		return Warning
	case "note", "info", "information", "hint", "help", "none", "off", "notice", "style", "convention", "refactor":
		return Note
	default:
		return ""
	}
}
