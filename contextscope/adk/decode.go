package adk

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// foreign allows what other programs write: text that is not Unicode, and a name twice: the last one counts.
var foreign = json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))

// asWritten keeps the spelling of numbers in free-form values.
var asWritten = json.UnmarshalFromFunc(func(dec *jsontext.Decoder, v *any) error {
	if dec.PeekKind() != '0' {
		return json.SkipFunc
	}
	number, err := dec.ReadValue()
	*v = stdjson.Number(number)
	return err
})

// decodeStrict reads one JSON value into v. Errors of syntax, wrong types, and fields that v's type does not have are errors
// that name the place, by line and column.
func decodeStrict(data []byte, v any) error {
	err := json.Unmarshal(data, v, foreign, json.RejectUnknownMembers(true), json.WithUnmarshalers(asWritten))
	if err == nil {
		return nil
	}
	offset, message := int64(0), err.Error()
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		offset, message = syntax.ByteOffset, syntax.Err.Error()
	} else if misfit, ok := errors.AsType[*json.SemanticError](err); ok {
		offset, message = misfit.ByteOffset, misfitText(misfit)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		offset, message = int64(len(data)), "unexpected end of the JSON"
	}
	return fmt.Errorf("%s: %s", position(data, offset), message)
}

// misfitText names a value, and the reason why it is not of its type.
func misfitText(e *json.SemanticError) string {
	if errors.Is(e.Err, json.ErrUnknownName) {
		text := fmt.Sprintf("unknown field %q", e.JSONPointer.LastToken())
		if parent := e.JSONPointer.Parent(); parent != "" {
			text += " in " + pathOf(parent)
		}
		return text
	}
	name := pathOf(e.JSONPointer)
	if name == "" {
		name = "the value"
	}
	if e.Err != nil {
		return name + ": " + e.Err.Error()
	}
	return fmt.Sprintf("%s: a JSON %s does not fit, want %s", name, kindNames[e.JSONKind], wanted(e.GoType))
}

var kindNames = map[jsontext.Kind]string{
	'n': "null", 't': "bool", 'f': "bool", '"': "string", '0': "number", '{': "object", '[': "array",
}

// wanted names what JSON has for a type.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return wanted(t.Elem())
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

// pathOf writes a pointer such as /events/0/role as events[0].role.
func pathOf(p jsontext.Pointer) string {
	var b strings.Builder
	for token := range p.Tokens() {
		switch {
		case strings.Trim(token, "0123456789") == "":
			b.WriteString("[" + token + "]")
		case b.Len() > 0:
			b.WriteString("." + token)
		default:
			b.WriteString(token)
		}
	}
	return b.String()
}

// position writes an offset as line and column, both from 1; columns count bytes.
func position(data []byte, offset int64) string {
	before := data[:min(max(offset, 0), int64(len(data)))]
	return fmt.Sprintf("line %d, column %d", 1+bytes.Count(before, []byte("\n")), len(before)-bytes.LastIndexByte(before, '\n'))
}

// placeOf is the position of a value in JSON that was read before; of the whole where the value is not there.
func placeOf(data []byte, value jsontext.Pointer) string {
	dec := jsontext.NewDecoder(bytes.NewReader(data), foreign)
	for {
		start := dec.InputOffset()
		if _, err := dec.ReadToken(); err != nil {
			return position(data, skipBlank(data, 0))
		}
		if dec.StackPointer() != value {
			continue
		}
		if in, n := dec.StackIndex(dec.StackDepth()); in == '{' && n%2 == 1 { // its name: the value comes next
			start = dec.InputOffset()
		}
		return position(data, skipBlank(data, start))
	}
}

// skipBlank is the offset of the next token.
func skipBlank(data []byte, offset int64) int64 {
	return int64(len(data)) - int64(len(bytes.TrimLeft(data[offset:], " \t\r\n,:")))
}
