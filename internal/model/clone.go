package model

import (
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"google.golang.org/genai"
)

// localID marks ids of calls that the model sent without one. They pair call and response on our side only.
const localID = "divisi-local-"

// escapeInvalid makes bytes that are not UTF-8 visible as \xNN. The SDK would replace each by U+FFFD without a word, and
// a file edited from such text would be ruined.
func escapeInvalid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&b, `\x%02x`, s[0])
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

// clone copies v and all that it points to, so that the SDK, which writes into what it is given, cannot reach the
// caller's values; invalid UTF-8 in strings is escaped. Byte slices are shared: neither side writes to them. Values must be
// free of cycles, which validation has shown by then.
func clone[T any](v T) T {
	src := reflect.ValueOf(&v).Elem()
	dst := reflect.New(src.Type()).Elem()
	cloneInto(dst, src)
	out, _ := dst.Interface().(T)
	return out
}

func cloneInto(dst, src reflect.Value) {
	switch src.Kind() {
	case reflect.String:
		dst.SetString(escapeInvalid(src.String()))
	case reflect.Pointer, reflect.Interface:
		cloneElem(dst, src)
	case reflect.Struct:
		dst.Set(src) // unexported fields are copied as they are
		for i := range src.NumField() {
			if f := dst.Field(i); f.CanSet() {
				cloneInto(f, src.Field(i))
			}
		}
	case reflect.Slice:
		cloneSlice(dst, src)
	case reflect.Map:
		cloneMap(dst, src)
	default:
		dst.Set(src)
	}
}

func cloneElem(dst, src reflect.Value) {
	if src.IsNil() {
		return
	}
	elem := reflect.New(src.Elem().Type())
	cloneInto(elem.Elem(), src.Elem())
	if src.Kind() == reflect.Interface {
		dst.Set(elem.Elem())
		return
	}
	dst.Set(elem.Convert(src.Type()))
}

func cloneSlice(dst, src reflect.Value) {
	if src.IsNil() || src.Type().Elem().Kind() == reflect.Uint8 {
		dst.Set(src)
		return
	}
	dst.Set(reflect.MakeSlice(src.Type(), src.Len(), src.Len()))
	for i := range src.Len() {
		cloneInto(dst.Index(i), src.Index(i))
	}
}

func cloneMap(dst, src reflect.Value) {
	if src.IsNil() {
		return
	}
	dst.Set(reflect.MakeMapWithSize(src.Type(), src.Len()))
	for it := src.MapRange(); it.Next(); {
		key := reflect.New(src.Type().Key()).Elem()
		cloneInto(key, it.Key())
		val := reflect.New(src.Type().Elem()).Elem()
		cloneInto(val, it.Value())
		dst.SetMapIndex(key, val)
	}
}

// cloneContents copies the history and leaves out the ids that only we know.
func cloneContents(contents []*genai.Content) []*genai.Content {
	out := clone(contents)
	for _, c := range out {
		for _, p := range c.Parts {
			if f := p.FunctionCall; f != nil && strings.HasPrefix(f.ID, localID) {
				f.ID = ""
			}
			if r := p.FunctionResponse; r != nil && strings.HasPrefix(r.ID, localID) {
				r.ID = ""
			}
		}
	}
	return out
}

// cloneConfig copies the configuration and switches the SDK's own retries and continuation off.
func cloneConfig(c *genai.GenerateContentConfig) *genai.GenerateContentConfig {
	out := clone(c)
	if out == nil {
		out = &genai.GenerateContentConfig{}
	}
	out.AutomaticContinuation = genai.Ptr(false)
	return out
}

// Portable returns copies of contents and configuration for a client to send: bytes that are not UTF-8 are visible in them, and
// ids that only we know are left out. Neither is nil.
func (req *Request) Portable() ([]*genai.Content, *genai.GenerateContentConfig) {
	return cloneContents(req.Contents), cloneConfig(req.Config)
}

// skipSignature is the documented value that stands for a signature which the server did not issue or no longer knows.
const skipSignature = "skip_thought_signature_validator"

// withoutSignatures returns the request with every thought signature gone and the stand-in on the first call of each
// model content, where the server insists on one. The request itself is left alone.
func withoutSignatures(req *Request) *Request {
	out := *req
	out.Contents = StripSignatures(req.Contents)
	return &out
}

// StripSignatures returns the history without its thought signatures, for a model or a key that did not issue them. The
// first call of each model content carries the documented stand-in; parts that were nothing but a signature are left
// out, and so is a content that had no other part. The given contents are not modified.
func StripSignatures(contents []*genai.Content) []*genai.Content {
	out := make([]*genai.Content, 0, len(contents))
	for _, c := range contents {
		own := &genai.Content{Role: c.Role}
		called := false
		for _, p := range c.Parts {
			part := *p
			part.ThoughtSignature = nil
			if part.FunctionCall != nil && !called {
				part.ThoughtSignature, called = []byte(skipSignature), true
			}
			if !emptyPart(&part) {
				own.Parts = append(own.Parts, &part)
			}
		}
		if len(own.Parts) > 0 {
			out = append(out, own)
		}
	}
	return out
}
