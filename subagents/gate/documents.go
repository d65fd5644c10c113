package gate

import (
	"strings"

	"divisi/internal/spec"
	"divisi/subagents/finding"
)

// documents are the reports tools in formats of their own.
type documents struct {
	document finding.Document
	// remarks are the findings that are no errors, known reports whether there was a document of a known tool.
	remarks []spec.Finding
	known   bool
	// beside takes the other lines too; nil for nothing.
	beside func(line string)
}

// documented reads the document that has ended. What is none of a known tool is text.
func (p *textParser) documented() {
	lines, document, cut := p.document.Take()
	report, ok := finding.Parse(document)
	if p.known = p.known || ok; p.known && cut {
		p.found.hide(spec.HiddenAll)
	}
	if !ok {
		report.Text = lines
	}
	for line := range strings.Lines(report.Text) {
		p.plainLine(strings.TrimRight(line, "\n"))
	}
	for _, file := range report.Hidden {
		p.found.hide(p.names.rooted(file))
	}
	for _, one := range report.Findings {
		one.File, one.Message = p.names.rooted(one.File), p.names.rooted(one.Message)
		switch {
		case one.Severity == "":
			p.found.show(one.String())
			p.found.tell(p.names, one)
		case one.Severity == finding.Warning && len(p.remarks) < maxSignatures:
			p.remarks = append(p.remarks, one)
		}
	}
}

// remark makes failures of the warnings where there is no error: a tool can be told to fail on them.
func (p *textParser) remark() {
	if len(p.found.signatures) > 0 {
		return
	}
	for _, one := range p.remarks {
		p.found.show(one.String())
		p.found.tell(p.names, one)
	}
}
