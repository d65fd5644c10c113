package ci

import (
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
)

// part is one simple command of a script, or a pipe of them.
type part struct {
	text  string
	words []string
	// plain reports that no shell is needed to run the words.
	plain bool
	line  int // in the script, from 0
}

// splitter reads a script letter by letter.
type splitter struct {
	parts       []part
	now         part
	text, word  strings.Builder
	open, whole bool // there is a word; the shell decides what runs
	quote       byte
	depth       int // of command substitutions
}

// split finds the commands of a script. whole reports that they cannot be run one by one: the shell decides which run.
func split(script string) (parts []part, whole bool) {
	script = withoutDocuments(script)
	s := splitter{now: part{plain: true}}
	line := 0
	for i := 0; i < len(script); i++ {
		c, next := script[i], byte('\n')
		if i+1 < len(script) {
			next = script[i+1]
		}
		if !s.open && len(s.now.words) == 0 {
			s.now.line = line
		}
		if c == '#' && !s.open && s.quote == 0 && s.depth == 0 {
			end := strings.IndexByte(script[i:], '\n')
			if end < 0 {
				break
			}
			i += end - 1
			continue
		}
		if c == '\n' || c == '\\' && next == '\n' {
			line++
		}
		i += s.read(c, next)
	}
	s.endPart()
	return s.parts, s.whole || s.quote != 0 || s.depth != 0 || slices.ContainsFunc(s.parts, controls)
}

// read takes a letter, and returns how many more it took.
func (s *splitter) read(c, next byte) (more int) {
	switch {
	case c == '\\' && s.quote != '\'':
		if next == '\n' {
			s.text.WriteByte(' ')
			s.endWord()
			return 1
		}
		s.text.WriteByte(c)
		if s.quote == '"' && !strings.ContainsRune("\"\\$`", rune(next)) {
			s.word.WriteByte(c)
		}
		s.put(next)
		return 1
	case s.depth > 0: // with quotes of its own
		s.depth += map[byte]int{'(': 1, ')': -1}[c]
		s.put(c)
	case c == '$' && next == '(' && s.quote != '\'':
		s.depth, s.now.plain = 1, false
		s.put(c)
		s.put(next)
		return 1
	case s.quote != 0:
		s.quoted(c)
	case c == '\'' || c == '"' || c == '`':
		s.quote, s.open = c, true
		s.text.WriteByte(c)
		s.now.plain = s.now.plain && c != '`'
	case c == '&' && next == '&':
		s.endPart()
		return 1
	case c == '\n' || c == ';':
		s.endPart()
	case c == ' ' || c == '\t':
		s.text.WriteByte(c)
		s.endWord()
	default:
		background := c == '&' && next != '>' && !strings.HasSuffix(s.text.String(), ">")
		s.whole = s.whole || background || c == '(' && !strings.HasSuffix(s.text.String(), "<") || c == '<' && next == '<'
		s.now.plain = s.now.plain && !strings.ContainsRune("$|&<>()*?[]~{}!", rune(c))
		s.put(c)
	}
	return 0
}

func (s *splitter) put(c byte) {
	s.text.WriteByte(c)
	s.word.WriteByte(c)
	s.open = true
}

func (s *splitter) quoted(c byte) {
	if c == s.quote {
		s.quote = 0
		s.text.WriteByte(c)
		return
	}
	s.now.plain = s.now.plain && (s.quote == '\'' || c != '$' && c != '`')
	s.put(c)
}

func (s *splitter) endWord() {
	if s.open {
		s.now.words = append(s.now.words, s.word.String())
	}
	s.word.Reset()
	s.open = false
}

func (s *splitter) endPart() {
	s.endWord()
	if s.now.text = strings.TrimSpace(s.text.String()); len(s.now.words) > 0 {
		s.parts = append(s.parts, s.now)
	}
	s.text.Reset()
	s.now = part{plain: true}
}

var document = lazyregexp.New(`<<-?\s*['"]?(\w+)['"]?`)

// withoutDocuments empties the lines that a script feeds to its commands.
func withoutDocuments(script string) string {
	if !strings.Contains(script, "<<") {
		return script
	}
	lines, until := strings.Split(script, "\n"), ""
	for i, line := range lines {
		if m := document.FindStringSubmatch(line); until == "" && m != nil {
			until = m[1]
		} else if until != "" {
			if strings.TrimSpace(line) == until {
				until = ""
			}
			lines[i] = ""
		}
	}
	return strings.Join(lines, "\n")
}

// keywords begin what a shell decides.
var keywords = strings.Fields("if then elif else fi for while until do done case esac function { } [[ [ trap exit eval !")

// builtins are programs of the shell itself.
var builtins = strings.Fields("cd pushd popd export set unset source . : read test ulimit wait command type umask")

func controls(p part) bool {
	return strings.Contains(p.words[0], "+=") || slices.Contains(keywords, p.words[0]) || strings.Contains(p.text, "||")
}

// words are those of the first command of a script.
func words(script string) []string {
	if parts, _ := split(script); len(parts) > 0 {
		return parts[0].words
	}
	return nil
}
