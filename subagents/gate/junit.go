package gate

import (
	"encoding/xml"
	"io"
	"strings"
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
	readJUnit(strings.NewReader(p.data.String()), found)
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
	Skipped  *struct{}      `xml:"skipped"`
}

type junitProblem struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// readJUnit takes what it can: a report that breaks off counts up to there.
func readJUnit(report io.Reader, found *findings) {
	decoder := xml.NewDecoder(report)
	decoder.Strict = false
	decoder.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	depth, file := 0, ""
	for {
		token, err := decoder.Token()
		if err != nil {
			return
		}
		switch element := token.(type) {
		case xml.StartElement:
			depth++
			if element.Name.Local == "testsuite" {
				file = fileOf(element.Attr)
			}
			if element.Name.Local != "testcase" {
				continue
			}
			one := junitCase{File: file}
			if err := decoder.DecodeElement(&one, &element); err != nil {
				return
			}
			depth--
			found.addCase(one)
		case xml.EndElement:
			if depth--; depth <= 0 {
				return // what follows the report is other output
			}
		}
	}
}

// fileOf returns the file that a suite names.
func fileOf(attributes []xml.Attr) string {
	for _, a := range attributes {
		if a.Name.Local == "file" || a.Name.Local == "filepath" {
			return a.Value
		}
	}
	return ""
}

func (f *findings) addCase(c junitCase) {
	if c.Skipped != nil {
		return
	}
	f.tests++
	problems := append(append([]junitProblem{}, c.Failures...), c.Errors...)
	if len(problems) == 0 {
		return
	}
	name := strings.Join(strings.Fields(plain(c.Class+" "+c.Name)), " ")
	if name == "" {
		name = "(without a name)"
	}
	f.add("test: " + name)
	f.own("test: "+name, c.File)
	f.own("test: "+name, c.Class)
	for _, problem := range problems {
		f.say("test: "+name, problem.Message, problem.Text)
		f.show(name + ": " + strings.TrimSpace(problem.Message+"\n"+problem.Text))
	}
}
