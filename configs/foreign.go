package configs

import (
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"divisi/internal/lazyregexp"
)

// foreign is the front matter of a file that was written for another program: fields of any shape, read leniently.
type foreign struct {
	fields map[string]any
	// loose reports that it is no YAML, and was read line by line.
	loose bool
	// list reports that it is a list and not a set of fields.
	list bool
}

// readForeign never fails. Many such files are no YAML: their description holds colons and examples as they are.
func readForeign(front string) foreign {
	d := newDocument("", front)
	body := d.parse(front)
	if body != nil && len(d.faults) == 0 {
		switch value := d.value(body, &jsonschema.Schema{}, "", 0).(type) {
		case map[string]any:
			if _, text := value["description"].(string); len(d.faults) == 0 && (text || value["description"] == nil) {
				return foreign{fields: value}
			}
		case []any:
			return foreign{list: true}
		}
	}
	return foreign{fields: fieldLines(front), loose: true}
}

var fieldLine = lazyregexp.New(`^([A-Za-z][A-Za-z_-]*):(?:\s+(.*)|)$`)

// afterProse are the fields that end a description: its lines can look like fields too, such as the user: of an example.
var afterProse = strings.Fields(`name tools disallowedTools model color permissionMode maxTurns kind mcpServers
	mcp_servers skills hooks memory temperature max_turns timeout_mins effort display_name background isolation
	agent_card_url agent_card_json`)

// fieldLines takes fields from the lines that begin with one; every other line continues with the field before it.
func fieldLines(front string) map[string]any {
	found := map[string]any{}
	at := ""
	for line := range strings.Lines(front) {
		line = strings.TrimRight(line, "\r\n")
		name, rest := "", ""
		if m := fieldLine.FindStringSubmatch(line); m != nil {
			name, rest = m[1], m[2]
		}
		_, twice := found[name]
		switch {
		case name != "" && !twice && (at != "description" || slices.Contains(afterProse, name)):
			at, found[name] = name, strings.TrimSpace(rest)
		case at != "":
			text, _ := found[at].(string)
			found[at] = text + "\n" + line
		}
	}
	for name, value := range found {
		if text, ok := value.(string); ok {
			found[name] = unquote(text)
		}
	}
	return found
}

// unquote takes the quotes or the block mark of YAML off a text.
func unquote(text string) string {
	text = strings.TrimSpace(text)
	if len(text) > 1 && (text[0] == '"' || text[0] == '\'') && text[len(text)-1] == text[0] {
		return text[1 : len(text)-1]
	}
	for _, mark := range []string{"|", ">", "|-", ">-"} {
		if rest, ok := strings.CutPrefix(text, mark+"\n"); ok {
			return strings.TrimSpace(rest)
		}
	}
	return text
}

// text is a field as a text; empty where it is none.
func (f *foreign) text(name string) string {
	text, _ := f.fields[name].(string)
	return strings.TrimSpace(text)
}

// words is a field as a list: a list, or a text with commas or lines between. What is in parentheses stays together.
func (f *foreign) words(name string) (words []string, given bool) {
	switch value := f.fields[name].(type) {
	case nil:
		return nil, false
	case []any:
		for _, v := range value {
			if text, ok := v.(string); ok {
				words = append(words, text)
			}
		}
	case string:
		words = splitWords(value)
	}
	return words, true
}

func splitWords(text string) []string {
	var words []string
	depth, start := 0, 0
	cut := func(end int) {
		if word := strings.Trim(text[start:end], " \t\r\n-[]\"'"); word != "" {
			words = append(words, word)
		}
		start = end + 1
	}
	for i, c := range text {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth = max(0, depth-1)
		case c == '\n', c == ',' && depth == 0:
			depth = 0
			cut(i)
		}
	}
	cut(len(text))
	return words
}
