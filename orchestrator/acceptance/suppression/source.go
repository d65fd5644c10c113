package suppression

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/text"
	"divisi/orchestrator/acceptance/testsource"
)

func re(expression string) *lazyregexp.Regexp { return lazyregexp.New(expression) }

const (
	typescript = ".ts .cts .mts .tsx .vue .svelte .astro "
	scripts    = typescript + ".js .cjs .mjs .jsx "
	jvm        = ".java .kt .kts .scala .groovy "
	clang      = ".c .h .cc .cpp .cxx .hpp .hh .m .mm "
	python     = ".py .pyi "
	prose      = ".md .mdx "
	data       = ".yml .yaml .toml .html .xml "
)

// language has the extensions of files that are alike, what begins a comment up to the end of its line, pairs that enclose a
// comment or a text of several lines, and quotes.
type language struct {
	extensions, line string
	comments, raw    []string
	quotes           string
}

var languages = []language{
	{".go ", "//", []string{"/*", "*/"}, []string{"`", "`"}, `"'`},
	{scripts, "//", []string{"/*", "*/"}, nil, "\"'`"},
	{jvm + ".swift .cs .dart ", "//", []string{"/*", "*/"}, []string{`"""`, `"""`}, `"'`},
	{".rs ", "//", []string{"/*", "*/"}, []string{`r#"`, `"#`}, `"`},
	{clang + ".php .proto .css .scss .less ", "//", []string{"/*", "*/"}, nil, `"'`},
	{python, "#", nil, []string{`"""`, `"""`, "'''", "'''"}, `"'`},
	{".rb .rake .gemspec ", "#", []string{"\n=begin", "\n=end"}, nil, `"'`},
	{".sh .bash .zsh .mk .pl ", "#", nil, []string{"'", "'"}, `"`},
	{".yml .yaml .toml .tf .r .ex .exs ", "#", nil, nil, `"'`},
	{".sql .lua .hs ", "--", []string{"/*", "*/"}, nil, `"'`},
	{".html .xml ", "", []string{"<!--", "-->"}, nil, ""},
	{prose, "", []string{"<!--", "-->"}, []string{"```", "```", "`", "`"}, ""},
}

// hasExtension reports whether a list of extensions has that of a file.
func hasExtension(list, name string) bool {
	extension := strings.ToLower(path.Ext(name))
	return extension != "" && strings.Contains(list, extension+" ")
}

// source is a file whose comments and texts are told from its code: code has blanks in their places.
type source struct {
	name, all string
	code      []byte
	// comments are the places of the comments.
	comments [][2]int
}

// letter is a character of Rust, where a quote alone begins a lifetime.
var letter = re(`^'(?:[^'\\\n]|\\[^\n]{1,9}?)'`)

// read tells the comments and the texts of a file from its code; nil where its language is unknown.
func read(name string, content []byte) *source {
	at := slices.IndexFunc(languages, func(l language) bool { return hasExtension(l.extensions, name) })
	if at < 0 || text.Binary(content) {
		return nil
	}
	l, s := &languages[at], &source{name: name, all: string(content), code: bytes.Clone(content)}
	for i := 0; i < len(s.all); {
		rest := s.all[i:]
		comment, raw := past(rest, l.comments), past(rest, l.raw)
		// A hash within a word begins no comment, but in Python.
		if l.line != "" && strings.HasPrefix(rest, l.line) &&
			(l.line != "#" || l.extensions == python || i == 0 || strings.ContainsAny(s.all[i-1:i], " \t\r\n;")) {
			comment = strings.IndexByte(rest+"\n", '\n')
		}
		end := i + 1
		switch {
		case comment > 0:
			end = i + comment
			s.comments = append(s.comments, [2]int{i, end})
			s.blank(i, end)
		case raw > 0:
			end = i + raw
		case strings.IndexByte(l.quotes, rest[0]) >= 0:
			end = testsource.QuotedEnd(s.all, i)
		case l.extensions == ".rs ":
			end = i + max(1, len(letter.FindString(rest)))
		case l.extensions == scripts && rest[0] == '/':
			end = max(end, testsource.ExpressionEnd(s.all, i))
		}
		s.blank(i+1, end-1)
		i = end
	}
	return s
}

// past is the length of what begins a text and is enclosed by one of some pairs; 0 for none.
func past(text string, pairs []string) int {
	for i := 0; i < len(pairs); i += 2 {
		if !strings.HasPrefix(text, pairs[i]) {
			continue
		}
		if at := strings.Index(text[len(pairs[i]):], pairs[i+1]); at >= 0 {
			return len(pairs[i]) + at + len(pairs[i+1])
		}
		return len(text)
	}
	return 0
}

func (s *source) blank(from, to int) {
	for i := from; i < to; i++ {
		if s.code[i] != '\n' {
			s.code[i] = ' '
		}
	}
}
