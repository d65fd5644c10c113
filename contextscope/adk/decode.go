package adk

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
	t := reflect.TypeOf(v).Elem()
	if err := dec.Decode(v); err != nil {
		return located(data, t, err)
	}
	end := dec.InputOffset()
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: more after the end of the value", position(data, skipBlank(data, end)))
	}
	return newFieldWalker(data).value(t)
}

// located gives an error of decoding data into a t its place.
func located(data []byte, t reflect.Type, err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax) && !json.Valid(data):
		return fmt.Errorf("%s: %w", position(data, syntax.Offset-1), err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%s: unexpected end of the JSON", position(data, int64(len(data))))
	}
	w := newFieldWalker(data)
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		w.mismatch = kind
	}
	if found := w.value(t); found != nil {
		return found
	}
	return err
}

// misfit reports that a value is not of its type.
func misfit(value string, t reflect.Type) string {
	return fmt.Sprintf("a JSON %s does not fit, want %s", value, wanted(t))
}

// wanted names what JSON has for a type.
func wanted(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "a string in base64"
		}
		return "an array"
	default:
		return "a number"
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
	// mismatch, where it is not nil, is to be returned as an error at the value that it was made for.
	mismatch *json.UnmarshalTypeError
	fields   map[reflect.Type]map[string]reflect.Type
}

func newFieldWalker(data []byte) *fieldWalker {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return &fieldWalker{data: data, dec: dec, found: -1, fields: map[reflect.Type]map[string]reflect.Type{}}
}

// placeOf is the position of the value at a path such as .events[2].role; of the whole value when it is not there.
func placeOf(data []byte, path string, v any) string {
	w := newFieldWalker(data)
	w.target = path
	if err := w.value(reflect.TypeOf(v).Elem()); err != nil || w.found < 0 {
		w.found = skipBlank(data, 0)
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
	start := skipBlank(w.data, w.dec.InputOffset())
	if err := w.ownWay(t, start); err != nil {
		return err
	}
	tok, err := w.dec.Token()
	if err != nil {
		return err
	}
	if m := w.mismatch; m != nil && start < m.Offset && m.Offset <= w.dec.InputOffset() {
		return w.faultAt(start, misfit(m.Value, m.Type))
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

// ownWay decodes a value whose type JSON reads in a way of its own: the errors of those have no place, or a wrong one.
func (w *fieldWalker) ownWay(t reflect.Type, start int64) error {
	bytes64 := t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
	if !bytes64 && !reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return nil
	}
	var raw json.RawMessage
	if err := json.NewDecoder(bytes.NewReader(w.data[start:])).Decode(&raw); err != nil {
		return w.faultAt(start, err.Error())
	}
	err := json.Unmarshal(raw, reflect.New(t).Interface())
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return w.faultAt(start+max(kind.Offset-1, 0), misfit(kind.Value, kind.Type))
	}
	if err != nil {
		return w.faultAt(start, err.Error())
	}
	return nil
}

// faultAt is an error with the place and path of the value that the walk has come to.
func (w *fieldWalker) faultAt(offset int64, fault string) error {
	where := strings.TrimPrefix(strings.Join(w.path, ""), ".")
	if where == "" {
		where = "the value"
	}
	return fmt.Errorf("%s: %s: %s", position(w.data, offset), where, fault)
}

func (w *fieldWalker) object(t reflect.Type) error {
	fields := w.fieldsOf(t)
	for w.dec.More() {
		at := skipBlank(w.data, w.dec.InputOffset())
		tok, err := w.dec.Token()
		if err != nil {
			return err
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
			return err
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
