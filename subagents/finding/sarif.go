package finding

import (
	"cmp"
	"net/url"
	"path"
	"strings"

	"divisi/internal/spec"
)

// sarif is the Static Analysis Results Interchange Format, version 2.1.
type sarif struct {
	Runs []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool struct {
		Driver struct {
			Name  string      `json:"name"`
			Rules []sarifRule `json:"rules"`
		} `json:"driver"`
	} `json:"tool"`
	Invocations []struct {
		Successful *bool `json:"executionSuccessful"`
	} `json:"invocations"`
	Bases     map[string]sarifPlace `json:"originalUriBaseIds"`
	Artifacts []struct {
		Location sarifPlace `json:"location"`
	} `json:"artifacts"`
	Results []sarifResult `json:"results"`
}

type sarifRule struct {
	ID      string `json:"id"`
	Default struct {
		Level string `json:"level"`
	} `json:"defaultConfiguration"`
}

type sarifPlace struct {
	URI   string `json:"uri"`
	Base  string `json:"uriBaseId"`
	Index *int   `json:"index"`
}

type sarifResult struct {
	part
	Rule    string `json:"ruleId"`
	Kind    string `json:"kind"`
	Level   string `json:"level"`
	State   string `json:"baselineState"`
	Message struct {
		Text string `json:"text"`
	} `json:"message"`
	Locations []struct {
		Physical struct {
			Artifact sarifPlace `json:"artifactLocation"`
			Region   struct {
				Line   int `json:"startLine"`
				Column int `json:"startColumn"`
			} `json:"region"`
		} `json:"physicalLocation"`
		Logical []struct {
			Name string `json:"name"`
			Full string `json:"fullyQualifiedName"`
		} `json:"logicalLocations"`
	} `json:"locations"`
	Suppressions []struct{} `json:"suppressions"`
}

func (s sarif) report() (r Report) {
	for _, run := range s.Runs {
		for _, invocation := range run.Invocations {
			if invocation.Successful != nil && !*invocation.Successful {
				r.Hidden = []string{spec.HiddenAll}
			}
		}
		levels := map[string]string{}
		for _, rule := range run.Tool.Driver.Rules {
			levels[rule.ID] = rule.Default.Level
		}
		for _, result := range run.Results {
			failed := result.Kind == "" || result.Kind == "fail" || result.Kind == "open" || result.Kind == "review"
			if failed && !result.Cut && len(result.Suppressions) == 0 && result.State != "absent" {
				level := cmp.Or(result.Level, levels[result.Rule], "warning")
				r.Findings = append(r.Findings, result.finding(&run, level))
			}
		}
	}
	return r
}

func (s *sarifResult) finding(run *sarifRun, level string) spec.Finding {
	f := spec.Finding{
		Tool: run.Tool.Driver.Name, Code: s.Rule, Severity: severityOf(level), Message: cmp.Or(s.Message.Text, s.Rule),
	}
	for _, at := range s.Locations[:min(1, len(s.Locations))] {
		f.File = run.file(at.Physical.Artifact)
		f.Line, f.Column = lineOf(at.Physical.Region.Line), lineOf(at.Physical.Region.Column)
		for _, logical := range at.Logical[:min(1, len(at.Logical))] {
			f.Symbol = cmp.Or(logical.Full, logical.Name)
		}
	}
	return f
}

// file returns the path of a place: absolute, or as the tool gives it.
func (s *sarifRun) file(at sarifPlace) string {
	if at.URI == "" && at.Index != nil && *at.Index >= 0 && *at.Index < len(s.Artifacts) {
		at = s.Artifacts[*at.Index].Location
	}
	if base := s.Bases[at.Base].URI; base != "" && !strings.Contains(at.URI, ":") {
		at.URI = strings.TrimSuffix(base, "/") + "/" + at.URI
	}
	name, err := url.PathUnescape(strings.TrimPrefix(at.URI, "file://"))
	if err != nil || name == "" {
		return at.URI
	}
	return path.Clean(name)
}

// lineOf returns a number of a line; 0 for what is none.
func lineOf(n int) int {
	if n < 0 || n > maxNumber {
		return 0
	}
	return n
}
