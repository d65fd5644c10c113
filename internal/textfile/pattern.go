package textfile

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"slices"
)

// Pattern is a regular expression that is looked for in the text of files, so that ^ and $ match at the ends of a line whatever
// these are. One that names \r or the byte order mark itself sees them.
type Pattern struct {
	re *regexp.Regexp
	// ends and mark report that it names \r, and the byte order mark.
	ends, mark bool
}

const byteOrderMark = '\ufeff'

// Compile reads an expression in the syntax of Go.
func Compile(expr string) (*Pattern, error) {
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, err
	}
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, err
	}
	return &Pattern{re: re, ends: names(tree, '\r'), mark: names(tree, byteOrderMark)}, nil
}

// names reports whether an expression asks for a character: not as one of \s, or of all but another, and not to end at a line, as
// with [^\r\n].
func names(re *syntax.Regexp, r rune) bool {
	if re.Op == syntax.OpLiteral && slices.Contains(re.Rune, r) {
		return true
	}
	if re.Op == syntax.OpCharClass {
		is, before, after := within(re.Rune, r), within(re.Rune, r-1), within(re.Rune, r+1)
		if is && !before || !is && before && after && within(re.Rune, '\n') {
			return true
		}
	}
	return slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return names(sub, r) })
}

// within reports whether a class, which is pairs of the first and the last of its ranges, has a character.
func within(class []rune, r rune) bool {
	for i := 0; i+1 < len(class); i += 2 {
		if class[i] <= r && r <= class[i+1] {
			return true
		}
	}
	return false
}

// Lines returns the line of each match in a file, from 1, at most so many; all where most is below 0. Of a binary, which it
// reports, the bytes are searched.
func (p *Pattern) Lines(data []byte, most int) (lines []int, binary bool) {
	content := data
	if f, text := Read(data); !text {
		binary = true
	} else {
		content = p.seen(f)
	}
	line, at := 1, 0
	for _, found := range p.re.FindAllIndex(content, most) {
		line, at = line+bytes.Count(content[at:found[0]], []byte("\n")), found[0]
		lines = append(lines, line)
	}
	return lines, binary
}

// seen is the text of a file as the expression wants it.
func (p *Pattern) seen(f *File) []byte {
	if !p.ends && !p.mark || f.Plain() {
		return f.Text
	}
	text := f.Text
	if p.ends && f.crlf > 0 {
		text = f.raw()
	}
	if p.mark && f.mark > 0 {
		text = append([]byte(string(byteOrderMark)), text...)
	}
	return text
}

// raw is the text with its own line ends.
func (f *File) raw() []byte {
	if f.units == nil {
		return f.data[f.mark:]
	}
	out := make([]byte, 0, len(f.Text)+f.crlf)
	for at := f.mark; at < len(f.data); {
		r, n := f.character(at)
		if r == '\n' && n > 2 {
			out = append(out, '\r')
		}
		out, at = append(out, string(r)...), at+n
	}
	return out
}
