package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Object reads a JSON object whose fields are all known and there once, and nothing behind it. The error reports what to fix.
func Object(body []byte, known ...string) (map[string]json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("must be one JSON object, not: %.160q", bytes.TrimSpace(body))
	}
	fields := map[string]json.RawMessage{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("this is not JSON: %w", err)
		}
		name, _ := t.(string) // the name of a field is one
		if err := checkField(name, fields, known); err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, fmt.Errorf("field %q is not JSON: %w", name, err)
		}
		fields[name] = value
	}
	if _, err := dec.Token(); err != nil {
		return nil, errors.New("the JSON object has no end")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is something behind the JSON object")
	}
	return fields, nil
}

func checkField(name string, fields map[string]json.RawMessage, known []string) error {
	_, twice := fields[name]
	near := Nearest(name, known)
	switch {
	case twice:
		return fmt.Errorf("field %q is there twice", name)
	case slices.Contains(known, name):
		return nil
	case near != "":
		return fmt.Errorf("unknown field %.160q (did you mean %q?)", name, near)
	default:
		return fmt.Errorf("unknown field %.160q; the fields are %s", name, strings.Join(known, ", "))
	}
}
