package contextscope

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
)

// decodeStrict reads one JSON value into v. Syntax faults, wrong types, and fields that v's type does not have are errors
// that name the place, by line and column. Numbers in free-form values keep their spelling.
func decodeStrict(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(v); err != nil {
		return located(data, err)
	}
	end := dec.InputOffset()
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: more after the end of the value", position(data, skipBlank(data, end)))
	}
	w := newFieldWalker(data)
	return w.value(reflect.TypeOf(v).Elem())
}

// located gives an error of encoding/json its place.
func located(data []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("%s: %w", position(data, syntax.Offset-1), err)
	case errors.As(err, &kind):
		field := kind.Field
		if field == "" {
			field = "the value"
		}
		return fmt.Errorf("%s: %s: a JSON %s does not fit", position(data, kind.Offset-1), field, kind.Value)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%s: unexpected end of the JSON", position(data, int64(len(data))))
	default:
		return err
	}
}

// position writes an offset as line and column, both from 1; columns count bytes.
func position(data []byte, offset int64) string {
	before := data[:min(max(offset, 0), int64(len(data)))]
	return fmt.Sprintf("line %d, column %d", 1+bytes.Count(before, []byte("\n")), len(before)-bytes.LastIndexByte(before, '\n'))
}

// skipBlank is the offset of the next token.
func skipBlank(data []byte, offset int64) int64 {
	for offset < int64(len(data)) && strings.IndexByte(" \t\r\n,:", data[offset]) >= 0 {
		offset++
	}
	return offset
}

// fieldWalker walks JSON that is known to be well-formed beside the Go type that it was decoded into, and finds fields
// that the type does not have, or the place of one value.
type fieldWalker struct {
	data []byte
	dec  *json.Decoder
	path []string
	// target is the path of a value whose offset is wanted.
	target string
	found  int64
	fields map[reflect.Type]map[string]reflect.Type
}

func newFieldWalker(data []byte) *fieldWalker {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return &fieldWalker{data: data, dec: dec, found: -1, fields: map[reflect.Type]map[string]reflect.Type{}}
}

// placeOf is the position of the value at a path such as events[2].role, or "" when it is not there.
func placeOf(data []byte, path string, v any) string {
	w := newFieldWalker(data)
	w.target = path
	if err := w.value(reflect.TypeOf(v).Elem()); err != nil || w.found < 0 {
		return ""
	}
	return position(data, w.found)
}

func (w *fieldWalker) value(t reflect.Type) error {
	if w.target != "" && w.found < 0 && strings.Join(w.path, "") == w.target {
		w.found = skipBlank(w.data, w.dec.InputOffset())
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	tok, err := w.dec.Token()
	if err != nil {
		return located(w.data, err)
	}
	switch tok {
	case json.Delim('{'):
		if t.Kind() != reflect.Struct || len(w.fieldsOf(t)) == 0 {
			return w.skip()
		}
		return w.object(t)
	case json.Delim('['):
		if t.Kind() != reflect.Slice {
			return w.skip()
		}
		return w.array(t.Elem())
	default:
		return nil
	}
}

func (w *fieldWalker) object(t reflect.Type) error {
	fields := w.fieldsOf(t)
	for w.dec.More() {
		at := skipBlank(w.data, w.dec.InputOffset())
		tok, err := w.dec.Token()
		if err != nil {
			return located(w.data, err)
		}
		key, _ := tok.(string)
		field, ok := fields[key]
		if !ok {
			where := strings.TrimPrefix(strings.Join(w.path, ""), ".")
			if where != "" {
				where = " in " + where
			}
			return fmt.Errorf("%s: unknown field %q%s", position(w.data, at), key, where)
		}
		w.path = append(w.path, "."+key)
		if err := w.value(field); err != nil {
			return err
		}
		w.path = w.path[:len(w.path)-1]
	}
	_, err := w.dec.Token()
	return err
}

func (w *fieldWalker) array(elem reflect.Type) error {
	for i := 0; w.dec.More(); i++ {
		w.path = append(w.path, "["+strconv.Itoa(i)+"]")
		if err := w.value(elem); err != nil {
			return err
		}
		w.path = w.path[:len(w.path)-1]
	}
	_, err := w.dec.Token()
	return err
}

// skip passes over the rest of a free-form object or array whose first delimiter was read.
func (w *fieldWalker) skip() error {
	for depth := 1; depth > 0; {
		tok, err := w.dec.Token()
		if err != nil {
			return located(w.data, err)
		}
		switch tok {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
	return nil
}

// fieldsOf maps the names that a struct has in JSON to their types; it is empty for types that JSON reads their own way.
func (w *fieldWalker) fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields, known := w.fields[t]
	if known {
		return fields
	}
	fields = map[string]reflect.Type{}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && name != "-" && name != "" {
			fields[name] = f.Type
		}
	}
	w.fields[t] = fields
	return fields
}
