package guide

import (
	"io/fs"
	"path"
	"strings"
)

// expand puts imported files into a text: an import that stands alone on its line is replaced by the file; after a line with
// others the files follow. What is imported a second time, or by itself, is not repeated.
func (f *finder) expand(file, text string, depth int) string {
	var out strings.Builder
	var fence string
	for line := range strings.Lines(text) {
		if out.Len() > maxAll {
			f.notef("%s: the rest was left out, there is too much of it", file)
			break
		}
		var found []string
		if fence, found = importsOf(line, fence); len(found) == 0 {
			out.WriteString(line)
			continue
		}
		alone := strings.TrimSpace(line) == "@"+found[0]
		files, ok := f.imported(file, found, depth)
		if !alone || !ok {
			out.WriteString(line)
		}
		for _, text := range files {
			endLine(&out)
			out.WriteString(text)
		}
		if len(files) > 0 {
			endLine(&out)
		}
	}
	return out.String()
}

func endLine(b *strings.Builder) {
	if s := b.String(); s != "" && !strings.HasSuffix(s, "\n") {
		b.WriteByte('\n')
	}
}

// imported returns the texts of the files that a line names. ok reports that none of them is missing.
func (f *finder) imported(from string, names []string, depth int) (texts []string, ok bool) {
	ok = true
	for _, name := range names {
		file := path.Join(path.Dir(from), name)
		switch {
		case path.IsAbs(name) || strings.HasPrefix(name, "~") || !fs.ValidPath(file):
			f.notef("%s: the import @%s lies outside the repository", from, name)
			ok = false
			continue
		case f.seen[file]:
			continue
		case depth >= maxDepth:
			f.notef("%s: the import @%s lies more than %d imports deep", from, name, maxDepth)
			ok = false
			continue
		case f.imports >= maxImports:
			f.notef("%s: the import @%s is one too many: at most %d are followed", from, name, maxImports)
			ok = false
			continue
		}
		f.imports++
		text, there := f.open(file, true)
		if !there {
			ok = false
			continue
		}
		texts = append(texts, f.expand(file, text, depth+1))
	}
	return texts, ok
}

// importsOf returns the paths that a line imports, as @path, outside code. fence is the open fence of a code block before the
// line, and the result's after it.
func importsOf(line, fence string) (after string, paths []string) {
	trimmed := strings.TrimLeft(line, " ")
	if mark := fenceOf(trimmed); mark != "" && len(line)-len(trimmed) < 4 {
		switch {
		case fence == "":
			return mark, nil
		case mark[0] == fence[0] && len(mark) >= len(fence) && strings.TrimSpace(trimmed[len(mark):]) == "":
			return "", nil
		}
	}
	if fence != "" {
		return fence, nil
	}
	for _, word := range strings.Fields(withoutSpans(line)) {
		if p, ok := importPath(word); ok {
			paths = append(paths, p)
		}
	}
	return "", paths
}

// fenceOf returns the three or more ` or ~ that open or close a code block.
func fenceOf(line string) string {
	for _, c := range []string{"`", "~"} {
		n := len(line) - len(strings.TrimLeft(line, c))
		if n >= 3 && (c == "~" || !strings.Contains(line[n:], "`")) {
			return line[:n]
		}
	}
	return ""
}

// withoutSpans blanks out the code spans of a line: text between two runs of as many `.
func withoutSpans(line string) string {
	var out strings.Builder
	open := map[int]bool{} // runs of that length close nothing in the rest of the line
	for {
		start := strings.IndexByte(line, '`')
		if start < 0 {
			return out.String() + line
		}
		n := len(line[start:]) - len(strings.TrimLeft(line[start:], "`"))
		end := -1
		if !open[n] {
			end = closing(line[start+n:], n)
		}
		out.WriteString(line[:start])
		if end < 0 { // a run that nothing closes is text
			open[n] = true
			out.WriteString(line[start : start+n])
			line = line[start+n:]
			continue
		}
		// No blank in its place: what touches code is no word of its own.
		out.WriteByte('`')
		line = line[start+n+end+n:]
	}
}

// closing returns where the run of exactly n ` begins; -1 when there is none.
func closing(line string, n int) int {
	for at := 0; ; {
		i := strings.IndexByte(line[at:], '`')
		if i < 0 {
			return -1
		}
		at += i
		run := len(line[at:]) - len(strings.TrimLeft(line[at:], "`"))
		if run == n {
			return at
		}
		at += run
	}
}

// importPath returns the path of a word @path. A path has an extension; @name and @scope/package are words of another kind.
func importPath(word string) (string, bool) {
	word, ok := strings.CutPrefix(word, "@")
	if !ok {
		return "", false
	}
	p := strings.TrimRight(word, ".,;:!?)]\"'*_")
	ext := path.Ext(p)
	if ext == "" || ext == "." || path.Base(p) == ext || strings.ContainsAny(p, "@`\x00") {
		return "", false
	}
	return p, true
}
