package acceptance

import (
	"errors"
	"fmt"
	"strings"
)

var errTOML = errors.New("no TOML that can be read")

// tomlValues returns the values of a TOML text in their written form, by their dotted names; the tables of an array are numbered.
// A quoted name with an escape is an error: it can be another name than it looks.
func tomlValues(content []byte) (map[string]string, error) {
	t := &toml{rest: strings.TrimPrefix(string(content), "\ufeff"), values: map[string]string{}}
	table, arrays := "", map[string]int{}
	for t.skip(" \t\r\n"); t.rest != ""; t.skip(" \t\r\n") {
		head, array := strings.CutPrefix(t.rest, "[[")
		var single bool
		if !array {
			head, single = strings.CutPrefix(t.rest, "[")
		}
		if !array && !single {
			if err := t.pair(table, 0); err != nil {
				return nil, err
			}
			continue
		}
		t.rest = head
		name, err := t.name("]")
		if err != nil {
			return nil, err
		}
		closing := "]"
		if array {
			closing = "]]"
			arrays[name]++
			name = fmt.Sprintf("%s.%d", name, arrays[name])
		}
		rest, ok := strings.CutPrefix(t.rest, closing)
		if !ok {
			return nil, errTOML
		}
		t.rest, table = rest, name+"."
		t.values[name] += "table"
	}
	return t.values, nil
}

// toml is a text that is read, and what was found so far.
type toml struct {
	rest   string
	values map[string]string
}

// skip skips some characters, and comments.
func (t *toml) skip(blank string) {
	for {
		t.rest = strings.TrimLeft(t.rest, blank)
		if !strings.HasPrefix(t.rest, "#") {
			return
		}
		at := strings.IndexByte(t.rest, '\n')
		if at < 0 {
			at = len(t.rest)
		}
		t.rest = t.rest[at:]
	}
}

// name reads a dotted name up to a character that ends it.
func (t *toml) name(end string) (string, error) {
	var parts []string
	for {
		t.skip(" \t")
		var part string
		if quote := t.rest[:min(1, len(t.rest))]; quote == `"` || quote == "'" {
			inner, rest, ok := strings.Cut(t.rest[1:], quote)
			if !ok || strings.ContainsAny(inner, "\\\n") {
				return "", errTOML
			}
			part, t.rest = inner, rest
		} else {
			at := strings.IndexFunc(t.rest, func(r rune) bool {
				return r != '_' && r != '-' && (r|0x20 < 'a' || r|0x20 > 'z') && (r < '0' || r > '9')
			})
			if at <= 0 {
				return "", errTOML
			}
			part, t.rest = t.rest[:at], t.rest[at:]
		}
		parts = append(parts, part)
		t.skip(" \t")
		switch {
		case strings.HasPrefix(t.rest, "."):
			t.rest = t.rest[1:]
		case strings.HasPrefix(t.rest, end):
			return strings.Join(parts, "."), nil
		default:
			return "", errTOML
		}
	}
}

// maxTables bounds tables inside of values.
const maxTables = 16

// pair reads a name and its value. The values of a table in braces have names of their own.
func (t *toml) pair(table string, depth int) error {
	name, err := t.name("=")
	if err != nil || depth > maxTables {
		return errTOML
	}
	t.rest = t.rest[1:]
	t.skip(" \t")
	name = table + name
	if !strings.HasPrefix(t.rest, "{") {
		t.values[name], err = t.value(depth > 0)
		return err
	}
	t.rest = t.rest[1:]
	for t.skip(" \t\r\n,"); !strings.HasPrefix(t.rest, "}"); t.skip(" \t\r\n,") {
		if err := t.pair(name+".", depth+1); err != nil {
			return err
		}
	}
	t.rest = t.rest[1:]
	return nil
}

// value reads a value up to the end of its line, or of its part of a table in braces.
func (t *toml) value(inner bool) (string, error) {
	var out strings.Builder
	depth := 0
	for t.rest != "" {
		c := t.rest[0]
		switch {
		case c == '"' || c == '\'':
			text, err := t.quoted()
			if err != nil {
				return "", err
			}
			out.WriteString(text)
			continue
		case c == '#':
			t.skip("")
			continue
		case depth == 0 && (c == '\n' || inner && (c == ',' || c == '}')):
			return strings.TrimSpace(out.String()), nil
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		}
		if depth < 0 {
			return "", errTOML
		}
		if depth == 0 || c > ' ' { // how a list is laid out is no part of it
			out.WriteByte(c)
		}
		t.rest = t.rest[1:]
	}
	if depth > 0 || inner {
		return "", errTOML
	}
	return strings.TrimSpace(out.String()), nil
}

// quoted reads a text in its quotes, one or three.
func (t *toml) quoted() (string, error) {
	quote := t.rest[:1]
	if long := strings.Repeat(quote, 3); strings.HasPrefix(t.rest, long) {
		quote = long
	}
	for at := len(quote); at < len(t.rest); at++ {
		switch {
		case t.rest[at] == '\\' && quote[0] == '"':
			at++
		case t.rest[at] == '\n' && len(quote) == 1:
			return "", errTOML
		case strings.HasPrefix(t.rest[at:], quote):
			text := t.rest[:at+len(quote)]
			t.rest = t.rest[len(text):]
			return text, nil
		}
	}
	return "", errTOML
}
