package gate

import (
	"cmp"
	"encoding/xml"
	"io"
	"slices"
	"strings"

	"divisi/internal/spec"
)

// maxReport bounds a JUnit report in bytes.
const maxReport = 32 << 20

// junitParser collects the output and reads the JUnit report in it; the report may also come from a file.
type junitParser struct {
	text  *textParser
	names normaliser
	data  strings.Builder
	// filed reports whether the report came from a file: the output holds none then.
	filed bool
}

func (p *junitParser) line(text string) {
	p.text.line(text)
	if p.filed {
		return
	}
	started := p.data.Len() > 0
	if !started {
		at := reportStart(text)
		if at < 0 {
			return
		}
		text = text[at:]
	}
	if p.data.Len()+len(text) < maxReport {
		p.data.WriteString(text)
		p.data.WriteByte('\n')
	}
}

func reportStart(text string) int {
	for _, mark := range []string{"<?xml", "<testsuites", "<testsuite"} {
		if at := strings.Index(text, mark); at >= 0 {
			return at
		}
	}
	return -1
}

func (p *junitParser) end() *findings {
	found := newFindings()
	if readJUnit(strings.NewReader(colourless(p.data.String())), found, p.names, "") != nil && p.data.Len() > 0 {
		found.hide(spec.HiddenAll)
	}
	found.adopt(p.text.end())
	return found
}

// readFile reads a report that the command wrote itself, in place of one in its output.
func (p *junitParser) readFile(report io.Reader) error {
	p.filed = true
	p.data.Reset()
	if _, err := io.Copy(&p.data, io.LimitReader(report, maxReport)); err != nil {
		return err
	}
	return nil
}

type junitCase struct {
	Class    string         `xml:"classname,attr"`
	File     string         `xml:"file,attr"`
	Name     string         `xml:"name,attr"`
	Failures []junitProblem `xml:"failure"`
	Errors   []junitProblem `xml:"error"`
	Skipped  *junitProblem  `xml:"skipped"`
	// Suites are those around it, where they tell what its class does not.
	Suites string `xml:"-"`
	// Module is the directory of the Maven module that it is in; "" for no such report.
	Module string `xml:"-"`
}

type junitProblem struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// readJUnit takes what it can: a report that breaks off counts up to there. module is that of a report of surefire.
func readJUnit(report io.Reader, found *findings, names normaliser, module string) error {
	decoder := xml.NewDecoder(report)
	decoder.Strict = false
	decoder.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	depth, file, suites := 0, "", []string(nil)
	for {
		token, err := decoder.Token()
		if err != nil {
			return err
		}
		switch element := token.(type) {
		case xml.StartElement:
			depth++
			found.runner = found.runner || depth == 1
			if element.Name.Local == "testsuite" {
				file = attribute(element.Attr, "file", "filepath")
				suites = append(suites[:min(depth-1, len(suites))], attribute(element.Attr, "name"))
			}
			if element.Name.Local != "testcase" {
				continue
			}
			one := junitCase{File: file, Module: module}
			if err := decoder.DecodeElement(&one, &element); err != nil {
				return err
			}
			depth--
			if one.Class == "test" { // node says so of all its tests
				one.Suites = strings.Join(suites[:min(depth, len(suites))], " > ")
			}
			found.addCase(one, names)
		case xml.EndElement:
			if depth--; depth <= 0 {
				return nil // what follows the report is other output
			}
		}
	}
}

// attribute returns the value of the first attribute with one of the names.
func attribute(attributes []xml.Attr, names ...string) string {
	for _, a := range attributes {
		if slices.Contains(names, a.Name.Local) {
			return a.Value
		}
	}
	return ""
}

func (f *findings) addCase(c junitCase, names normaliser) {
	class, title := names.rooted(c.Class), names.rooted(c.Name)
	suite := c.suite(class, title)
	if c.Module != "" && c.Module != "." { // classes of several modules can have the same name
		class = c.Module + "/" + class
	}
	group, name := cmp.Or(class, names.rooted(c.File)), title
	if c.Class == "test" {
		group, name = names.rooted(c.File), strings.TrimPrefix(c.Suites+" > "+title, " > ")
	}
	f.ran.Seen(group)
	if c.Skipped != nil {
		f.skip(group, names.test(name), cmp.Or(c.Skipped.Message, c.Skipped.Text))
		return
	}
	problems := append(append([]junitProblem{}, c.Failures...), c.Errors...)
	if suite != "" && c.Module != "" {
		f.unloaded(names, "", class)
		for _, problem := range problems {
			f.say("suite: "+class, problem.Message, problem.Text)
			f.show(class + ": " + strings.TrimSpace(problem.Message+"\n"+problem.Text))
		}
		return
	}
	if suite != "" {
		f.runner = true
		for _, problem := range problems {
			f.unloaded(names, problem.Message+"\n"+problem.Text, suite)
			f.show(suite + ": " + strings.TrimSpace(problem.Message+"\n"+problem.Text))
		}
		return
	}
	f.count(len(problems) == 0)
	if len(problems) == 0 {
		f.ran.Pass(group, names.test(name))
		return
	}
	name = strings.Join(strings.Fields(plain(cmp.Or(c.Suites, class)+" "+title)), " ")
	if name == "" {
		name = "(without a name)"
	}
	f.add("test: " + name)
	f.own("test: "+name, c.File)
	f.own("test: "+name, class)
	f.hook(title, cmp.Or(class, names.rooted(c.File)))
	for _, problem := range problems {
		f.say("test: "+name, problem.Message, problem.Text)
		f.show(name + ": " + strings.TrimSpace(problem.Message+"\n"+problem.Text))
	}
}

// suite returns the suite for which a case stands that is no test: what could not be loaded, and a file of node without
// tests; "" for a test. Runners name it where the test would be: pytest without a class, vitest with the file as both, node as
// its path, and surefire the class.
func (c *junitCase) suite(class, title string) string {
	errors := append(append([]junitProblem{}, c.Errors...), c.Failures...)
	switch {
	case class == title && sourceFile.MatchString(title):
		return title
	case class == "" && len(errors) > 0 && strings.HasPrefix(errors[0].Message, "collection "):
		return title
	case class == "test" && title != c.Name && sourceFile.MatchString(title):
		return title
	case len(errors) > 0 && (title == "" || title == "initializationError" || c.Module != "" && title == class):
		return class
	}
	return ""
}
