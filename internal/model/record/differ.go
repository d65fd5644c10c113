package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// comparison compares a recorded request with one that is asked.
type comparison struct {
	// recorded and asked are the names of the runs.
	recorded, asked string
}

// differ tells in words where two requests differ first: in the configuration, else in the contents from the oldest on. It is
// empty when they do not.
func (c comparison) differ(recorded, asked []byte) (string, error) {
	a, err := values(recorded)
	if err != nil {
		return "", err
	}
	b, err := values(asked)
	if err != nil {
		return "", err
	}
	return c.at("", a, b), nil
}

// values reads a request as JSON values.
func values(raw []byte) (any, error) {
	var tree any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&tree); err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	return tree, nil
}

func (c comparison) at(path string, a, b any) string {
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			return c.objects(path, a, b)
		}
	case []any:
		if b, ok := b.([]any); ok {
			return c.lists(path, a, b)
		}
	case string:
		if b, ok := b.(string); ok {
			return c.texts(path, a, b)
		}
	}
	if a == b {
		return ""
	}
	return fmt.Sprintf("%s was %s and is %s", path, show(a), show(b))
}

func (c comparison) objects(path string, a, b map[string]any) string {
	keys := slices.Concat(slices.Collect(maps.Keys(a)), slices.Collect(maps.Keys(b)))
	slices.Sort(keys)
	for _, k := range slices.Compact(keys) {
		at := strings.TrimPrefix(path+"."+k, ".")
		_, before := a[k]
		_, now := b[k]
		switch {
		case !now:
			return at + " is gone"
		case !before:
			return at + " is new"
		}
		if d := c.at(at, a[k], b[k]); d != "" {
			return d
		}
	}
	return ""
}

func (c comparison) lists(path string, a, b []any) string {
	for i := range min(len(a), len(b)) {
		if d := c.at(path+"["+strconv.Itoa(i)+"]", a[i], b[i]); d != "" {
			return d
		}
	}
	if len(a) != len(b) {
		return fmt.Sprintf("%s has %d entries and had %d", path, len(b), len(a))
	}
	return ""
}

// texts shows the first line that differs, from a little before the place. What is volatile takes long to find, so it is looked
// for only where there is a difference at all.
func (c comparison) texts(path, a, b string) string {
	if a == b {
		return ""
	}
	a, b = steady(a, c.recorded), steady(b, c.asked)
	if a == b {
		return ""
	}
	old, now := strings.Split(a, "\n"), strings.Split(b, "\n")
	i := 0
	for i < min(len(old), len(now)) && old[i] == now[i] {
		i++
	}
	at := path
	if len(old) > 1 || len(now) > 1 {
		at = fmt.Sprintf("%s, line %d,", path, i+1)
	}
	switch {
	case i == len(old):
		return fmt.Sprintf("%s is new: %s", at, around(now[i], 0))
	case i == len(now):
		return fmt.Sprintf("%s is gone: %s", at, around(old[i], 0))
	}
	same := 0
	for same < min(len(old[i]), len(now[i])) && old[i][same] == now[i][same] {
		same++
	}
	return fmt.Sprintf("%s was %s and is %s", at, around(old[i], same), around(now[i], same))
}

// around quotes a line about a place, in bytes.
func around(line string, at int) string {
	const before, most = 20, 80
	from := max(0, min(at, len(line))-before)
	for from > 0 && !utf8.RuneStart(line[from]) {
		from--
	}
	text, head, tail := line[from:], "", ""
	if from > 0 {
		head = "…"
	}
	if len(text) > most {
		text, tail = strings.ToValidUTF8(text[:most], ""), "…"
	}
	return head + strconv.Quote(text) + tail
}

func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return around(v, 0)
	}
	return fmt.Sprint(v)
}
