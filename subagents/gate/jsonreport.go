package gate

import (
	"encoding/json"
	"io"
	"strings"

	"divisi/internal/spec"
	"divisi/subagents/finding"
)

// jsonParser collects the output and reads the JSON report of jest, vitest or mocha in it; the report may also come from a file.
type jsonParser struct {
	text  *textParser
	names normaliser
	data  strings.Builder
	filed bool
}

// jsonReport has the fields of both forms: testResults of jest and vitest, stats of mocha.
type jsonReport struct {
	Results []struct {
		Name    string `json:"name"`
		Status  string `json:"status"`
		Message string `json:"message"`
		Tests   []struct {
			Above    []string `json:"ancestorTitles"`
			Title    string   `json:"title"`
			Status   string   `json:"status"`
			Messages []string `json:"failureMessages"`
		} `json:"assertionResults"`
	} `json:"testResults"`
	Stats *struct {
		Passes int `json:"passes"`
	} `json:"stats"`
	Passes   []mochaTest `json:"passes"`
	Pending  []mochaTest `json:"pending"`
	Failures []struct {
		Title string `json:"title"`
		Full  string `json:"fullTitle"`
		File  string `json:"file"`
		Err   struct {
			Message string `json:"message"`
			Stack   string `json:"stack"`
		} `json:"err"`
	} `json:"failures"`
}

// mochaTest is a test that did not fail.
type mochaTest struct {
	Full string `json:"fullTitle"`
	File string `json:"file"`
}

func (p *jsonParser) line(text string) {
	if p.data.Len() == 0 || p.filed {
		p.text.line(text[:min(len(text), maxLine)])
	}
	if p.filed || p.data.Len() == 0 && !strings.HasPrefix(text, "{") {
		return
	}
	if p.data.Len()+len(text) < maxReport {
		p.data.WriteString(text)
		p.data.WriteByte('\n')
	}
}

func (p *jsonParser) readFile(report io.Reader) error {
	p.filed = true
	p.data.Reset()
	_, err := io.Copy(&p.data, io.LimitReader(report, maxReport))
	return err
}

func (p *jsonParser) end() *findings {
	found := newFindings()
	var report jsonReport
	if err := json.NewDecoder(strings.NewReader(p.data.String())).Decode(&report); err != nil && p.data.Len() > 0 {
		found.hide(spec.HiddenAll)
	}
	found.runner = report.Results != nil || report.Stats != nil
	if _, known := finding.Parse([]byte(p.data.String())); known && !found.runner { // the report of a linter
		for line := range strings.Lines(p.data.String()) {
			p.text.line(strings.TrimRight(line, "\n"))
		}
	}
	p.jest(found, &report)
	if report.Stats != nil {
		p.mocha(found, &report)
	}
	found.adopt(p.text.end())
	return found
}

func (p *jsonParser) jest(found *findings, report *jsonReport) {
	for _, suite := range report.Results {
		ran := 0
		found.ran.Seen(p.names.rooted(suite.Name))
		for _, test := range suite.Tests {
			file, name := p.names.rooted(suite.Name), strings.Join(append(test.Above, test.Title), " > ")
			if test.Status != "passed" && test.Status != "failed" {
				found.skip(file, p.names.test(name), "")
				continue
			}
			ran++
			found.count(test.Status == "passed")
			if test.Status == "passed" {
				found.ran.Pass(file, p.names.test(name))
				continue
			}
			p.fail(found, file+": "+name, suite.Name, strings.Join(test.Messages, "\n"))
		}
		if ran == 0 && suite.Status == "failed" {
			found.unloaded(p.names, unheaded(suite.Message), suite.Name)
			found.show(suite.Message)
		}
	}
}

// unheaded is a message of jest without its heading.
func unheaded(message string) string {
	_, after, ok := strings.Cut(plain(message), "● Test suite failed to run\n")
	if ok {
		return after
	}
	return message
}

func (p *jsonParser) mocha(found *findings, report *jsonReport) {
	passed := max(0, min(report.Stats.Passes, 1<<24))
	found.tests, found.passed = found.tests+passed, found.passed+passed
	for _, test := range report.Passes {
		found.ran.Pass(p.names.rooted(test.File), p.names.test(test.Full))
	}
	for _, test := range report.Pending {
		found.skip(p.names.rooted(test.File), p.names.test(test.Full), "")
	}
	for _, test := range report.Failures {
		found.count(false)
		p.fail(found, test.Full, test.File, test.Err.Message+"\n"+test.Err.Stack)
		found.hook(test.Title, p.names.rooted(test.File))
	}
}

func (p *jsonParser) fail(found *findings, name, file, message string) {
	signature := "test: " + strings.Join(strings.Fields(plain(name)), " ")
	found.add(signature)
	found.own(signature, p.names.rooted(file))
	found.say(signature, message)
	found.show(name + ": " + strings.TrimSpace(message))
}
