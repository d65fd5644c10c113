package finding

import (
	"encoding/json"
	"maps"
	"slices"

	"divisi/internal/spec"
)

// goBuild is an event of go build -json: a line of text.
type goBuild struct {
	Action string `json:"Action"`
	Output string `json:"Output"`
}

func (b goBuild) report() (r Report) {
	if b.Action == "build-output" {
		r.Text = b.Output
	}
	return r
}

// goVet is the output of go vet with -json: the findings of each analyzer by package, or why it failed.
type goVet map[string]json.RawMessage

func (v goVet) report() (r Report) {
	for _, pkg := range slices.Sorted(maps.Keys(v)) {
		var analyzers map[string]json.RawMessage
		if json.Unmarshal(v[pkg], &analyzers) != nil {
			continue // of another kind
		}
		for _, analyzer := range slices.Sorted(maps.Keys(analyzers)) {
			var found []struct {
				part
				Posn    string `json:"posn"`
				Message string `json:"message"`
			}
			if json.Unmarshal(analyzers[analyzer], &found) != nil {
				continue // an error
			}
			for _, one := range found {
				if f := Read(one.Posn + ": " + one.Message); one.Posn != "" && !one.Cut {
					r.Findings = append(r.Findings, spec.Finding{
						Tool: "go vet", Code: analyzer, Message: one.Message, File: f.File, Line: f.Line, Column: f.Column,
					})
				}
			}
		}
	}
	return r
}
