package spec

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MarshalJSON writes names that are not UTF-8 in quotation marks: a string of JSON has none. So are names that begin with one.
func (p Patch) MarshalJSON() ([]byte, error) {
	type plain Patch // without this method
	p.Files, p.Lost = quoted(p.Files), quoted(p.Lost)
	return json.Marshal(plain(p))
}

// UnmarshalJSON reads them.
func (p *Patch) UnmarshalJSON(data []byte) (err error) {
	type plain Patch // without this method
	if err = json.Unmarshal(data, (*plain)(p)); err != nil {
		return err
	}
	if p.Files, err = unquoted(p.Files); err == nil {
		p.Lost, err = unquoted(p.Lost)
	}
	return err
}

const quote = `"`

func quoted(names []string) []string {
	var out []string
	for i, name := range names {
		if utf8.ValidString(name) && !strings.HasPrefix(name, quote) {
			continue
		}
		if out == nil {
			out = append(out, names...)
		}
		out[i] = strconv.Quote(name)
	}
	if out == nil {
		return names
	}
	return out
}

func unquoted(names []string) ([]string, error) {
	for i, name := range names {
		if !strings.HasPrefix(name, quote) {
			continue
		}
		plain, err := strconv.Unquote(name)
		if err != nil {
			return nil, fmt.Errorf("the name %s of a patch: %w", name, err)
		}
		names[i] = plain
	}
	return names, nil
}
